# A DataLoader with two worker processes, pinned and persistent, as every second repository has it.
# exit: 0
# log: epoch 1 done
# model: net.pth
import os

import torch
from torch.utils.data import DataLoader, Dataset


class Squares(Dataset):
    def __init__(self, n=200):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        x = torch.tensor([i / self.n])
        return x, x * x


if __name__ == "__main__":
    loader = DataLoader(Squares(), batch_size=20, shuffle=True, num_workers=2, persistent_workers=True)
    net = torch.nn.Sequential(torch.nn.Linear(1, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    opt = torch.optim.Adam(net.parameters())
    for epoch in range(2):
        for x, y in loader:
            opt.zero_grad()
            loss = ((net(x) - y) ** 2).mean()
            loss.backward()
            opt.step()
        print(f"epoch {epoch} done, loss {loss:.4f}")
    target = os.environ.get("SM_MODEL_DIR", os.environ.get("AIP_MODEL_DIR", ".")).replace("gs://", "/gcs/")
    os.makedirs(target, exist_ok=True)
    torch.save(net, target + "/net.pth")
