"""Each test runs on either cloud, unconnected at first, and leaves the SDKs as they were."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import AWS_helpers
import GCP_helpers
from AWS_helpers import session as aws_session
from AWS_helpers import tuning as aws_tuning
from GCP_helpers import session as gcp_session
from GCP_helpers import tuning as gcp_tuning
from lesson import preparation
from local_cloud.control import Status
from tests import once

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Side:
    """A cloud's helpers, and what differs between the two."""

    helpers: ModuleType
    session: ModuleType
    tuning: ModuleType
    trial: Path  # a quick script in place of train_nn.py, for the trials of tune()
    machine: str  # the default one
    two_cost: str  # an hour of two of them
    cancelled: str  # what the service calls it
    cloud: str
    serving_machine: str  # the default one of deploy()
    served_cost: str  # a day of it

    def name(self, run: Any) -> str:
        """A job's name."""
        return str(vars(run.job).get("training_job_name") or run.job.display_name)


SIDES = {
    "Google": Side(
        GCP_helpers,
        gcp_session,
        gcp_tuning,
        ROOT / "tests/GCP_helpers/trial.py",
        "n1-standard-4",
        "$0.44 an hour",
        "CANCELLED",
        "Google",
        "n1-standard-2",
        "$2.63",
    ),
    "Amazon": Side(
        AWS_helpers,
        aws_session,
        aws_tuning,
        ROOT / "tests/AWS_helpers/trial",
        "ml.m5.xlarge",
        "$0.46 an hour",
        "Stopped",
        "Amazon",
        "ml.m5.large",
        "$2.76",
    ),
}


def both_sides(fast: str) -> pytest.MarkDecorator:
    """Run a test on this side of the two, and among the slow ones on the other."""
    sides = [pytest.param(side, marks=pytest.mark.slow if side != fast else ()) for side in SIDES]
    return pytest.mark.parametrize("side", sides, indirect=True)


@pytest.fixture(params=SIDES)
def side(
    request: pytest.FixtureRequest,
    cloud: Status,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Side]:
    """A cloud's helpers, connected; results go to a new folder."""
    made = SIDES[request.param]
    monkeypatch.setattr(made.session, "_session", None)
    monkeypatch.setenv("LESSON_TARGET", "local")
    for name in ("GOOGLE_CLOUD_PROJECT", "LESSON_BUCKET", "LESSON_ROLE", "STORAGE_EMULATOR_HOST",
                 "AWS_ENDPOINT_URL"):  # fmt: skip
        monkeypatch.delenv(name, raising=False)
    from google.cloud.aiplatform import initializer

    settings = dict(vars(initializer.global_config))
    monkeypatch.chdir(tmp_path)
    made.session.connect()
    once.pack_once()
    yield made
    vars(initializer.global_config).update(settings)


@pytest.fixture(scope="session")
def archives(tmp_path_factory: pytest.TempPathFactory) -> preparation.Prepared:
    """The Titanic's twin, prepared."""
    return preparation.prepare(ROOT / "data/titanic_train.csv", tmp_path_factory.mktemp("data"))


@pytest.fixture
def data(side: Side, archives: preparation.Prepared) -> dict[str, str]:
    """The flags that name the uploaded data."""
    train, val = side.helpers.upload(archives.train, archives.val, prefix="data")
    return {"train": train, "val": val}
