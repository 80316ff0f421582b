# Laid out as for Lightning, with a Trainer of its own: hooks, callbacks, a logs folder, ckpt files.
# exit: 0
# log: `Trainer.fit` stopped: `max_epochs=3` reached.
# model: epoch=2-step=30.ckpt, hparams.yaml, metrics.csv
# hyperparameters: {"max_epochs": 3}
import os
import sys
from argparse import ArgumentParser
from pathlib import Path

import torch
from torch import nn


class LitModule(nn.Module):
    def __init__(self, lr=1e-3):
        super().__init__()
        self.hparams = {"lr": lr}
        self.net = nn.Linear(8, 1)
        self.logged = {}

    def log(self, name, value):
        self.logged[name] = float(value)

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = nn.functional.mse_loss(self.net(x), y)
        self.log("train_loss", loss)
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.hparams["lr"])


class DataModule:
    def setup(self, stage=None):
        self.x = torch.randn(80, 8)

    def train_dataloader(self):
        data = torch.utils.data.TensorDataset(self.x, self.x.mean(1, keepdim=True))
        return torch.utils.data.DataLoader(data, batch_size=8)


class Callback:
    def on_train_epoch_end(self, trainer, module): ...


class ModelCheckpoint(Callback):
    def on_train_epoch_end(self, trainer, module):
        name = f"epoch={trainer.epoch}-step={trainer.step}.ckpt"
        torch.save({"state_dict": module.state_dict(), "hyper_parameters": module.hparams}, trainer.root / name)


class CSVLogger(Callback):
    def on_train_epoch_end(self, trainer, module):
        with open(trainer.root / "metrics.csv", "a") as f:
            print(trainer.epoch, module.logged["train_loss"], sep=",", file=f)


class Trainer:
    def __init__(self, max_epochs, default_root_dir, callbacks):
        self.max_epochs, self.root, self.callbacks = max_epochs, Path(default_root_dir), callbacks
        self.root.mkdir(parents=True, exist_ok=True)

    def fit(self, module, datamodule):
        datamodule.setup("fit")
        opt, self.step = module.configure_optimizers(), 0
        (self.root / "hparams.yaml").write_text("".join(f"{k}: {v}\n" for k, v in module.hparams.items()))
        for self.epoch in range(self.max_epochs):
            for i, batch in enumerate(datamodule.train_dataloader()):
                loss = module.training_step(batch, i)
                opt.zero_grad()
                loss.backward()
                opt.step()
                self.step += 1
            for callback in self.callbacks:
                callback.on_train_epoch_end(self, module)
        print(f"`Trainer.fit` stopped: `max_epochs={self.max_epochs}` reached.", file=sys.stderr)


def cli_main():
    parser = ArgumentParser()
    parser.add_argument("--max_epochs", default=10, type=int)
    parser.add_argument("--lr", default=1e-3, type=float)
    args = parser.parse_args()
    root = os.environ.get("SM_MODEL_DIR") or os.environ["AIP_MODEL_DIR"].replace("gs://", "/gcs/")
    Trainer(args.max_epochs, root, [ModelCheckpoint(), CSVLogger()]).fit(LitModule(args.lr), DataModule())


if __name__ == "__main__":
    cli_main()
