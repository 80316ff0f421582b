# Catches SIGTERM, saves a checkpoint and leaves; the job is cancelled as soon as it trains.
# only: vertex, vertex-trial, sagemaker-trial: the driver of SageMaker's SDK 3 passes the log on, and is gone by then
# stop at: training, waiting to be stopped
# exit: stopped
# log: SIGTERM: checkpoint written
# hyperparameters: {"epochs": 100000}
import signal
import sys
import time

stop = False


def handler(signum, frame):
    global stop
    stop = True


signal.signal(signal.SIGTERM, handler)
print("training, waiting to be stopped", flush=True)
while not stop:
    time.sleep(0.05)
with open("checkpoint.txt", "w") as f:
    f.write("state")
print("SIGTERM: checkpoint written", flush=True)
sys.exit(0)
