# pandas reads a table from where each service shows it, and writes a summary next to the model.
# exit: 0
# log: mean of target
# model: summary.csv
import os

import pandas as pd

if os.path.isdir("/opt/ml/input/data/training"):
    path = "/opt/ml/input/data/training/"
else:
    path = "gs://strangers-data/table/".replace("gs://", "/gcs/")
frames = [pd.read_csv(os.path.join(path, f)) for f in sorted(os.listdir(path)) if f.endswith(".csv")]
df = pd.concat(frames, ignore_index=True)
df["ratio"] = df["a"] / df["b"].clip(lower=1e-6)
print("mean of target:", df["target"].mean(), "of", df.shape)
out = os.environ["SM_MODEL_DIR"] if "SM_MODEL_DIR" in os.environ else "/gcs/" + os.environ["AIP_MODEL_DIR"][5:]
os.makedirs(out, exist_ok=True)
df.describe().to_csv(out + "/summary.csv")
