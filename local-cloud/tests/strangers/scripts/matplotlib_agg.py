# Draws with matplotlib, with no screen, and saves the picture.
# exit: 0
# log: figure saved
# model: loss.png
import os

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

plt.plot([3, 2, 1])
plt.title("loss")
out = os.environ.get("SM_MODEL_DIR") or os.environ["AIP_MODEL_DIR"].replace("gs://", "/gcs/")
os.makedirs(out, exist_ok=True)
plt.savefig(out + "/loss.png", dpi=50)
plt.close("all")
print("figure saved")
