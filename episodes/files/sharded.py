"""Train the network of episode 09 with fully sharded data parallelism, for twenty steps."""

import json
import os
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor.debug import CommDebugMode
from torch.nn.functional import binary_cross_entropy_with_logits

from training.train_nn import build_model

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
archive = np.load("runs/data/train_data.npz")
X, y = (torch.tensor(archive[name], dtype=torch.float32) for name in ("X_train", "y_train"))
start, stop = rank * len(X) // size, (rank + 1) * len(X) // size  # own rows

mesh = init_device_mesh("cpu", (size,))
model = build_model(7, [512, 512], seed=0)
for layer in [*model[::2], model]:
    fully_shard(layer, mesh=mesh)
optimizer = torch.optim.Adam(model.parameters(), lr=0.001)


def step():
    """One step on the own rows; FSDP takes the mean over the replicas, where we want the sum."""
    logits = model(X[start:stop])[:, 0]
    loss = binary_cross_entropy_with_logits(logits, y[start:stop], reduction="sum")
    (loss / len(X) * size).backward()
    optimizer.step()
    optimizer.zero_grad()


for _ in range(19):
    step()
with CommDebugMode() as messages:
    step()

weights = {name: weight.full_tensor() for name, weight in model.state_dict().items()}
held = [weight.to_local().nbytes for weight in model.parameters()]
state = [
    value.to_local().nbytes
    for each in optimizer.state.values()
    for value in each.values()
    if value.dim()  # without the count of steps
]
bytes_held = {"parameters": sum(held), "optimiser": sum(state)}
own = {"rank": rank, "rows": {"start": start, "stop": stop}, "bytes": bytes_held}
replicas = [None] * size
dist.all_gather_object(replicas, own)
if rank == 0:
    folder = Path("runs/sharded")
    folder.mkdir(exist_ok=True)
    torch.save({"model": weights}, folder / "model.pt")
    sent = {str(name).split(".")[-1]: count for name, count in messages.comm_counts.items()}
    (folder / "metrics.json").write_text(json.dumps({"replicas": replicas, "messages": sent}))
dist.barrier()
os._exit(0)  # now and then one of torch's threads aborts a process that ends in order
