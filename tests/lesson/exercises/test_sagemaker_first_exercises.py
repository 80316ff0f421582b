"""Every check() of episodes 06 and 07 rejects the blank and typical wrong answers."""

from __future__ import annotations

import io
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from AWS_helpers import helpers
from AWS_helpers import session as aws_session
from AWS_helpers.costs import estimate_cost
from lesson.exercises import s3_data, sagemaker_first_job
from lesson.preparation import prepare
from local_cloud import Status
from tests.lesson.exercise_rules import Answers, Context, ExerciseRules
from tests.lesson.own_network import OWN_ANSWERS, OWN_CONTEXT, OwnNetworkRules
from tests.lesson.sent_jobs import amazon, cancelled, connected, ended, on_amazon, until

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "episodes" / "07-sagemaker-first-job.md"
VAL = "s3://lesson/data/val_data.npz"
ML = "/opt/ml/input/data"
LOG = [
    "569 rows, 7 features, 2625 weights, 1 step an epoch, on cpu",
    "epoch     1  loss 0.6884  validation loss 0.6799  accuracy 0.6224  0.0 s",
    "epoch   268  loss 0.3531  validation loss 0.3905  accuracy 0.8462  0.4 s",
    "validation:accuracy = 0.8462",
    "validation:loss = 0.3863",
]
DATA_ANSWERS: Answers = {
    "leak": (
        ["BD", "DB", "b, d"],
        [
            ("BDE", "the split itself"),
            ("AB", "computes nothing"),
            ("CD", "computes nothing"),
            ("B", "scaling of X"),
            ("D", "fills a gap"),
            ("XY", "from A to E"),
        ],
    ),
    "claims": (
        ["BD", "d b"],
        [
            ("ABD", "savez_compressed"),
            ("BCD", "no effect"),
            ("BDE", "rows in memory"),
            ("B", "one more"),
            ("all", "from A to E"),
        ],
    ),
    "prefix": (
        [3, 3.0],
        [(1, "one of them"), (2, "slash"), (4, "does not begin"), (0, "count the keys")],
    ),
    "price": (
        [10 * 40 * 12 * helpers.GB_MONTH, 110],
        [
            (10 * 40 * helpers.GB_MONTH, "one month"),
            (40 * 12 * helpers.GB_MONTH, "one version"),
            (40 * helpers.GB_MONTH, "for one month"),
            (40, "ten versions"),
        ],
    ),
    "channel": (
        [f"{ML}/val/val_data.npz"],
        [
            (VAL, "copies it from"),
            (f"{ML}/val_data.npz", "its own folder"),
            (f"{ML}/data/val_data.npz", "leave out"),
            (f"{ML}/val/data/val_data.npz", "leave out"),
            (f"{ML}/train/val_data.npz", "the other channel"),
            (f"{ML}/val", "has a name"),
            ("runs/data/val_data.npz", "two columns"),
        ],
    ),
}

FIRST_JOB_ANSWERS: Answers = {
    "price": (
        [estimate_cost("ml.m5.large", hours=100 * 135 / 3600).usd, 0.43],
        [
            (estimate_cost("ml.m5.large", hours=100 * 197.62 / 3600).usd, "waited"),
            (estimate_cost("ml.m5.large", hours=135 / 3600).usd, "one of the hundred"),
            (estimate_cost("ml.m5.large", hours=100).usd, "hundred hours"),
            (5, "135 billed seconds"),
        ],
    ),
    "arrival": (["A", "a."], [("B", "underscore"), ("C", "there is such a file")]),
    "loss_regex": (
        [
            r"validation:loss = ([0-9.]+)",
            r"validation:loss = (.*)",
            r"loss = (\d+\.\d+)",
            r"^validation:loss\s*=\s*(\S+)$",
        ],
        [
            (r"validation:loss = [0-9.]+", "parentheses"),
            (r"validation:loss: ([0-9.]+)", "nothing in the log"),
            (r"loss ([0-9.]+)", "the epochs"),
            (r"validation loss ([0-9.]+)", "the epochs"),
            (r"validation:accuracy = ([0-9.]+)", "another number"),
            (r"(validation:loss) = [0-9.]+", "no number"),
            (r"validation:loss = ([0-9.]+", "not a regular expression"),
            (r"validation:loss = ([0-9.]+)+!", "for ever"),
            (r"((\w| )+)*!", "for ever"),
        ],
    ),
    "billed": (["B"], [("A", "a second or so"), ("C", "not billed")]),
}


@pytest.fixture(scope="class")
def archives(
    request: pytest.FixtureRequest, cloud: Status, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """The validation archive in the bucket, as a learner has sent it and read it again."""
    folder = tmp_path_factory.mktemp("there")
    with connected(folder), pytest.MonkeyPatch.context() as changed:
        changed.chdir(folder)
        data = prepare(ROOT / "data/titanic_train.csv", "runs/data")
        s3, bucket = aws_session.client("s3"), aws_session.current_session().bucket
        s3.upload_file(str(data.val), bucket, "there/val_data.npz")
        answer = s3.get_object(Bucket=bucket, Key="there/val_data.npz")
        right = ([np.load(io.BytesIO(answer["Body"].read()))], [
            (np.load(data.train), "numpy.load"),
            (np.load(data.val), "is the file on this machine"),
            ("s3://lesson/there/val_data.npz", "numpy.load"),
        ])  # fmt: skip
        request.cls.answers = DATA_ANSWERS | {"there": right}
        request.cls.context = {"channel": (VAL,), "there": (s3, bucket)}
        yield


@pytest.mark.usefixtures("archives")
class TestData(ExerciseRules):
    page = "06-s3-data.md"
    module = s3_data

    def test_what_is_in_the_bucket_counts(self) -> None:
        (right,), _ = self.answers["there"]
        s3, bucket = self.context["there"]
        s3.put_object(Bucket=bucket, Key="there/val_data.npz", Body=b"other")
        assert "the object has 5 bytes" in self.said("there", right)
        s3.delete_object(Bucket=bucket, Key="there/val_data.npz")
        assert "has no object" in self.said("there", right)


@pytest.fixture(scope="class")
def jobs(
    request: pytest.FixtureRequest, cloud: Status, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """Jobs as learners send them, and what is said about each."""
    folder, long = tmp_path_factory.mktemp("first"), {"epochs": "1000000", "patience": "0"}
    with connected(folder):
        send = partial(on_amazon, folder)
        runs_on = until(amazon, send("titanic-yours", **long), "running")
        stopped = cancelled(amazon, send("titanic-yours", **long))
        at_limit = ended(amazon, send("titanic-limited", limit=1, **long))
        short = ended(amazon, send("titanic-limited", epochs="10"))
        broken = ended(amazon, send("titanic-fixed", train="broken"))
        request.cls.answers = {**FIRST_JOB_ANSWERS, **OWN_ANSWERS} | {
            "stopped": (
                [stopped],
                [
                    (runs_on, "costs money until"),
                    (at_limit, "before you did"),
                    (short, "end too soon"),
                    ("titanic-yours", "is a job"),
                ],
            ),
            "limited": (
                [at_limit],
                [
                    (stopped, "you stopped this one"),
                    (short, "the settings LONG"),
                    (runs_on, "not ended yet"),
                    (broken, "has failed"),
                ],
            ),
            "fixed": (
                [ended(amazon, send("titanic-fixed", train="whole"))],
                [(broken, "check the name"), (short, "again as titanic-fixed")],
            ),
        }
        yield
        runs_on.stop()


@pytest.mark.usefixtures("jobs")
class TestFirstJob(OwnNetworkRules):
    page = "07-sagemaker-first-job.md"
    module = sagemaker_first_job
    context: ClassVar[Context] = {
        "loss_regex": (LOG,),
        "own_network": OWN_CONTEXT,
        **dict.fromkeys(("stopped", "limited", "fixed"), (amazon,)),
    }

    def test_a_job_that_is_gone_is_said_to_be_gone(self, tmp_path: Path) -> None:
        with connected(tmp_path):
            job = ended(amazon, on_amazon(tmp_path, "titanic-fixed"))
            job.delete()
            said = self.said("fixed", job, amazon)
        assert said.startswith("Not yet: asking for the job: ") and "\n" not in said


def test_the_exercises_calculate_with_the_prices_of_the_helpers() -> None:
    assert s3_data.GB_MONTH == helpers.GB_MONTH
    assert estimate_cost("ml.m5.large").usd_per_hour == sagemaker_first_job.HOURLY


def test_the_page_quotes_what_was_measured() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for seconds in (sagemaker_first_job.WAITED, sagemaker_first_job.BILLED):
        assert f"{seconds} seconds" in text
