# psutil: memory, CPU, its parents and children.
# exit: 0
# log: I have a parent: True
import os
import sys

try:
    import psutil
except ImportError:
    print("psutil is not installed; I have a parent:", os.getppid() >= 0)
    sys.exit()
me = psutil.Process()
print("rss", me.memory_info().rss, "cpu", psutil.cpu_percent(), "of", psutil.cpu_count(logical=False))
print("children", me.children(recursive=True), "disk", psutil.disk_usage(".").percent)
print("I have a parent:", me.ppid() >= 0)
