"""Watching a job as learners do: in a terminal, and in a notebook that is interrupted."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from queue import Empty
from typing import Any

import pytest
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager

from GCP_helpers import train
from lesson.jobs.runs import Run
from local_cloud import Status
from tests import kernels
from tests.watching import ROOT, SECONDS

LONG = {"epochs": 10_000_000, "patience": 0}


@pytest.fixture
def long(data: dict[str, str]) -> Iterator[Run]:
    """A job that runs until it is ended."""
    run = train({**data, **LONG}, wait=False)
    yield run
    run.job.cancel()


# ---- a real kernel ------------------------------------------------------------------------------
Kernel = tuple[KernelManager, BlockingKernelClient]


@pytest.fixture(scope="module")
def kernel(cloud: Status, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    """A real IPython kernel in a process of its own, connected, and its client."""
    manager, client = kernels.start(
        env=os.environ | {"PYTHONPATH": str(ROOT), "LESSON_TARGET": "local"},
        cwd=str(tmp_path_factory.mktemp("notebook")),
    )
    client.execute("from GCP_helpers import *; connect()", reply=True, timeout=SECONDS)
    list(messages(client))
    yield manager, client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def messages(client: BlockingKernelClient) -> Iterator[dict[str, Any]]:
    """What the kernel says about the cell that it runs."""
    while True:
        try:
            message: dict[str, Any] = client.get_iopub_msg(timeout=SECONDS)
        except Empty:
            raise AssertionError("the kernel is silent") from None
        if message["content"].get("execution_state") == "idle":
            return
        yield message


def test_in_a_notebook_one_output_changes_and_ends_with_the_last_state(
    data: dict[str, str], kernel: Kernel
) -> None:
    _, client = kernel
    client.execute(f"run = train({ {**data, 'epochs': 1000, 'patience': 0} })")
    shown = [each for each in messages(client) if "display_data" in each["msg_type"]]
    kinds = [each["msg_type"] for each in shown]
    assert kinds[0] == "display_data" and set(kinds[1:]) == {"update_display_data"}
    assert len({each["content"]["transient"]["display_id"] for each in shown}) == 1
    last = shown[-1]["content"]["data"]
    assert 'value="1.000"' in last["text/html"] and "<progress" in last["text/html"]
    assert re.search(r"\] succeeded  epoch 1000 of 1000 .* about \$", last["text/plain"])
    points = re.search(r'points="([^"]+)"', last["text/html"])
    assert points and len(points[1].split()) == 251  # of every fourth epoch, and of the last
    assert "in epoch 1, " in last["text/html"] and "in epoch 1000<" in last["text/html"]


def test_an_interrupted_cell_ends_with_one_sentence_and_no_traceback(
    long: Run, kernel: Kernel
) -> None:
    manager, client = kernel
    client.execute(f"wait({long.job.display_name!r})")
    interrupted, errors = False, []
    for message in messages(client):
        if "running" in str(message["content"].get("data")) and not interrupted:
            interrupted = True
            manager.interrupt_kernel()  # Jupyter's stop button
        if message["msg_type"] == "error":
            errors.append(message["content"]["traceback"])
    (lines,) = errors
    assert len(lines) == 1 and lines[0].startswith("LessonError: no longer watching, but train-nn-")
    assert long.job.state.name == "JOB_STATE_RUNNING"
