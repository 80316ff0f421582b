# Keras's habits in numpy: compile, fit with a progress line, a History, callbacks, verbose=1.
# exit: 0
# log: Epoch 3/3
# log: val_loss
# model: history.json, weights.npz
import json
import os
import sys

import numpy as np


class History:
    def __init__(self):
        self.history = {}


class Sequential:
    def __init__(self, layers):
        self.layers = layers

    def compile(self, optimizer="sgd", loss="mse", metrics=()):
        self.lr = 0.01

    def fit(self, x, y, epochs=1, batch_size=32, validation_split=0.0, verbose=1):
        cut = int(len(x) * (1 - validation_split))
        self.w = np.zeros(x.shape[1])
        h = History()
        for epoch in range(epochs):
            sys.stdout.write(f"Epoch {epoch + 1}/{epochs}\n")
            for i in range(0, cut, batch_size):
                xb, yb = x[i:i + batch_size], y[i:i + batch_size]
                self.w -= self.lr * 2 * xb.T @ (xb @ self.w - yb) / len(xb)
                sys.stdout.write("\r" + f"{i // batch_size + 1}/{cut // batch_size} [====>...]")
            val = float(((x[cut:] @ self.w - y[cut:]) ** 2).mean())
            sys.stdout.write(f" - val_loss: {val:.4f}\n")
            h.history.setdefault("val_loss", []).append(val)
        return h


rng = np.random.RandomState(42)
x = rng.rand(200, 3)
y = x @ [1.0, 2.0, 3.0]
model = Sequential([])
model.compile(optimizer="adam", loss="mse", metrics=["mae"])
history = model.fit(x, y, epochs=3, validation_split=0.2, verbose=1)
export = os.getenv("AIP_MODEL_DIR", os.getenv("SM_MODEL_DIR")).replace("gs://", "/gcs/").rstrip("/")
os.makedirs(export, exist_ok=True)
np.savez(f"{export}/weights.npz", model.w)
json.dump(history.history, open(f"{export}/history.json", "w"))
