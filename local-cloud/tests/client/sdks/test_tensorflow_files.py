"""TensorFlow's gs://: a folder in a job of Vertex AI, and refused by name elsewhere."""

from __future__ import annotations

import os
import subprocess
import types
from pathlib import Path

import pytest

from local_cloud import LocalCloudError
from local_cloud.client.sdks import tensorflow_files
from testing.other_environments import SOURCE, tool

PROGRAM = Path(__file__).with_name("tensorflow_calls.py")


def run(**environment: str) -> dict[str, str]:
    """What each call of the program said, in an environment with TensorFlow."""
    own = {name: text for name, text in os.environ.items() if name != "LOCAL_CLOUD_GCS"}
    done = subprocess.run(
        [tool("tensorflow", "python"), PROGRAM, "bucket"],
        env=own | {"PYTHONPATH": str(SOURCE)} | environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    lines = [line.partition(" ") for line in done.stdout.splitlines()]
    return {name: said for name, _, said in lines if name in CALLS}


CALLS = ("write", "find", "records", "in_a_graph", "checkpoint", "keras")
FOLDER = "gs://bucket/deep/folder"


@pytest.mark.slow
def test_in_a_job_everything_works(tmp_path: Path) -> None:
    (tmp_path / "bucket").mkdir()
    assert run(LOCAL_CLOUD_GCS=str(tmp_path)) == {
        "write": "gs://contents",
        "find": f"(True, ['{FOLDER}/a.txt', '{FOLDER}/b.txt'])",
        "records": "[b'record']",
        "in_a_graph": "[b'text']",
        "checkpoint": f"('{FOLDER}/checkpoints/c-1', 3.0)",
        "keras": "(3, ['serve', 'serving_default'])",
    }
    assert (tmp_path / "bucket/deep/folder/saved/saved_model.pb").exists()


@pytest.mark.slow
def test_elsewhere_nothing_is_sent_and_the_sentence_says_what_works() -> None:
    answers = run()
    in_a_graph = answers.pop("in_a_graph")
    for said in answers.values():
        assert said.startswith(f"LocalCloudError TensorFlow would read or write {FOLDER}"), said
    assert "TensorFlow's gs:// is not part of the local cloud outside of a job" in in_a_graph


@pytest.fixture
def functions(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """A module like the one behind tf.io.gfile, which says what it was given."""
    module = types.ModuleType("_pywrap_file_io")
    vars(module)["FileExists"] = lambda path: path
    vars(module)["GetMatchingFiles"] = lambda pattern: [pattern, b"/elsewhere"]
    monkeypatch.delenv("LOCAL_CLOUD_GCS", raising=False)
    tensorflow_files.map_calls(module)
    return module


def test_a_uri_becomes_a_path_and_a_found_path_a_uri(
    functions: types.ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCAL_CLOUD_GCS", "/gcs")
    assert functions.FileExists("gs://b/a.txt") == "/gcs/b/a.txt"
    assert functions.FileExists(b"gs://b/a.txt") == b"/gcs/b/a.txt"
    assert functions.FileExists("/tmp/gs://b") == "/tmp/gs://b"
    assert functions.GetMatchingFiles(b"gs://b/*") == [b"gs://b/*", b"/elsewhere"]


def test_without_the_buckets_folder_a_uri_is_refused_by_name(functions: types.ModuleType) -> None:
    with pytest.raises(LocalCloudError, match=r"write gs://b/a\.txt .* www\.googleapis\.com alone"):
        functions.FileExists(b"gs://b/a.txt")
    assert functions.FileExists(b"/local/a.txt") == b"/local/a.txt"


def test_an_operation_that_runs_at_once_may_be_called_by_the_names_of_tensorflow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """TensorFlow 2.15 does, where a saved model is loaded: tensorflow/python/eager/execute.py."""

    def quick_execute(op_name, num_outputs, inputs, attrs, ctx, name=None):  # type: ignore[no-untyped-def]
        return op_name, num_outputs, inputs, attrs, ctx, name

    module = types.ModuleType("execute")
    vars(module)["execute"] = quick_execute
    monkeypatch.setenv("LOCAL_CLOUD_GCS", "/gcs")
    tensorflow_files.map_eager(module)
    rows = module.execute("f", num_outputs=1, inputs=["gs://b/a"], attrs=None, ctx=2)
    assert rows == ("f", 1, ["gs://b/a"], None, 2, None)  # no operation that opens files
    rows = module.execute(b"ReadFile", num_outputs=1, inputs=["gs://b/a"], attrs=None, ctx=2)
    assert rows == (b"ReadFile", 1, ["/gcs/b/a"], None, 2, None)
