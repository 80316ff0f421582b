"""tune() and the verbs on its studies, where they mean the same on both clouds."""

from __future__ import annotations

import pytest

from lesson import LessonError
from lesson.studies import Space, between, one_of
from tests.helpers.sides import Side, both_sides

SPACE: Space = {"learning_rate": between(0.0001, 0.1, scale="log"), "hidden": one_of("16", "64,32")}
pytestmark = pytest.mark.usefixtures("connection", "quick")


@both_sides(fast="Google")
def test_wait_takes_the_study_or_its_name_and_the_list_has_one_job_of_it(
    side: Side, data: dict[str, str]
) -> None:
    verbs = side.helpers
    study = verbs.tune({}, SPACE, trials=2, wait=False)
    assert study.state in ("queued", "starting", "running") and study.run is None
    by_study, by_name = verbs.wait(study), verbs.wait(study.name)
    assert by_study.trials == by_name.trials and len(by_study.trials) == 2
    assert by_name.name == study.name
    verbs.train({**data, "epochs": 1}, wait=False)
    table = verbs.list_jobs()
    mine = table[table["name"].str.startswith(study.name)]
    assert [*mine["machine"]] == [f"2 trials on {side.machine}"]
    assert [*mine["state"]] == ["succeeded"]
    assert table["name"][0].startswith("train-nn-")


def test_cancel_stops_a_study_and_what_has_ended_stays(side: Side) -> None:
    verbs = side.helpers
    study = verbs.tune({"sleep": 1000}, SPACE, trials=9, wait=False)
    with pytest.raises(LessonError, match="not ended yet; cancel"):
        verbs.cleanup()
    verbs.cancel(study.name)
    ended = verbs.wait(study)
    assert ended.state == "cancelled" and ended.run is None and len(ended.trials) <= 2
    verbs.cancel(study)


def test_files_of_this_machine_are_refused(side: Side) -> None:
    with pytest.raises(LessonError, match="names a file on this machine"):
        side.helpers.tune({"train": "train_data.npz"}, SPACE)
