"""Trained models on disk.

A model is a folder with model.json and arrays.npz (numbers only: nothing is ever unpickled). It is
made under another name and renamed when it is whole; the catalog then names it in a transaction.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from local_cloud.google.bigquery.ml.model import Model
from local_cloud.google.bigquery.ml.worker import LOOKS, Worker

CACHED = 8  # models in memory
UNFINISHED = "new-"


class Models:
    """The models' folders; the catalog says whose they are."""

    def __init__(self, folder: Path) -> None:
        """folder: for these alone."""
        self.folder = folder
        self._one = threading.Lock()  # training uses all cores, so one at a time
        self._sweeping = threading.Lock()
        self._swept = False
        self._worker = Worker()
        self._cache: dict[str, Model] = {}

    def train(
        self, options: dict[str, Any], write: Callable[[Path], None], check: Callable[[], None]
    ) -> str:
        """Train a model; returns the name of its folder. Raises Problem.

        write: puts the rows into this file of Arrow's; check: raises if the query was cancelled.
        """
        name = secrets.token_hex(16)
        draft = self.folder / f"{UNFINISHED}{name}"
        draft.mkdir(parents=True, mode=0o700)
        try:
            write(draft / "table.arrow")
            (draft / "options.json").write_text(json.dumps(options), encoding="utf-8")
            while not self._one.acquire(timeout=LOOKS):
                check()
            try:
                self._worker.train(draft, check)
            finally:
                self._one.release()
            _sync(draft / "arrays.npz", draft / "model.json")
            for used in ("table.arrow", "options.json"):
                (draft / used).unlink()
            draft.rename(self.folder / name)
            _sync(self.folder)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
        return name

    def close(self) -> None:
        """End the process that trains."""
        self._worker.end()

    def load(self, name: str) -> Model:
        """Load a trained model."""
        import numpy as np

        model = self._cache.pop(name, None)
        if model is None:
            folder = self.folder / name
            document = json.loads((folder / "model.json").read_text(encoding="utf-8"))
            with np.load(folder / "arrays.npz", allow_pickle=False) as arrays:
                model = Model(document, dict(arrays))
        self._cache[name] = model  # the last one is the one that was used last
        for oldest in list(self._cache)[:-CACHED]:
            self._cache.pop(oldest, None)
        return model

    def remove(self, name: str) -> None:
        """Delete a model that no catalog names any more."""
        self._cache.pop(name, None)
        shutil.rmtree(self.folder / name, ignore_errors=True)

    def sweep(self, kept: Callable[[], set[str]]) -> None:
        """Delete, before the first training, what earlier servers left: half models, dropped ones.

        kept: returns the folders that the catalog names.
        """
        with self._sweeping:
            if self._swept:
                return
            named = kept()
            for path in list(self.folder.glob("*")):
                if path.name not in named:
                    shutil.rmtree(path, ignore_errors=True)
            self._swept = True


def _sync(*paths: Path) -> None:
    for path in paths:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
