"""Every test begins unconnected, under the local target, and leaves the SDK as it was."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from GCP_helpers import jobs, session, upload
from lesson import preparation
from local_cloud.control import Status
from tests import once

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def unconnected(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(session, "_session", None)
    monkeypatch.setenv("LESSON_TARGET", "local")
    for name in ("GOOGLE_CLOUD_PROJECT", "LESSON_BUCKET", "STORAGE_EMULATOR_HOST"):
        monkeypatch.delenv(name, raising=False)
    initializer = sys.modules.get("google.cloud.aiplatform.initializer")
    settings = dict(vars(initializer.global_config)) if initializer else {}
    yield
    if initializer:
        vars(initializer.global_config).update(settings)


@pytest.fixture(scope="session")
def archives(tmp_path_factory: pytest.TempPathFactory) -> preparation.Prepared:
    """The Titanic's twin, prepared."""
    return preparation.prepare(ROOT / "data/titanic_train.csv", tmp_path_factory.mktemp("data"))


@pytest.fixture
def connection(cloud: Status, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> session.Session:
    """This worker's local cloud, with the session of connect(); results go to a new folder."""
    monkeypatch.chdir(tmp_path)
    made = session.connect()
    once.pack_once()
    return made


@pytest.fixture
def data(connection: session.Session, archives: preparation.Prepared) -> dict[str, str]:
    """The flags that name the uploaded data."""
    train, val = upload(archives.train, archives.val, prefix="data")
    return {"train": train, "val": val}


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs run a script in place of train_nn.py that says the same, without the training."""
    monkeypatch.setattr(jobs, "FOLDER", Path(__file__).with_name("trial.py"))
