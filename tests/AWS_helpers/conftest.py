"""Every test begins unconnected, under the local target."""

from __future__ import annotations

from pathlib import Path

import pytest

from AWS_helpers import jobs, session, upload
from lesson import preparation
from local_cloud.control import Status

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def unconnected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "_session", None)
    monkeypatch.setenv("LESSON_TARGET", "local")
    for name in ("LESSON_BUCKET", "LESSON_ROLE", "AWS_ENDPOINT_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="session")
def archives(tmp_path_factory: pytest.TempPathFactory) -> preparation.Prepared:
    """The Titanic's twin, prepared."""
    return preparation.prepare(ROOT / "data/titanic_train.csv", tmp_path_factory.mktemp("data"))


kept: list[session.Session] = []  # what connect() returned: it takes half a second


@pytest.fixture
def connection(cloud: Status, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> session.Session:
    """This worker's local cloud, with the session of connect(); results go to a new folder."""
    monkeypatch.chdir(tmp_path)
    if kept:
        session.point_sdks()
        session._session = kept[0]
    if not kept or not session.region_of(session.client("s3"), kept[0].bucket):
        kept[:] = [session.connect()]
    return kept[0]


@pytest.fixture
def data(connection: session.Session, archives: preparation.Prepared) -> dict[str, str]:
    """The flags that name the uploaded data."""
    train, val = upload(archives.train, archives.val, prefix="data")
    return {"train": train, "val": val}


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs run a script in place of train_nn.py that says the same, without the training."""
    monkeypatch.setattr(jobs, "FOLDER", Path(__file__).with_name("trial"))
