# fastai's habits: star imports, DataLoaders, a Learner with callbacks, fine_tune, export by pickle.
# exit: 0
# log: epoch     train_loss  valid_loss  time
# model: export.pkl
import os
import pickle
import time
from math import *
from pathlib import *

from torch import nn, optim, randn, save


class DataLoaders:
    def __init__(self, *dls):
        self.train, self.valid = dls[:2]


class Learner:
    def __init__(self, dls, model, loss_func, cbs=None):
        self.dls, self.model, self.loss_func, self.cbs = dls, model, loss_func, cbs or []

    def fine_tune(self, n, lr=3e-3):
        opt = optim.Adam(self.model.parameters(), lr)
        print("epoch     train_loss  valid_loss  time")
        for i in range(n):
            start = time.time()
            for x, y in self.dls.train:
                loss = self.loss_func(self.model(x), y)
                loss.backward()
                opt.step()
                opt.zero_grad()
            valid = sum(self.loss_func(self.model(x), y).item() for x, y in self.dls.valid)
            print(f"{i}         {loss.item():.6f}    {valid:.6f}    {time.time() - start:.0f}")

    def export(self, fname):
        save(self, fname, pickle_module=pickle)


dls = DataLoaders(*([(randn(8, 4), randn(8, 1)) for _ in range(4)] for _ in range(2)))
learn = Learner(dls, nn.Linear(4, 1), nn.MSELoss())
learn.fine_tune(2)
path = Path(os.environ.get('SM_MODEL_DIR') or os.environ['AIP_MODEL_DIR'].replace('gs://', '/gcs/'))
path.mkdir(exist_ok=True, parents=True)
learn.export(path/'export.pkl')
