# Bytes that are no text, and a null, in the middle of the log.
# only: vertex, vertex-trial, sagemaker-trial: the driver of SageMaker's SDK 3 takes UTF-8 only
# exit: 0
# log: before the bytes
# log: after the bytes
import sys

print("before the bytes", flush=True)
sys.stdout.buffer.write(bytes(range(256)) + b"\n")
sys.stdout.buffer.flush()
print("after the bytes")
