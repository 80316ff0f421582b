"""Train on pictures: `python -m local_cloud.automl.train_images --items FILE.jsonl …`.

A job of the engine runs it. Each line of the file is a picture: {"file": a path, "uri": what it is
called, "labels": its classes, "use": training, validation, test or ""}. It writes model/ (see
picture_model) and evaluation.json (of the pictures to test with) below --output.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from local_cloud.automl import metrics, picture_model, pictures
from local_cloud.automl.errors import BadData
from local_cloud.automl.files import write
from local_cloud.automl.splits import PARTS, Split

MOST = 20_000  # pictures


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=Path, required=True, help="JSON Lines, one per picture")
    parser.add_argument("--multi-label", action="store_true", help="a picture has any number")
    parser.add_argument("--seconds", type=float, default=20.0, help="begin no epoch after so long")
    parser.add_argument("--no-early-stopping", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--fractions", nargs=3, type=float, default=[0.8, 0.1, 0.1])
    parser.add_argument("--own-split", action="store_true", help="a picture's use says its part")
    parser.add_argument("--output", type=Path, required=True, help="a folder")
    return parser.parse_args(words)


def main(words: list[str] | None = None) -> None:
    """Train, and test."""
    try:
        train(arguments(words))
    except BadData as problem:
        sys.exit(str(problem))


def train(asked: argparse.Namespace) -> None:
    """Do what the arguments ask for."""
    items = [json.loads(line) for line in asked.items.read_text(encoding="utf-8").splitlines()]
    if len(items) > MOST:
        raise BadData(f"the dataset has {len(items):,} pictures; {MOST:,} are the most here")
    classes = sorted({label for item in items for label in item["labels"]})
    if len(classes) < 2:
        raise BadData(f"the pictures have {len(classes)} classes; 2 are needed: {classes}")
    several = [item for item in items if len(item["labels"]) > 1 and not asked.multi_label]
    if several:
        raise BadData(
            f"{several[0]['uri']} has {len(several[0]['labels'])} labels; train with"
            " multi_label=True, or give each picture one label"
        )
    parts = split(items, asked)
    seen = np.stack([pictures.read(Path(item["file"]), item["uri"]) for item in items])
    wanted = np.array([[label in item["labels"] for label in classes] for item in items], dtype=int)
    chosen = {part: np.flatnonzero(parts == part) for part in PARTS}
    counts = ", ".join(f"{len(places)} for {part}" for part, places in chosen.items())
    print(f"{len(items)} pictures of {len(classes)} classes: {counts}", flush=True)
    for part, places in chosen.items():
        if not len(places):
            raise BadData(f"no picture is left for {part}: {counts}")
    training, validation, test = ((seen[places], wanted[places]) for places in chosen.values())

    def tell(epoch: int, loss: float) -> None:
        if epoch % 10 == 1:
            print(f"epoch {epoch}: loss {loss:.4f} on the validation pictures", flush=True)

    model = picture_model.train(
        classes,
        training,
        validation,
        multi_label=asked.multi_label,
        seconds=asked.seconds,
        patience=None if asked.no_early_stopping else picture_model.PATIENCE,
        seed=asked.seed,
        tell=tell,
    )
    model.save(asked.output / "model")
    predictions = model.predict(test[0])
    if asked.multi_label:
        evaluated = metrics.multi_label(test[1].astype(bool), predictions)
    else:
        truth = test[1].argmax(axis=1)
        evaluated = metrics.evaluation(metrics.CLASSIFICATION, truth, predictions, classes=classes)
    write(asked.output / "evaluation.json", evaluated)
    print(f"on the pictures to test with: logLoss {evaluated['logLoss']:.4f}")


def split(items: list[dict[str, Any]], asked: argparse.Namespace) -> np.ndarray:
    """Return the part of each picture: by its class's share of the fractions, or what its use says.

    Each class is split by itself, so that small sets have all classes in all parts.
    """
    first, assigned = (
        [(item["labels"] or [""])[0] for item in items],
        np.empty(len(items), dtype=object),
    )
    fractions = Split(tuple(asked.fractions))
    for place, label in enumerate(sorted(set(first))):
        own = [number for number, each in enumerate(first) if each == label]
        assigned[own] = fractions.shares(len(own), asked.seed + place)
    for number, item in enumerate(items):
        if asked.own_split and item["use"]:
            assigned[number] = item["use"]
    return assigned


if __name__ == "__main__":
    main()
