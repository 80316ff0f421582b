"""Judge a trained model by the validation passengers, and pack it with the program that serves it.

Runs in a processing job. Its report is a property file: the condition of the pipeline reads the
score from it. What is registered is the archive that it packs.
"""

import importlib
import json
import sys
import tarfile
from pathlib import Path
from typing import Any

ROOT = Path("/opt/ml/processing")
PROGRAMS = ROOT / "input" / "training"  # the folder training/


def judge(folder: Path) -> dict[str, Any]:
    """Return the mean score, and the accuracy of always giving the most frequent answer."""
    import numpy as np

    sys.path.insert(0, str(PROGRAMS))
    serve_nn: Any = importlib.import_module("serve_nn")
    with np.load(ROOT / "input" / "val" / "val_data.npz") as archive:
        rows, labels = archive["X_val"].astype("float32"), archive["y_val"]
    judged = serve_nn.model_fn(str(folder))
    metrics = {judged.code["SCORE"]: {"value": judged.mean_score(rows, labels)}}
    if judged.labels:
        counts = np.unique(labels, return_counts=True)[1]
        metrics["baseline"] = {"value": float(counts.max() / len(labels))}
    return {"metrics": metrics}


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
        archive.add(PROGRAMS, "code")  # Amazon's image runs code/inference.py


if __name__ == "__main__":
    main()
