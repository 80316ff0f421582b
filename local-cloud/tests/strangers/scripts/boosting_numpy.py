# Boosted stumps with xgboost's flags and its log lines; nargs, choices and a JSON list.
# exit: 0
# log: [4]	train-rmse:
# hyperparameters: {"num_round": 5, "max_depth": 3, "objective": "reg:squarederror", "layers": "[4, 2]"}
# tuned: eta
import argparse
import json

import numpy as np

parser = argparse.ArgumentParser()
parser.add_argument("--num_round", type=int)
parser.add_argument("--max_depth", type=int, choices=range(1, 10))
parser.add_argument("--eta", type=float, default=0.3)
parser.add_argument("--objective", choices=["reg:squarederror", "binary:logistic"])
parser.add_argument("--layers", type=json.loads)
parser.add_argument("--watch", nargs="*", default=["train", "validation"])
args = parser.parse_args()
assert args.layers in ([4, 2], "[4, 2]"), args.layers
rng = np.random.default_rng(7)
X, y = rng.random((300, 4)), rng.random(300)
pred = np.full(300, y.mean())
for r in range(args.num_round):
    best = min(((f, t) for f in range(4) for t in (0.25, 0.5, 0.75)), key=lambda ft: sum(
        ((y - pred)[m] - (y - pred)[m].mean()).var() for m in (X[:, ft[0]] < ft[1], X[:, ft[0]] >= ft[1])))
    mask = X[:, best[0]] < best[1]
    for m in (mask, ~mask):
        pred[m] += args.eta * (y - pred)[m].mean()
    print(f"[{r}]\t" + "\t".join(f"{w}-rmse:{np.sqrt(((y - pred) ** 2).mean()):.5f}" for w in args.watch))
