"""What a reader would write instead: the model behind FastAPI, one request at a time.

`python -m benchmarks.serving.plain_server MODEL_DIR PORT` answers POST /predict.
"""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path

import torch
import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

app = FastAPI()


class Instances(BaseModel):
    """The body of a request."""

    instances: list[list[float]]


def load(folder: Path) -> torch.nn.Module:
    """Load the network that train_nn.py wrote."""
    saved = torch.load(folder / "model.pt", weights_only=True)
    layers: list[torch.nn.Module] = []
    for inputs, outputs in pairwise([saved["features"], *saved["hidden"], 1]):
        layers += [torch.nn.Linear(inputs, outputs), torch.nn.ReLU()]
    network = torch.nn.Sequential(*layers[:-1])
    network.load_state_dict(saved["model"])
    return network


@app.post("/predict")
async def predict(body: Instances) -> dict[str, list[float]]:
    """Return the probability of class 1 for each prepared row."""
    with torch.inference_mode():
        probabilities = model(torch.tensor(body.instances)).sigmoid()[:, 0]
    return {"predictions": probabilities.tolist()}


if __name__ == "__main__":
    model = load(Path(sys.argv[1]))
    torch.set_num_threads(1)
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[2]), access_log=False, log_level="warning")
