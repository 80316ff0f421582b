"""Fetch the real passenger list from OpenML: ``python -m data.fetch_real``.

The list has 1,309 passengers and is written in the same twelve columns as the twin, split into
``titanic_train.csv`` and ``titanic_test.csv``, to ``data/real/``, which git ignores. Both
files are written or none: when anything fails the older ones stay as they were.
"""

import os
import shutil
import socket
import sys
import tempfile
import warnings
import zlib
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from http.client import HTTPException
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

FOLDER = Path(__file__).parent / "real"
SOURCE = "https://www.openml.org/d/40945"
PASSENGERS = 1309
TEST_SHARE = 0.2
SEED = 0  # of the split
PATIENCE_S = 30.0  # how long one answer may take
RETRY_AFTER_S = 1.0
# OpenML's column for each of the familiar ones; PassengerId is the place in OpenML's list.
COLUMNS = {
    "Survived": "survived",
    "Pclass": "pclass",
    "Name": "name",
    "Sex": "sex",
    "Age": "age",
    "SibSp": "sibsp",
    "Parch": "parch",
    "Ticket": "ticket",
    "Fare": "fare",
    "Cabin": "cabin",
    "Embarked": "embarked",
}


class FetchError(Exception):
    """The real list could not be had; the message says why and what to do."""


@contextmanager
def patience(seconds: float) -> Iterator[None]:
    """Let no connection made inside wait for more than ``seconds``."""
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(seconds)
    try:
        yield
    finally:
        socket.setdefaulttimeout(before)


def download() -> "pd.DataFrame":
    """Return OpenML's table, columns named as there.

    Raises FetchError when OpenML cannot be reached or what it answers is not the list.
    """
    from sklearn.datasets import fetch_openml

    # The download goes to a folder of its own: a broken answer must not stay in the user's cache.
    # scikit-learn warns of each retry; the one sentence at the end is enough.
    with (
        tempfile.TemporaryDirectory() as cache,
        warnings.catch_warnings(action="ignore"),
        patience(PATIENCE_S),
    ):
        try:
            frame: pd.DataFrame = fetch_openml(
                "titanic",
                version=1,
                as_frame=True,
                # The default parser of scikit-learn 1.9 cannot read this table with pandas 3.1
                # (scikit-learn pull request 34902).
                parser="liac-arff",
                data_home=cache,
                n_retries=1,
                delay=RETRY_AFTER_S,
            ).frame
        except (OSError, HTTPException) as error:
            raise FetchError(
                f"OpenML ({SOURCE}) could not be reached ({one_line(error)}): check the network "
                "or try again later; the twin in data/ needs no network."
            ) from error
        # What scikit-learn raises depends on where an answer is broken: in its compression, its
        # JSON, its checksum, or its shape (a list where an object was expected, a missing key).
        except (EOFError, zlib.error, ValueError, LookupError, TypeError, AttributeError) as error:
            raise FetchError(
                f"OpenML ({SOURCE}) sent an answer that is not the passenger list "
                f"({one_line(error)}): try again later."
            ) from error
    return frame


def one_line(error: BaseException) -> str:
    """Return the error as a short line without a full stop."""
    text = " ".join(str(error).split()) or type(error).__name__
    return (text if len(text) <= 120 else text[:117] + "...").rstrip(".")


def familiar(frame: "pd.DataFrame") -> "pd.DataFrame":
    """Return OpenML's table in the twelve familiar columns, in OpenML's order.

    Raises FetchError when it is not the 1,309 passengers with all their columns.
    """
    try:
        if len(frame) != PASSENGERS:
            raise ValueError(f"{len(frame)} rows, not {PASSENGERS}")
        table = frame[list(COLUMNS.values())].set_axis(list(COLUMNS), axis="columns")
        table = table.astype(dict.fromkeys(("Survived", "Pclass", "SibSp", "Parch"), "int64"))
    except (KeyError, ValueError) as error:
        raise FetchError(
            f"OpenML ({SOURCE}) sent a table that is not the passenger list ({one_line(error)}): "
            "try again later."
        ) from error
    table.insert(0, "PassengerId", range(1, len(table) + 1))
    return table


def write_together(folder: Path, texts: Mapping[str, str]) -> None:
    """Write the files, by name, whole and all of them; after a failure all are as they were."""
    with tempfile.TemporaryDirectory(dir=folder, prefix=".") as place, ExitStack() as undo:
        new, old = Path(place, "new"), Path(place, "old")
        new.mkdir()
        old.mkdir()
        for name, text in texts.items():
            (new / name).write_text(text, encoding="utf-8", newline="")
            if (folder / name).is_file():
                shutil.copy2(folder / name, old / name)
        for name in texts:
            os.replace(new / name, folder / name)
            undo.callback(put_back, old / name, folder / name)
        undo.pop_all()  # nothing failed, so nothing is undone


def put_back(older: Path, path: Path) -> None:
    """Put the older file in its place again; where there was none, remove the new one."""
    if older.is_file():
        os.replace(older, path)
    else:
        path.unlink()


def fetch(folder: Path = FOLDER) -> dict[Path, int]:
    """Fetch the real list and write both files; return each path with its number of rows.

    Raises FetchError when OpenML cannot be reached or the files cannot be written.
    """
    from sklearn.model_selection import train_test_split

    table = familiar(download())
    train, test = train_test_split(
        table, test_size=TEST_SHARE, random_state=SEED, stratify=table["Survived"]
    )
    parts = {folder / "titanic_train.csv": train, folder / "titanic_test.csv": test}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        texts = {
            path.name: part.to_csv(index=False, lineterminator="\n") for path, part in parts.items()
        }
        write_together(folder, texts)
    except OSError as error:
        raise FetchError(
            f"{folder} could not be written ({one_line(error)}): make room or set its permissions."
        ) from error
    return {path: len(part) for path, part in parts.items()}


def main() -> int:
    """Fetch, say where the files are; return 2 after a failure, told in one sentence."""
    print(f"Fetching the passenger list from OpenML ({SOURCE}) ...", flush=True)
    try:
        written = fetch(FOLDER)
    except FetchError as error:
        print(error, file=sys.stderr)
        return 2
    for path, rows in written.items():
        print(f"{path}: {rows} passengers")
    print(
        f"Source: {SOURCE}, compiled by Frank E. Harrell Jr. and Thomas Cason; "
        'OpenML states the licence "Public". Cite the source where you share the files.'
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
