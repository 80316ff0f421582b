"""All that these measurements take from the lesson beside: what jobs run, and on which rows.

The lesson is code as users write it: it is trained, tuned and served here unchanged.
"""

from __future__ import annotations

import sys
from pathlib import Path

LESSON = Path(__file__).parents[2]
TRAINING = LESSON / "training"
SCRIPT = TRAINING / "train_nn.py"
SERVER = TRAINING / "serve_nn.py"
TABLE = LESSON / "data/titanic_train.csv"
UNSEEN = LESSON / "data/titanic_test.csv"

sys.path += [str(LESSON), str(TRAINING)]
from lesson import preparation as preparation  # noqa: E402
