"""Split a table, and write the archives for training and for validation.

    python3 prepare.py titanic_train.csv
    python3 prepare.py my_table.csv my_label

Runs in a processing job: SageMaker brings the table and the folder lesson/ before it starts, and
uploads the two folders when it has ended.
"""

import shutil
import sys
import tempfile
from pathlib import Path

ROOT = Path("/opt/ml/processing")


def main(table: str, label: str | None = None) -> None:
    """Prepare the table; each archive has a folder of its own, which is an output of the job."""
    sys.path.insert(0, str(ROOT / "input"))  # the folder lesson/ is there
    from lesson.preparation import prepare

    with tempfile.TemporaryDirectory() as folder:
        made = prepare(ROOT / "input" / "table" / table, folder, label)
        shutil.copy(made.train, ROOT / "train")
        shutil.copy(made.val, ROOT / "val")
    print(f"{made.train_rows} rows to train with, {made.val_rows} to validate with")


if __name__ == "__main__":
    main(*sys.argv[1:])
