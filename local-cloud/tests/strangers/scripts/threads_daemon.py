# A daemon thread for ever, and an ordinary one that finishes after the main thread.
# exit: 0
# log: main thread is through
# log: the ordinary thread finished last
import threading
import time


def for_ever():
    while True:
        time.sleep(0.01)


def later():
    time.sleep(0.5)
    print("the ordinary thread finished last")


threading.Thread(target=for_ever, daemon=True).start()
threading.Thread(target=later).start()
threading.excepthook = lambda args: print("a thread failed:", args.exc_value)
threading.Thread(target=lambda: 1 / 0).start()
print("main thread is through")
