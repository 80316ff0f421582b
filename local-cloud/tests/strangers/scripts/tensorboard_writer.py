# A SummaryWriter with scalars, a histogram and a text, beside the model.
# exit: 0
# log: events written
# model: runs/events.out.tfevents.*
import os

from torch.utils.tensorboard import SummaryWriter

out = (os.environ.get("SM_MODEL_DIR") or os.environ["AIP_MODEL_DIR"]).replace("gs://", "/gcs/")
with SummaryWriter(os.path.join(out, "runs")) as writer:
    for i in range(10):
        writer.add_scalar("loss", 1 / (i + 1), i)
    import numpy as np

    writer.add_histogram("weights", np.random.rand(100), 0)
    writer.add_text("note", "hello")
print("events written")
