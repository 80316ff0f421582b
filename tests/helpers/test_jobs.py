"""The verbs on jobs, through the real SDKs, where both clouds show the same."""

from __future__ import annotations

import importlib
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import local_cloud
from lesson import LessonError
from lesson.jobs.runs import Run
from lesson.show.plots import learning_curve
from lesson.show.run_table import run_table
from tests.helpers.sides import Side, both_sides

Data = dict[str, Any]
A_FILE_HERE = "--train data.npz names a file on this machine, .*"
pytestmark = pytest.mark.usefixtures("connection")


@pytest.mark.parametrize(
    ("side", "cost", "results"),
    [("Google", "$0.22", "model/"), ("Amazon", "$0.23", "output/model.tar.gz")],
    indirect=["side"],
)
def test_a_job_comes_back_as_a_row_with_metrics_curve_and_times(
    side: Side,
    cost: str,
    results: str,
    data: Data,
    connection: Any,
    capsys: pytest.CaptureFixture[str],
) -> None:
    run = side.helpers.train(data | {"epochs": 30})
    assert (run.place, run.machine) == (f"{side.service} (local cloud)", side.machine)
    name = side.name(run.job)
    assert name.startswith("train-nn-")
    assert run.artefacts == f"{connection.uri}/runs/{name}/{results}"
    assert run.metrics["epochs"]["last"] == 30
    assert run.accuracy == run.metrics["accuracy"] > 0.6
    assert {path.name for path in run.folder.iterdir()} >= {"model.pt", "training.log"}
    assert learning_curve(run).path.is_file()
    (row,) = run_table([run]).to_dict("records")
    assert row["replicas"] == 1 and row["training"] > 0 and row["cost"] > 0
    parts = (run.queued, run.starting, run.training)
    assert sum(part for part in parts if part) == pytest.approx(run.seconds, abs=0.01)
    out = capsys.readouterr().out
    assert f"this costs about {cost} an hour at list price; here it costs nothing" in out
    assert "Managed Model" not in out  # what Google's SDK warns of, and nobody asked for
    assert f"] {side.succeeded}  epoch 30 of 30  validation loss 0." in out


@pytest.mark.parametrize(
    ("side", "cost", "machine"),
    [
        ("Google", "$0.62", "n1-standard-4 + 1 × NVIDIA_TESLA_T4, spot"),
        ("Amazon", "$0.74", "ml.g4dn.xlarge, spot"),
    ],
    indirect=["side"],
)
@pytest.mark.usefixtures("quick")
def test_a_spot_job_with_a_gpu_is_sent_now_and_waited_for_later(
    side: Side, cost: str, machine: str, data: Data, capsys: pytest.CaptureFixture[str]
) -> None:
    sent = side.helpers.train(data | {"epochs": 5}, gpu="T4", spot=True, wait=False)
    assert sent.accuracy is None and sent.seconds is None
    said = f"{cost} an hour at list price, less on spot machines"
    assert said in capsys.readouterr().out
    with pytest.raises(LessonError, match=r"wait\(run\) fetches them"):
        _ = sent.metrics
    run = side.helpers.wait(sent)
    assert run.accuracy and run.request == sent.request
    assert run.machine == machine
    if side.cloud == "Google":
        assert run.request["CustomJob.from_local_script"]["accelerator_type"] == "NVIDIA_TESLA_T4"
    else:
        condition = run.request["ModelTrainer"]["stopping_condition"]
        assert condition.max_wait_time_in_seconds >= condition.max_runtime_in_seconds


@pytest.mark.parametrize(
    ("side", "more", "sentence"),
    [
        ("Google", {"args": {"train": "data.npz"}}, A_FILE_HERE),
        ("Amazon", {"args": {"train": "data.npz"}}, A_FILE_HERE),
        ("Google", {"replicas": 0}, "0 replicas: name at least one"),
        ("Amazon", {"replicas": 0}, "0 replicas: name at least one"),
        ("Google", {"gpu": "X9"}, "gpu='X9': Vertex AI has no such GPU; it knows K80, .*"),
        ("Google", {"machine": "z9"},
         "sending the job: the service answered 400, .*machineType: 'z9' .*"),
        ("Amazon", {"gpu": "X9"}, r"gpu='X9': known here are T4 \(ml.g4dn.\*\), .*"),
        ("Amazon", {"machine": "z9"},
         "sending the job: the service answered ValidationException, .*z9.*"),
        ("Amazon", {"args": {"train": "gs://b/x.npz"}},
         "--train gs://b/x.npz names .* s3:// URI .*"),
        ("Amazon", {"args": {"device": "it's"}}, "--device it's: .*single quotes.*"),
    ],
    indirect=["side"],
)  # fmt: skip
def test_what_cannot_be_sent_is_refused_in_one_sentence(
    side: Side, data: Data, more: Data, sentence: str
) -> None:
    with pytest.raises(LessonError, match=f"^{sentence}$") as caught:
        side.helpers.train(**{"args": data, **more})
    assert "http://" not in str(caught.value)  # the local cloud's address holds its secret


@both_sides(fast="Google")
def test_the_list_has_the_newest_first_and_a_job_is_known_by_its_name_or_the_sdks_object(
    side: Side, data: Data, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two replicas train one model, and cost twice as much an hour."""
    verbs = side.helpers
    sent = [verbs.train(data | {"epochs": 3}, replicas=count, wait=False) for count in (1, 2)]
    assert side.two_cost in capsys.readouterr().out
    names = [side.name(run.job) for run in sent]
    table = verbs.list_jobs().head(2)
    assert list(table["name"]) == names[::-1]  # and no job behind another
    assert list(table["replicas"]) == [2, 1]
    one, two = verbs.wait(names[0]), verbs.wait(sent[1].job)
    assert set(verbs.list_jobs().head(2)["state"]) == {"succeeded"}
    assert one.accuracy == verbs.wait(sent[0]).accuracy is not None
    assert (one.artefacts, one.machine) == (sent[0].artefacts, sent[0].machine)
    assert two.replicas == two.metrics["world_size"] == 2
    rows = [replica["rows"] for replica in two.metrics["replicas"]]
    assert rows[0]["stop"] == rows[1]["start"]
    assert list(verbs.list_jobs(mine=True).head(2)["name"]) == names[::-1]
    spending = importlib.import_module(f"{verbs.__name__}.spending")
    estimate = partial(spending.estimate_spending, side.describe.cloud())
    whole = estimate()
    # The list is cut, the budget counts all.
    monkeypatch.setattr("lesson.jobs.listing.NEWEST", 1)
    assert len(verbs.list_jobs(mine=True)) == 1 and estimate() == whole
    monkeypatch.undo()
    verbs.connect(bucket=f"{data['train'].split('/')[2]}-of-somebody-else")  # in the same account
    assert not set(names) & set(verbs.list_jobs(mine=True)["name"])
    assert list(verbs.list_jobs().head(2)["name"]) == names[::-1]


def test_a_cancelled_job_ends_and_has_no_results(
    side: Side, data: Data, capsys: pytest.CaptureFixture[str]
) -> None:
    sent = side.helpers.train(data | {"epochs": 10_000_000, "patience": 0}, wait=False)
    side.helpers.cancel(sent)
    run = side.helpers.wait(sent)
    assert run.seconds and run.accuracy is None
    said = f"was cancelled ({side.cancelled}); its results are not fetched"
    assert said in capsys.readouterr().out
    side.helpers.cancel(side.name(sent.job))
    assert "had already ended: cancelled" in capsys.readouterr().out


def test_a_job_of_another_script_is_waited_for_too(
    side: Side, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The SDK alone sends it; on SageMaker, what it leaves is in the archive of its results."""
    (code := tmp_path / "code").mkdir()
    script = code / "hello.py"
    script.write_text(
        "import os\n"
        "folder = os.environ.get('SM_MODEL_DIR')\n"
        "if folder: open(f'{folder}/hello.txt', 'w').write('hello')\n"
    )
    run = side.helpers.wait(side.send_script(script))
    assert run.accuracy is None
    assert "left no metrics.json" in capsys.readouterr().out
    if side.cloud == "Amazon":
        assert (run.folder / "hello.txt").read_text() == "hello"


def test_a_job_that_is_not_there_is_said_to_be_missing(side: Side) -> None:
    for verb in (side.helpers.wait, side.helpers.cancel):
        with pytest.raises(LessonError, match=r"^there is no job nope; list_jobs\(\) shows"):
            verb("nope")


def test_what_is_no_job_is_said_to_be_none(side: Side) -> None:
    for verb in (side.helpers.wait, side.helpers.cancel):
        with pytest.raises(LessonError, match="None is no job: give what train"):
            verb(None)
    with pytest.raises(LessonError, match="the run on this machine was no job"):
        side.helpers.wait(Run("this machine", "x86_64", 1.0, 0.8, 0.4, "runs/here"))


@both_sides(fast="Google")
def test_a_local_cloud_that_was_stopped_is_said_to_be_and_comes_back_with_all_jobs(
    side: Side, data: Data
) -> None:
    run = side.helpers.train(data | {"epochs": 3}, wait=False)
    side.helpers.wait(run)
    local_cloud.stop()
    with pytest.raises(LessonError, match=r"^listing the jobs: the local cloud was stopped at "):
        side.helpers.list_jobs()
    side.helpers.connect()
    assert side.helpers.list_jobs()["name"][0] == side.name(run.job)


FINDS_NOTHING_OF_OURS = """
import importlib.util, os
for name in ("lesson", "GCP_helpers", "AWS_helpers"):
    assert importlib.util.find_spec(name) is None, name
if folder := os.environ.get("SM_MODEL_DIR"):
    open(f"{folder}/done.txt", "w").close()
"""


@pytest.mark.parametrize("first", ["import torch\n", ""], ids=["started warm", "started cold"])
def test_a_job_does_not_find_the_lessons_packages(first: str, side: Side, tmp_path: Path) -> None:
    """A script in any folder finds them with the same interpreter: tests/tools/test_environment.py.

    A service's machine does not have them, so a job that imports them has to fail here, too.
    """
    (code := tmp_path / "code").mkdir()
    (code / "look.py").write_text(first + FINDS_NOTHING_OF_OURS)
    side.helpers.wait(side.send_script(code / "look.py"))
