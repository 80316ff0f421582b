# signal.alarm as a time-out, a KeyboardInterrupt that is caught, SIGTERM sent to itself.
# exit: 0
# log: timed out as wanted
# log: interrupted as wanted
# log: SIGTERM came
import os
import signal
import time


class Timeout(Exception):
    pass


def on_alarm(signum, frame):
    raise Timeout


signal.signal(signal.SIGALRM, on_alarm)
signal.alarm(1)
try:
    time.sleep(30)
except Timeout:
    print("timed out as wanted")
try:
    signal.raise_signal(signal.SIGINT)
except KeyboardInterrupt:
    print("interrupted as wanted")
signal.signal(signal.SIGTERM, lambda *_: print("SIGTERM came"))
os.kill(os.getpid(), signal.SIGTERM)
time.sleep(0.1)
