"""The training loop of the lesson this one grew from, as it is usually written.

Full batch, torch.optim.Adam, a sigmoid and BCELoss, a validation after every epoch, and torch's
default number of threads. `python -m tools.benchmarks.steps.older_loop TRAIN VAL FOLDER EPOCHS`.
"""

import sys
from pathlib import Path

import numpy as np
import torch
from torch import nn


def tensor(array: np.ndarray) -> torch.Tensor:
    return torch.tensor(array, dtype=torch.float32)


def main() -> None:
    train_path, val_path, folder, epochs = sys.argv[1:]
    train, val = np.load(train_path), np.load(val_path)
    X_train, y_train = tensor(train["X_train"]), tensor(train["y_train"]).view(-1, 1)
    X_val, y_val = tensor(val["X_val"]), tensor(val["y_val"]).view(-1, 1)
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Linear(X_train.shape[1], 64),
        nn.ReLU(),
        nn.Linear(64, 32),
        nn.ReLU(),
        nn.Linear(32, 1),
        nn.Sigmoid(),
    )
    optimiser = torch.optim.Adam(model.parameters(), lr=0.001)
    loss_function = nn.BCELoss()
    for epoch in range(1, int(epochs) + 1):
        model.train()
        optimiser.zero_grad()
        loss = loss_function(model(X_train), y_train)
        loss.backward()
        optimiser.step()
        model.eval()
        with torch.no_grad():
            answers = model(X_val)
            val_loss = loss_function(answers, y_val).item()
            accuracy = ((answers > 0.5).float() == y_val).float().mean().item()
        if epoch % 100 == 0:
            print(f"{epoch} {loss.item():.4f} {val_loss:.4f} {accuracy:.4f}", flush=True)
    torch.save(model.state_dict(), Path(folder) / "model.pt")


if __name__ == "__main__":
    main()
