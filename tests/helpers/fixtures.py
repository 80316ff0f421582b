"""What the tests of either side share; a folder's conftest.py says which `side` it has."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lesson.preparation import Prepared
from local_cloud import Status
from tests.helpers.sides import SIDES, Side


@pytest.fixture
def unconnected(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing is connected yet, under the local target; the SDK is left as it was."""
    monkeypatch.setenv("LESSON_TARGET", "local")
    for side in SIDES.values():
        monkeypatch.setattr(side.session, "_session", None)
    for name in ("GOOGLE_CLOUD_PROJECT", "LESSON_BUCKET", "LESSON_ROLE", "STORAGE_EMULATOR_HOST",
                 "AWS_ENDPOINT_URL"):  # fmt: skip
        monkeypatch.delenv(name, raising=False)
    initializer = sys.modules.get("google.cloud.aiplatform.initializer")
    settings = dict(vars(initializer.global_config)) if initializer else {}
    yield
    if initializer:
        vars(initializer.global_config).update(settings)


@pytest.fixture
def connection(side: Side, cloud: Status, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """What connect() returned on this worker's local cloud; results go to a new folder."""
    monkeypatch.chdir(tmp_path)
    return side.connect()


@pytest.fixture
def data(side: Side, connection: Any, archives: Prepared) -> dict[str, str]:
    """The flags that name the uploaded data."""
    train, val = side.helpers.upload(archives.train, archives.val, prefix="data")
    return {"train": train, "val": val}


@pytest.fixture
def quick(side: Side, monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs and trials run a script in place of train_nn.py that says the same, untrained."""
    for module in side.sends_folder:
        monkeypatch.setattr(module, "FOLDER", side.trial)
