"""Every check() of episodes 03 to 05 rejects the blank and typical wrong answers."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import ClassVar

import pytest
from google.cloud import aiplatform, storage

from GCP_helpers.costs import estimate_cost
from lesson.exercises import gcs_data, vertex_first_job, vertex_gpu_replicas
from lesson.exercises.kinds.letters import choice
from lesson.preparation import prepare
from local_cloud import Status
from tests.lesson.exercise_rules import Answers, Context, ExerciseRules
from tests.lesson.own_network import OWN_ANSWERS, OWN_CONTEXT, OwnNetworkRules
from tests.lesson.sent_jobs import cancelled, connected, ended, google, on_google, until

ROOT = Path(__file__).parents[3]
TRAIN, VAL = "gs://lesson/data/train_data.npz", "gs://lesson/data/val_data.npz"
DATA_ANSWERS: Answers = {
    "noise": (["C", "c", " C. "], [("A", "repeat"), ("B", "digits"), ("D", "A, B, C")]),
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
    "right_class": (
        [
            "CustomJob.from_local_script",
            "aiplatform.CustomJob.from_local_script(...)",
            "google.cloud.aiplatform.CustomJob.from_local_script(",
        ],
        [
            ("CustomJob", "TypeError"),
            ("CustomTrainingJob", "Google's own images only"),
            ("CustomPythonPackageTrainingJob", "built and uploaded"),
            ("aiplatform.CustomContainerTrainingJob", "already holds"),
            ("TrainingJob", "takes script_path"),
        ],
    ),
    "failed_filter": (
        [
            'state="JOB_STATE_FAILED"',
            "state='JOB_STATE_FAILED'",
            "state = JOB_STATE_FAILED",
        ],
        [
            ('state="PIPELINE_STATE_FAILED"', "custom jobs"),
            ('state="failed"', "whole name"),
            ('state="JOB_STATE_RUNNING"', "ended with an error"),
            ("JOB_STATE_FAILED", "as the filter above"),
            ("state=\"JOB_STATE_FAILED'", "as the filter above"),
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
    "break_even": (
        [17.9, 18, 17.87],
        [
            (21.1, "left out the five minutes"),
            (22.9, "the whole job"),
            (170, "shorter"),
            (30, "65 minutes"),
        ],
    ),
    "naive_rows": (["A"], [("B", "no line of naive.py"), ("C", "first line")]),
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


@pytest.fixture(scope="class")
def blobs(
    request: pytest.FixtureRequest, cloud: Status, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """Objects as a learner has, or has not, uploaded them."""
    folder = tmp_path_factory.mktemp("blobs")
    with connected(folder), pytest.MonkeyPatch.context() as changed:
        changed.chdir(folder)
        data = prepare(ROOT / "data/titanic_train.csv", "runs/data")
        client = storage.Client()
        buckets = [client.create_bucket(f"blobs-{uuid.uuid4().hex[:8]}") for _ in range(3)]
        right, other, unsent = (bucket.blob("data/val_data.npz") for bucket in buckets)
        right.upload_from_filename(data.val)
        other.upload_from_filename(data.train)
        forgotten = buckets[0].blob("data/val_data.npz")  # another upload has made the object
        named = buckets[0].blob("val_data.npz")
        request.cls.answers = DATA_ANSWERS | {
            "sent": (
                [right],
                [
                    (unsent, "sends nothing"),
                    (forgotten, "sends nothing"),
                    (other, "bytes"),
                    (named, "call it data/val_data.npz"),
                    ("data/val_data.npz", "a blob"),
                ],
            )
        }
        yield


@pytest.mark.usefixtures("blobs")
class TestData(ExerciseRules):
    page = "03-gcs-data.md"
    module = gcs_data
    context: ClassVar[Context] = {"job_path": (VAL,)}


@pytest.fixture(scope="class")
def first_jobs(
    request: pytest.FixtureRequest, cloud: Status, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """Jobs as learners send them in episode 04, and what is said about each."""
    folder = tmp_path_factory.mktemp("first")
    with connected(folder):
        send = partial(on_google, folder)
        large, long = {"machine_type": "n1-standard-8"}, ("--epochs=1000000", "--patience=0")
        runs_on = until(google, send("titanic-yours", *long, **large), "running")
        other_machine = ended(google, send("titanic-other", "--epochs=1000"))
        short = ended(google, send("titanic-yours", "--epochs=1000", **large))
        broken = ended(google, send("titanic-fixed", "--train=broken"))
        unsent = aiplatform.CustomTrainingJob("titanic-fixed", "small.py", container_uri="i:1")
        yours = cancelled(google, send("titanic-yours", *long, **large))
        request.cls.answers = {**FIRST_JOB_ANSWERS, **OWN_ANSWERS} | {
            "cancelled": (
                [yours],
                [
                    (runs_on, "costs money until"),
                    (other_machine, "the other machine type"),
                    (short, "end too soon"),
                    (unsent, "not been sent"),
                    ("titanic-yours", "is a job"),
                ],
            ),
            "fixed": (
                [ended(google, send("titanic-fixed-me", "--train=whole"))],
                [
                    (broken, "check the name"),
                    (short, "called titanic-fixed"),
                    (unsent, "not been sent"),
                ],
            ),
            "compared": (
                [ended(google, send("titanic-more", "--epochs=3000", "--patience=0"))],
                [
                    (short, "give it 3,000"),
                    (ended(google, send("titanic-more", "--epochs=3000")), "stops early"),
                    (runs_on, "not ended yet"),
                    (yours, "was cancelled"),
                ],
            ),
        }
        yield
        runs_on.cancel()


@pytest.mark.usefixtures("first_jobs")
class TestFirstJob(OwnNetworkRules):
    page = "04-vertex-first-job.md"
    module = vertex_first_job
    context: ClassVar[Context] = {
        **dict.fromkeys(("cancelled", "fixed", "compared"), (google,)),
        "own_network": OWN_CONTEXT,
    }

    def test_a_job_that_is_gone_is_said_to_be_gone(self, tmp_path: Path) -> None:
        with connected(tmp_path):
            job = ended(google, on_google(tmp_path, "titanic-fixed"))
            job.delete()
            said = self.said("fixed", job, google)
        assert said.startswith("Not yet: asking for the job: the service answered 404")
        assert "\n" not in said


@pytest.fixture(scope="class")
def replica_jobs(
    request: pytest.FixtureRequest, cloud: Status, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """Jobs as learners send them in episode 05, and what is said about each."""
    folder = tmp_path_factory.mktemp("replicas")
    t4 = {"accelerator_type": "NVIDIA_TESLA_T4", "accelerator_count": 1}
    with connected(folder):
        send = partial(on_google, folder)
        alone = ended(google, send("titanic-alone", "--epochs=50"))
        request.cls.answers = REPLICAS_ANSWERS | {
            "ran_on": (
                [ended(google, send("titanic-t4", "--epochs=50", **t4))],
                [
                    (alone, "asked for n1-standard-4"),
                    (ended(google, send("titanic-t4", "--epochs=100", **t4)), "not for 50"),
                    ("NVIDIA_TESLA_T4", "is a job"),
                ],
            ),
            "third": (
                [ended(google, send("titanic-three", replica_count=3))],
                [
                    (alone, "sent to 1"),
                    (ended(google, send("x", "--train=broken", replica_count=3)), "has failed"),
                    (379, "is a job"),
                ],
            ),
        }
        yield


@pytest.mark.usefixtures("replica_jobs")
class TestReplicas(ExerciseRules):
    page = "05-vertex-gpu-replicas.md"
    module = vertex_gpu_replicas
    context: ClassVar[Context] = dict.fromkeys(("ran_on", "third"), (google,))


def test_the_exercises_calculate_with_the_prices_of_the_helpers() -> None:
    cpu, gpu = estimate_cost("n1-standard-4"), estimate_cost("n1-standard-4", gpu="T4")
    assert cpu.usd_per_hour == vertex_first_job.HOURLY == vertex_gpu_replicas.CPU_HOURLY
    assert gpu.usd_per_hour == pytest.approx(vertex_gpu_replicas.GPU_HOURLY)


def test_a_choice_names_the_letters_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    choice("B", {"A": "not that."}, praise="So it is.", advice="think").check("X")
    assert capsys.readouterr().out == "Not yet: choose one of A, B.\n"
