# torch.multiprocessing.spawn starts the replicas itself, on a port that it finds free.
# exit: 0
# log: rank 1 got sum 3.0
import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def find_free_port():
    with socket.socket() as s:
        s.bind(("", 0))
        return s.getsockname()[1]


def setup(rank, world_size, port):
    os.environ['MASTER_ADDR'] = 'localhost'
    os.environ['MASTER_PORT'] = str(port)
    dist.init_process_group("gloo", rank=rank, world_size=world_size)


def demo(rank, world_size, port):
    setup(rank, world_size, port)
    t = torch.tensor(float(rank + 1))
    dist.all_reduce(t)
    print(f"rank {rank} got sum {t.item()}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(demo, args=(2, find_free_port()), nprocs=2, join=True)
