"""Every check() of episodes 03 to 05 rejects the blank and typical wrong answers."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from GCP_helpers.costs import estimate_cost
from lesson.exercises import (
    UNANSWERED,
    Exercise,
    choice,
    gcs_data,
    vertex_first_job,
    vertex_gpu_replicas,
)
from lesson.runs import Run

EPISODES = Path(__file__).parents[2] / "episodes"
PAGES = {
    gcs_data: "03-gcs-data.md",
    vertex_first_job: "04-vertex-first-job.md",
    vertex_gpu_replicas: "05-vertex-gpu-replicas.md",
}
ALL = [
    pytest.param(module, name, id=f"{module.__name__.rpartition('.')[2]}.{name}")
    for module in PAGES
    for name, value in vars(module).items()
    if isinstance(value, Exercise)
]

TRAIN, VAL = "gs://lesson/data/train_data.npz", "gs://lesson/data/val_data.npz"
RUN = Run(
    place="Vertex AI (local cloud)",
    machine="n1-standard-4",
    seconds=4.0,
    accuracy=0.85,
    loss=0.39,
    artefacts="gs://lesson/runs/a/model/",
    queued=0.5,
    starting=3.0,
    training=0.5,
)
CONTEXT = {
    "job_path": (VAL,),
    "mended": (TRAIN,),
    "longest": (RUN,),
    "ran_on": ({"device": "cpu"},),
}

# exercise -> (right answers, wrong answers and a word of what is said about each)
ANSWERS: dict[ModuleType, dict[str, tuple[list[Any], list[tuple[Any, str]]]]] = {
    gcs_data: {
        "noise": (["C", "c", " C. "], [("A", "repeat"), ("B", "digits"), ("D", "A, B, C")]),
        "lines": (
            ["BDCA", "b d c a", "B, D, C, A"],
            [
                ("BDCAE", "no gs://"),
                ("BDAC", "named first, and filled"),
                ("DBCA", "not there yet"),
                ("BCDA", "belongs to a bucket"),
                ("BDC", "four of the five"),
                ("BDCC", "each once"),
            ],
        ),
        "generation": (
            [0],
            [(1, "microseconds"), (1795184926651202, "replaces the object"), (-1, "none")],
        ),
        "job_path": (
            ["/gcs/lesson/data/val_data.npz"],
            [
                (VAL, "under /gcs/"),
                ("/gs/lesson/data/val_data.npz", "under /gcs/"),
                ("gcs/lesson/data/val_data.npz", "does not begin with /"),
                ("/gcs/data/val_data.npz", "name of the bucket"),
                ("/gcs/lesson/data/train_data.npz", "of val_npz"),
            ],
        ),
        "half": (["A"], [("B", "float32"), ("C", "unpacks")]),
    },
    vertex_first_job: {
        "price": (
            [estimate_cost("n1-standard-4", hours=2).usd, 0.44],
            [
                (estimate_cost("n1-standard-4", hours=20 / 60).usd, "from its start"),
                (estimate_cost("n1-standard-4", hours=0.1).usd, "one of the twenty"),
                (estimate_cost("n1-standard-4", hours=20).usd, "twenty hours"),
                (2, "six minutes each"),
            ],
        ),
        "second_run": (["C"], [("A", "by itself"), ("B", "one job")]),
        "right_class": (
            [
                "CustomTrainingJob",
                "aiplatform.CustomTrainingJob",
                "google.cloud.aiplatform.CustomTrainingJob(",
                "CustomJob.from_local_script",
                "aiplatform.CustomJob.from_local_script(...)",
            ],
            [
                ("CustomJob", "TypeError"),
                ("CustomPythonPackageTrainingJob", "built and uploaded"),
                ("aiplatform.CustomContainerTrainingJob", "already holds"),
                ("TrainingJob", "takes script_path"),
            ],
        ),
        "failed_filter": (
            [
                'state="PIPELINE_STATE_FAILED"',
                "state='PIPELINE_STATE_FAILED'",
                "state = PIPELINE_STATE_FAILED",
            ],
            [
                ('state="JOB_STATE_FAILED"', "custom job"),
                ('state="failed"', "whole name"),
                ('state="PIPELINE_STATE_RUNNING"', "ended with an error"),
                ("PIPELINE_STATE_FAILED", "as the filter above"),
                ("state=\"PIPELINE_STATE_FAILED'", "as the filter above"),
            ],
        ),
        "mended": (
            [TRAIN, f"--train={TRAIN}"],
            [
                (VAL, "refused"),
                ("runs/data/train_data.npz", "this machine"),
                (f"--val={TRAIN}", "not complained about"),
                ("gs://lesson/train_data.npz", "which archive"),
            ],
        ),
        "longest": (
            ["starting", " Starting "],
            [
                ("training", "took 0.50 s"),
                ("queued", "another column has more"),
                ("seconds", "one of the columns"),
            ],
        ),
    },
    vertex_gpu_replicas: {
        "moved": (
            ["X = X.to(device)", "X=X.to(device)", "X = X.to(device, non_blocking=True)"],
            [
                ("X.to(device)", "throws it away"),
                ("X = X.cuda()", "without a GPU"),
                ("model = model.to(device)", "the rows"),
                ("X = torch.zeros(10, 7)", "under the name X"),
            ],
        ),
        "ran_on": (
            ["cpu"],
            [
                ("NVIDIA_TESLA_T4", "asked for"),
                ("device", "a name in metrics"),
                ("cuda", "one of the names"),
            ],
        ),
        "break_even": (
            [17.9, 18, 17.87],
            [
                (21.1, "left the five minutes"),
                (22.9, "the whole job"),
                (170, "shorter"),
                (30, "65 minutes"),
            ],
        ),
        "naive_rows": (["A"], [("B", "no line of naive.py"), ("C", "company")]),
        "third": (
            [379],
            [(285, "three"), (190, "second of the three"), (380, "nearly"), (0, "a third")],
        ),
        "choices": (
            ["ACDB", "a c d b"],
            [
                ("BCDB", "1: "),
                ("ABDB", "2: "),
                ("ACCB", "3: "),
                ("ACDC", "4: "),
                ("ACD", "four letters"),
                ("ACDE", "from A to D"),
            ],
        ),
    },
}


def said(capsys: pytest.CaptureFixture[str], module: ModuleType, name: str, answer: Any) -> str:
    capsys.readouterr()
    vars(module)[name].check(answer, *CONTEXT.get(name, ()))
    return capsys.readouterr().out.rstrip("\n")


@pytest.mark.parametrize(("module", "name"), ALL)
def test_the_blank_is_not_an_answer(
    module: ModuleType, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said(capsys, module, name, None) == said(capsys, module, name, ...) == UNANSWERED


@pytest.mark.parametrize(("module", "name"), ALL)
def test_right_answers_are_accepted_and_wrong_ones_told_why(
    module: ModuleType, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    right, wrong = ANSWERS[module][name]
    for answer in right:
        assert said(capsys, module, name, answer) == f"Right. {vars(module)[name].praise}"
    for answer, word in wrong:
        verdict = said(capsys, module, name, answer)
        assert verdict.startswith("Not yet: ") and word in verdict, answer


@pytest.mark.parametrize(("module", "name"), ALL)
@pytest.mark.parametrize(
    "answer", [True, [], {}, object(), float("nan"), "", -7, 10**400], ids=lambda it: str(it)[:9]
)
def test_no_answer_makes_a_check_fail(
    module: ModuleType, name: str, answer: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said(capsys, module, name, answer).startswith("Not yet: ")


def test_a_run_that_was_not_sent_to_a_service_is_no_answer_to_where_the_time_goes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for other in (None, "a run"):
        vertex_first_job.longest.check("starting", other)
        assert "hand the run of the verb" in capsys.readouterr().out


@pytest.mark.parametrize(("module", "name"), ALL)
def test_hints_help_without_telling(
    module: ModuleType, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    vars(module)[name].hint()
    hint = capsys.readouterr().out
    assert hint.startswith("Hint: ") and len(hint) > 40
    words = re.findall(r"[\w./:-]+", hint)
    assert not {str(answer).strip() for answer in ANSWERS[module][name][0]} & set(words)


@pytest.mark.parametrize("module", PAGES)
def test_every_exercise_is_in_its_episode_with_a_blank_and_a_solution(module: ModuleType) -> None:
    text = (EPISODES / PAGES[module]).read_text(encoding="utf-8")
    used = re.findall(r"^exercises\.(\w+)\.check\(", text, re.MULTILINE)
    names = [name for name, value in vars(module).items() if isinstance(value, Exercise)]
    assert {name: used.count(name) for name in names} == dict.fromkeys(names, 2)


def test_the_exercises_reckon_with_the_prices_of_the_helpers() -> None:
    cpu, gpu = estimate_cost("n1-standard-4"), estimate_cost("n1-standard-4", gpu="T4")
    assert cpu.usd_per_hour == vertex_first_job.HOURLY == vertex_gpu_replicas.CPU_HOURLY
    assert gpu.usd_per_hour == pytest.approx(vertex_gpu_replicas.GPU_HOURLY)


def test_a_choice_names_the_letters_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    choice("B", {"A": "not that."}, "So it is.", "think").check("X")
    assert capsys.readouterr().out == "Not yet: choose one of A, B.\n"
