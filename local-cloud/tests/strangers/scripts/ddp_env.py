# DistributedDataParallel the usual way: env://, gloo, WORLD_SIZE from whatever there is.
# exit: 0
# log: rank 0 of 1 is done
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

os.environ.setdefault("MASTER_ADDR", "localhost")
os.environ.setdefault("MASTER_PORT", "0")
world = int(os.environ.get("WORLD_SIZE", 1))
rank = int(os.environ.get("RANK", 0))
dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo", rank=rank, world_size=world)
model = DDP(torch.nn.Linear(10, 1))
data = TensorDataset(torch.randn(64, 10), torch.randn(64, 1))
sampler = DistributedSampler(data)
opt = torch.optim.SGD(model.parameters(), lr=0.01)
for epoch in range(2):
    sampler.set_epoch(epoch)
    for x, y in DataLoader(data, batch_size=8, sampler=sampler):
        opt.zero_grad()
        torch.nn.functional.mse_loss(model(x), y).backward()
        opt.step()
dist.barrier()
print(f"rank {dist.get_rank()} of {dist.get_world_size()} is done")
dist.destroy_process_group()
