"""Train the network of taxi fares: what Vertex AI starts as `python -m trainer.task`.

Reads the flags, finds out where to read and to write and which replica this is, and reports to
hyperparameter tuning. The network is in model.py.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import sys
import time
from collections.abc import Sequence
from typing import Any


def choose_backend() -> None:
    """Set what Keras and its backend read when they are imported, unless it is set."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # steps this small are faster on one thread
    if "KERAS_BACKEND" not in os.environ:  # its default, TensorFlow, may not be installed
        backends = [name for name in ("torch", "tensorflow") if importlib.util.find_spec(name)]
        os.environ["KERAS_BACKEND"] = backends[0] if backends else "tensorflow"


def whole(text: str) -> int:
    """Convert to a whole number from 1 up; tuning sends 64.0."""
    if (value := float(text)) != int(value) or value < 1:
        raise ValueError(text)
    return int(value)


def widths(text: str) -> list[int]:
    """Convert "32 8" to the widths of the hidden layers."""
    return [whole(each) for each in text.split()]


def parse_flags(arguments: Sequence[str] | None = None) -> dict[str, Any]:
    """Return the values of the flags, by name."""
    parser = argparse.ArgumentParser(
        "trainer.task", formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    flag = parser.add_argument
    for part in ("train", "eval"):
        # A shell that expands taxi-train* gives several names.
        flag(f"--{part}_data_path", nargs="+", required=True, help="pattern of CSV files or gs://")
    output = os.environ.get("AIP_MODEL_DIR")  # of a trial: its own
    flag("--output_dir", default=output, required=not output, help="folder or gs:// URI")
    flag("--batch_size", type=whole, default=32, help="rides in a step, of all replicas together")
    flag("--num_examples_to_train_on", type=whole, default=100, help="rides, repeated if need be")
    flag("--num_evals", type=whole, default=5, help="evaluations, evenly over the training")
    flag("--nbuckets", type=whole, default=10, help="parts into which to divide each axis")
    flag("--lr", type=float, default=0.001, help="learning rate")
    flag("--nnsize", type=widths, nargs="+", default=[[32, 8]], help='hidden layers: "32 8"')
    values = vars(parser.parse_args(arguments))
    if (trial := os.environ.get("CLOUD_ML_TRIAL_ID")) and values["output_dir"] != output:
        values["output_dir"] += f"/{trial}"  # all trials of a study get the same flags
    values["nnsize"] = [width for group in values["nnsize"] for width in group]
    return values


def report_to_tuning(rmse: float, number: int) -> None:
    """Report an evaluation; a tuning job of Vertex AI minimizes val_rmse."""
    print(f"evaluation {number + 1}: val_rmse = {rmse:.4f}", flush=True)
    if "CLOUD_ML_TRIAL_ID" not in os.environ:
        return
    import hypertune

    hypertune.HyperTune().report_hyperparameter_tuning_metric("val_rmse", rmse, number)


def main() -> None:
    """Train, evaluate, and write the results."""
    flags = parse_flags()
    choose_backend()
    from trainer import baselines, replicas, rides

    try:
        replica = replicas.find_replica(os.environ)
        train, valid = (rides.read(flags[f"{part}_data_path"]) for part in ("train", "eval"))
        group = replicas.join(replica)
        from trainer import model  # and with it Keras, which takes seconds

        chief = replica.rank == 0
        report = report_to_tuning if chief else lambda rmse, number: None
        began = time.perf_counter()
        network, metrics = model.train(train, valid, replica, group, flags, report)
    except rides.BadRides as problem:
        print(f"trainer.task: {problem}", file=sys.stderr)
        sys.exit(2)
    about = {"rank": replica.rank, "replicas": replica.size, "backend": os.environ["KERAS_BACKEND"]}
    about |= {"seconds": round(time.perf_counter() - began, 3), **metrics, "flags": flags}
    # Each replica writes into a separate folder; the model is the same on all.
    files = {f"worker-{replica.rank}/metrics.json": about}
    if chief:
        files["metrics.json"] = about | baselines.scores(train, valid)
    contents = {name: json.dumps(value, indent=1).encode() for name, value in files.items()}
    if chief:
        contents["model.keras"] = model.to_bytes(network)
    rides.write(flags["output_dir"], contents)
    group.leave()
    if chief:
        result = files["metrics.json"]
        print(f"mean fare: {result['mean_rmse']:.2f}, linear: {result['linear_rmse']:.2f}")
        print(f"validation:rmse = {result['val_rmse']:.4f}")


if __name__ == "__main__":
    main()
