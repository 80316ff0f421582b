# An http.server in a thread, asked by the script itself; then a socket that stays open.
# exit: 0
# log: answered 200
import http.server
import socket
import threading
import urllib.request

server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_address[1]}/"
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
print("answered", opener.open(url, timeout=10).status)
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("", 0))
s.listen()
