"""Every check() of episodes 03 to 05 rejects the blank and typical wrong answers."""

from __future__ import annotations

from typing import ClassVar

import pytest

from GCP_helpers.costs import estimate_cost
from lesson.exercises import gcs_data, vertex_first_job, vertex_gpu_replicas
from lesson.exercises.lettered import choice
from lesson.runs import Run
from tests.lesson.exercise_rules import Answers, Context, ExerciseRules

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
DATA_ANSWERS: Answers = {
    "noise": (["C", "c", " C. "], [("A", "repeat"), ("B", "digits"), ("D", "A, B, C")]),
    "lines": (
        ["BDCA", "b d c a", "B, D, C, A"],
        [
            ("BDCAE", "no gs://"),
            ("BDAC", "named first, and filled"),
            ("DBCA", "not there yet"),
            ("BCDA", "belongs to a bucket"),
            ("BDC", "four of the five"),
            ("BDCC", "once"),
        ],
    ),
    "generation": (
        [0],
        [(1, "not counted from 1"), (1795184926651202, "replaces the object"), (-1, "none")],
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
}

FIRST_JOB_ANSWERS: Answers = {
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
    "fixed": (
        [TRAIN, f"--train={TRAIN}", f"--train {TRAIN}"],
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
}

REPLICAS_ANSWERS: Answers = {
    "moved": (
        [
            "X = torch.zeros(10, 7, device=device)",
            "X = X.to(device)",
            "X=X.to(device)",
            "X = X.to(device, non_blocking=True)",
        ],
        [
            ("X.to(device)", "throws it away"),
            ("X = X.cuda()", "without a GPU"),
            ("model = model.to(device)", "the rows"),
            ("model(X.to(device))", "before it"),
            ("X = torch.zeros(10, 7)", "under the name X"),
        ],
    ),
    "ran_on": (
        ["cpu", "CPU"],
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
            ("ACDE", "out of A, B, C, D"),
        ],
    ),
}


class TestData(ExerciseRules):
    page = "03-gcs-data.md"
    module = gcs_data
    answers = DATA_ANSWERS
    context: ClassVar[Context] = {"job_path": (VAL,)}


class TestFirstJob(ExerciseRules):
    page = "04-vertex-first-job.md"
    module = vertex_first_job
    answers = FIRST_JOB_ANSWERS
    context: ClassVar[Context] = {"fixed": (TRAIN,), "longest": (RUN,)}


class TestReplicas(ExerciseRules):
    page = "05-vertex-gpu-replicas.md"
    module = vertex_gpu_replicas
    answers = REPLICAS_ANSWERS
    context: ClassVar[Context] = {"ran_on": ({"device": "cpu"},)}


def test_the_exercises_calculate_with_the_prices_of_the_helpers() -> None:
    cpu, gpu = estimate_cost("n1-standard-4"), estimate_cost("n1-standard-4", gpu="T4")
    assert cpu.usd_per_hour == vertex_first_job.HOURLY == vertex_gpu_replicas.CPU_HOURLY
    assert gpu.usd_per_hour == pytest.approx(vertex_gpu_replicas.GPU_HOURLY)


def test_a_choice_names_the_letters_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    choice("B", {"A": "not that."}, "So it is.", "think").check("X")
    assert capsys.readouterr().out == "Not yet: choose one of A, B.\n"
