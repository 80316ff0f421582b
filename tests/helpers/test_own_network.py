"""A learner's own network, from a changed copy of the script to the answers of an endpoint."""

from __future__ import annotations

import json
import shutil
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lesson.jobs import code
from lesson.jobs.runs import Run
from lesson.jobs.studies import one_of
from lesson.show.run_table import run_table
from tests.helpers.sides import Side
from tests.training.changed_copies import copied_folder
from tests.training.support import table

# The SageMaker SDK leaves its temporary folders to the garbage collector.
pytestmark = [
    pytest.mark.usefixtures("connection"),
    pytest.mark.filterwarnings("ignore:Implicitly cleaning up:ResourceWarning"),
]
FLAGS = {"epochs": 2, "hidden": "16,8", "batch_size": 16}
MEAN, SCALE = 150.0, 77.0


def upload(side: Side, folder: Path, section: str) -> dict[str, str]:
    """The flags that name a table for the changed copy in the bucket."""
    arrays = table(rows=60)
    for part in ("train", "val"):
        X = arrays[f"X_{part}"]
        if section == "classes":
            arrays[f"y_{part}"] = np.digitize(X[:, 0], [-0.5, 0.5])
        if section == "regression":
            arrays[f"y_{part}"] = X[:, 0]
            label = {"name": "y", "mean": MEAN, "scale": SCALE}
            arrays["preparation"] = np.array(json.dumps({"label": label}))
    np.savez(folder / "table.npz", **arrays)
    (uri,) = side.helpers.upload(folder / "table.npz", prefix="data")
    return {"train": uri, "val": uri}


def a_class_of_three(answer: dict[str, Any]) -> bool:
    chances = answer["probabilities"]
    best = answer["class"]
    return len(chances) == 3 and sum(chances) == pytest.approx(1) and chances[best] == max(chances)


def a_value_in_its_unit(answer: dict[str, Any]) -> bool:
    return answer.keys() == {"value"} and abs(answer["value"] - MEAN) < 5 * SCALE


def a_probability(answer: dict[str, Any]) -> bool:
    return answer.keys() == {"probability", "class"} and 0 < answer["probability"] < 1


@dataclass
class Case:
    section: str
    is_answer: Callable[[dict[str, Any]], bool]
    score: str = "accuracy"


CASES = [
    Case("classes", a_class_of_three),
    pytest.param(Case("regression", a_value_in_its_unit, "r2"), marks=pytest.mark.slow),
    pytest.param(Case("dropout", a_probability), marks=pytest.mark.slow),  # and batch norm
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.section)
def test_a_changed_copy_answers_from_an_endpoint(side: Side, case: Case, tmp_path: Path) -> None:
    helpers, data = side.helpers, upload(side, tmp_path, case.section)
    with warnings.catch_warnings(action="ignore"):  # the SDK warns of its own modules
        import sagemaker.serve
    assert sagemaker.serve
    mine = helpers.train(data | FLAGS, code=copied_folder(tmp_path / "mine", case.section))
    assert (mine.score_name, mine.code) == (case.score, "mine")
    (shown,) = run_table([mine]).to_dict("records")
    assert shown[case.score] == round(mine.score, 4)

    shutil.rmtree(tmp_path / "mine")
    found = helpers.wait(side.name(mine.job))  # as another notebook does, by its name alone
    assert found.digest == mine.digest
    endpoint = helpers.deploy(found)
    answers = helpers.predict(endpoint, table(rows=60)["X_val"][:2])
    assert len(answers) == 2 and all(map(case.is_answer, answers))
    helpers.cleanup(dry_run=False)


def test_an_earlier_runs_code_is_trained_and_tuned_again(side: Side, tmp_path: Path) -> None:
    helpers, data = side.helpers, upload(side, tmp_path, "classes")
    mine = helpers.train(data | FLAGS, code=copied_folder(tmp_path / "mine", "classes"))
    shutil.rmtree(tmp_path / "mine")
    again = helpers.train(data | FLAGS, code=mine)
    assert (again.loss, again.digest) == (mine.loss, mine.digest)
    space = {"hidden": one_of("8", "16,8")}
    request = helpers.tune(data, space, trials=2, code=mine, dry_run=True)
    sent = request.get("ModelTrainer") or request["CustomJob.from_local_script"]
    folder = sent["source_code"].source_dir if "source_code" in sent else sent["script_path"]
    assert Path(folder).resolve() == code.folder_of(mine).resolve()


def test_runs_of_different_code_say_so_in_the_table(side: Side, tmp_path: Path) -> None:
    data = upload(side, tmp_path, "schedule")
    mine = side.helpers.train(data | FLAGS, code=copied_folder(tmp_path / "mine", "schedule"))
    lessons = side.helpers.train(data | FLAGS)
    assert isinstance(lessons, Run)
    named = [f"training {lessons.digest}", f"mine {mine.digest}"]
    assert run_table([lessons, mine])["code"].tolist() == named
    assert lessons.digest != mine.digest
    assert code.folder_of(lessons) == code.FOLDER
