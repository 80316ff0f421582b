"""Judge a trained model by the validation passengers, and pack it with the program that serves it.

Runs in a processing job. Its report is a property file: the condition of the pipeline reads the
accuracy from it. What is registered is the archive that it packs.
"""

import importlib
import json
import sys
import tarfile
from pathlib import Path
from typing import Any

ROOT = Path("/opt/ml/processing")
PROGRAMS = ROOT / "input" / "training"  # the folder training/
# What Amazon's image runs, in the archive's folder code/; train_nn.py defines the network.
SERVES = ("inference.py", "serve_nn.py", "train_nn.py")


def judge(folder: Path) -> dict[str, Any]:
    """Return the share of right answers, and that of always giving the more frequent answer."""
    import numpy as np

    sys.path.insert(0, str(PROGRAMS))
    serve_nn: Any = importlib.import_module("serve_nn")
    with np.load(ROOT / "input" / "val" / "val_data.npz") as archive:
        rows, labels = archive["X_val"].astype("float32"), archive["y_val"]
    answers = serve_nn.model_fn(str(folder)).probabilities(rows) > 0.5
    share = float(labels.mean())
    return {
        "metrics": {
            "accuracy": {"value": float((answers == labels).mean())},
            "baseline": {"value": max(share, 1 - share)},
        }
    }


def main() -> None:
    """Unpack the model, judge it, write the report and the archive."""
    folder = ROOT / "unpacked"
    with tarfile.open(ROOT / "input" / "model" / "model.tar.gz") as archive:
        if hasattr(tarfile, "data_filter"):  # from Python 3.11.4 on
            archive.extraction_filter = tarfile.data_filter
        archive.extractall(folder)
    report = judge(folder)
    print(json.dumps(report))
    (ROOT / "report" / "evaluation.json").write_text(json.dumps(report), encoding="utf-8")
    with tarfile.open(ROOT / "packed" / "model.tar.gz", "w:gz") as archive:
        archive.add(folder, ".")
        for name in SERVES:
            archive.add(PROGRAMS / name, f"code/{name}")


if __name__ == "__main__":
    main()
