"""The epochs of a training, read from its log and from its history.csv."""

from __future__ import annotations

import pytest

from lesson.jobs.epochs import Epoch, epoch_of, epochs_in

FIRST, SECOND = Epoch(1, 0.69, 0.5), Epoch(2, 0.65, 0.6)
SECOND_R2 = SECOND._replace(score_name="r2")
HISTORY = """epoch,loss,val_loss,val_accuracy,seconds
1,0.7,0.69,0.5,0.01
2,0.6,0.65,0.6,0.02
"""


def test_an_epoch_is_read_as_the_script_prints_it() -> None:
    line = "epoch    20  loss 0.5912  validation loss 0.6011  accuracy 0.7133  0.1 s"
    assert epoch_of(line) == (20, 0.6011, 0.7133, "accuracy")
    assert epoch_of(line.replace("accuracy 0", "r2 -0")) == (20, 0.6011, -0.7133, "r2")
    assert epoch_of("569 rows, 7 features") is None


@pytest.mark.parametrize(
    ("text", "epochs"),
    [
        ("", []),
        ("epoch,loss", []),
        (HISTORY, [FIRST, SECOND]),
        (HISTORY[:-10], [FIRST]),  # a row that is being written
        ("step,score\n1,0.5\n", []),  # of another script
        ("epoch,val_loss,val_accuracy\none,,\n", []),
        (HISTORY.replace("accuracy", "r2"), [FIRST._replace(score_name="r2"), SECOND_R2]),
    ],
)
def test_the_whole_rows_of_a_history_count(text: str, epochs: list[Epoch]) -> None:
    assert epochs_in(text) == epochs
