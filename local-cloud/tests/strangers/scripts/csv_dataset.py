# A Dataset over a CSV file found by the variables that each service sets, with random_split.
# exit: 0
# log: rows: 60
# log: validation accuracy
# hyperparameters: {"batch_size": 16}
import argparse
import csv
import os
from pathlib import Path

import torch
from torch.utils.data import DataLoader, Dataset, random_split


class CsvDataset(Dataset):
    def __init__(self, root):
        self.rows = []
        for file in sorted(Path(root).glob("*.csv")):
            with open(file, newline="") as f:
                self.rows += [[float(v) for v in r.values()] for r in csv.DictReader(f)]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        *x, y = self.rows[i]
        return torch.tensor(x), torch.tensor(int(y))


def get_args():
    parser = argparse.ArgumentParser(formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--batch_size", type=int, default=8)
    parser.add_argument("--lr", type=float, default=1e-2)
    parser.add_argument("--train", default=os.environ.get("SM_CHANNEL_TRAINING", "/gcs/strangers-data/table"))
    return parser.parse_args()


if __name__ == "__main__":
    args = get_args()
    data = CsvDataset(args.train)
    print("rows:", len(data))
    train, val = random_split(data, [40, 20], generator=torch.Generator().manual_seed(0))
    net = torch.nn.Linear(3, 2)
    opt = torch.optim.SGD(net.parameters(), lr=args.lr, momentum=0.9)
    for _ in range(5):
        for x, y in DataLoader(train, args.batch_size, shuffle=True):
            opt.zero_grad()
            torch.nn.functional.cross_entropy(net(x), y).backward()
            opt.step()
    x, y = next(iter(DataLoader(val, 20)))
    print("validation accuracy", (net(x).argmax(1) == y).float().mean().item())
