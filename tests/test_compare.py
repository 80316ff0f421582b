"""The main job, `make lesson`, in a folder of its own and against this worker's local cloud."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch

from local_cloud import Status

ROOT = Path(__file__).parents[1]
HERE = "import pathlib, sys; from tools import compare; sys.exit(compare.main(pathlib.Path('.')))"
PLACES = {"this-machine": [1], "vertex-ai": [1, 2], "sagemaker": [1, 2]}


def main_job(folder: Path, target: str = "local") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", HERE],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT), "LESSON_TARGET": target},
        capture_output=True,
        text=True,
    )


@pytest.fixture(scope="module")
def done(
    cloud: Status, tmp_path_factory: pytest.TempPathFactory
) -> tuple[subprocess.CompletedProcess[str], Path]:
    """The main job, done once, and the folder where it was done."""
    folder = tmp_path_factory.mktemp("lesson")
    job = main_job(folder)
    assert job.returncode == 0, job.stdout + job.stderr
    return job, folder


def metrics(results: Path) -> dict[str, Any]:
    written: dict[str, Any] = json.loads((results / "metrics.json").read_text())
    return written


def results(folder: Path) -> dict[str, list[Path]]:
    """The folders of the runs' results by place, in the order in which they were made."""
    return {place: sorted((folder / "runs").glob(f"*-{place}")) for place in PLACES}


def test_it_ends_with_a_row_of_each_run_and_two_pictures(
    done: tuple[subprocess.CompletedProcess[str], Path],
) -> None:
    job, folder = done
    table, ending = job.stdout.split("\n\n")[-2:]
    heads, *rows = table.splitlines()
    assert heads.split() == [
        "place", "machine", "replicas", "queued", "starting", "training", "seconds", "cost",
        "accuracy", "loss",
    ]  # fmt: skip
    places = [row.strip().partition(" (local")[0].partition("  ")[0] for row in rows]
    assert places[1:] == ["Vertex AI", "Vertex AI", "SageMaker", "SageMaker"]
    assert places[0].startswith("this machine")
    assert len({row.split()[-2] for row in rows}) == 1
    why, _, *pictures, following = ending.splitlines()
    assert why.startswith("The accuracy is the same in every row: ") and "make lab" in following
    for line in pictures:
        assert (folder / line.partition(": ")[2]).read_bytes().startswith(b"\x89PNG")
    assert len(pictures) == 2


def test_every_place_and_number_of_machines_gives_the_same_weights(
    done: tuple[subprocess.CompletedProcess[str], Path],
) -> None:
    by_place = results(done[1])
    assert {place: len(runs) for place, runs in by_place.items()} == {
        place: len(sizes) for place, sizes in PLACES.items()
    }
    models = [torch.load(run / "model.pt")["model"] for runs in by_place.values() for run in runs]
    for model in models[1:]:
        for name, weights in models[0].items():
            torch.testing.assert_close(model[name], weights, rtol=0, atol=1e-5)


def test_every_run_tells_how_many_machines_shared_the_rows(
    done: tuple[subprocess.CompletedProcess[str], Path],
) -> None:
    by_place = results(done[1])
    for place, sizes in PLACES.items():
        told = [metrics(run) for run in by_place[place]]
        assert [each["world_size"] for each in told] == sizes
        for each in told:
            rows = [replica["rows"] for replica in each["replicas"]]
            assert rows[0]["start"] == 0 and len(rows) == each["world_size"]
            assert all(before["stop"] == after["start"] for before, after in pairwise(rows))


def test_it_says_in_one_sentence_what_is_in_its_way(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("a file where a folder belongs")
    done = main_job(tmp_path)
    assert done.returncode != 0 and done.stderr.count("\n") == 1
    assert done.stderr.startswith("lesson: runs/data cannot be written")


def test_it_ends_in_one_sentence_when_the_target_is_wrong(tmp_path: Path) -> None:
    done = main_job(tmp_path, "moon")
    assert done.stderr == "lesson: LESSON_TARGET is 'moon'; set it to local or cloud, or unset it\n"
