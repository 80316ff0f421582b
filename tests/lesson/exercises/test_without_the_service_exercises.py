"""Every check() of episode 19 rejects the blank and typical wrong answers."""

from __future__ import annotations

from typing import Any

from lesson.exercises import without_the_service as exercises
from tests.lesson.exercise_rules import Answers, ExerciseRules


def asked(machine: str, model: str = "SPOT", seconds: int = 2040) -> dict[str, Any]:
    timing = {"provisioningModel": model, "maxRunDuration": {"seconds": str(seconds)}}
    body = {"machineType": f"zones/us-central1-a/machineTypes/{machine}", "scheduling": timing}
    return {"insert": {"url": "https://…", "json": body}}


def manifest(kind: str, nodes: int = 2, gpus: int = 4, **more: Any) -> list[Any]:
    trainer = {"numNodes": nodes, "numProcPerNode": gpus, **more}
    return [{"kind": kind, "spec": {"trainer": trainer}}]


ANSWERS: Answers = {
    "yours": (
        ["ACE", "e, c, a"],
        [("ABCE", "of B"), ("ACDE", "of D"), ("CE", "of A"), ("AE", "of C"), ("AC", "of E")],
    ),
    "startup": (
        ["CBFDAE", "c b f d a e"],
        [
            ("BCFDAE", "hang"),
            ("CFBDAE", "take minutes"),
            ("CBDFAE", "one of the packages"),
            ("CBFADE", "no train_nn.py"),
            ("CBFDEA", "not complete"),
            ("CBF", "each of the six"),
        ],
    ),
    "forgotten": (
        [32.4],
        [(0.135, "the training"), (21, "GPU alone"), (11.4, "machine alone"), (60, "each hour")],
    ),
    "request": (
        [asked("g2-standard-4")],
        [
            (asked("n1-standard-4"), "no L4"),
            (asked("g2-standard-4", "STANDARD"), "no spot machine"),
            (asked("g2-standard-4", seconds=7440), "2.1 hours"),
            ({"submit": {}}, "dry_run=True"),
            ({"insert": {}}, "dry_run=True"),
        ],
    ),
    "nodes": (
        [manifest("TrainJob", resourcesPerNode={"limits": {"nvidia.com/gpu": "4"}})],
        [
            (manifest("TrainJob", nodes=1), "1 nodes"),
            (manifest("TrainJob", gpus=1), "1 processes"),
            (manifest("TrainJob"), "gpu_count"),
            (manifest("Job"), "TrainJob"),
        ],
    ),
    "engine": (
        ["SMKR", "s, m, k, r"],
        [
            ("KMKR", "first case"),
            ("SSKR", "second case"),
            ("SMSR", "third case"),
            ("SMKK", "fourth case"),
            ("SMK", "four letters"),
        ],
    ),
}


class TestExercises(ExerciseRules):
    page = "19-without-the-service.md"
    module = exercises
    answers = ANSWERS
