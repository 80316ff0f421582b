"""In place of train_nn.py, where a test is not about it: says the same, without the training.

Its loss is how far the learning rate is from 0.01.
"""

import argparse
import json
import time

parser = argparse.ArgumentParser()
parser.add_argument("--learning_rate", type=float, default=0.01)
parser.add_argument("--sleep", type=float, default=0)
flags, others = parser.parse_known_args()
time.sleep(flags.sleep)
loss = abs(flags.learning_rate - 0.01)
print(f"epoch    50  loss 0.1000  validation loss {loss + 1:.4f}  accuracy 0.7000  0.0 s")
print("validation:accuracy = 0.8000")
print(f"validation:loss = {loss:.4f}")
with open("/opt/ml/model/metrics.json", "w") as file:
    json.dump({"seconds": {"training": 0.01}, "accuracy": 0.8, "loss": loss, "flags": others}, file)
