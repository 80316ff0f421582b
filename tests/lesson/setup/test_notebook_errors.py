"""What a kernel says when a job's cell is interrupted, and when it was restarted."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import Empty

import pytest
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager

from local_cloud import Status
from tests import kernels
from tools.environment.kernel import install_lesson

VERTEX = """
import GCP_helpers
session = GCP_helpers.connect()
from google.cloud import aiplatform
job = aiplatform.CustomTrainingJob("slow-one", script_path={script!r},
    container_uri="us-docker.pkg.dev/vertex-ai/training/pytorch-cpu.2-4.py310:latest")
job.run(base_output_dir=session.uri + "/runs/slow")
"""
SAGEMAKER = """
import AWS_helpers
session = AWS_helpers.connect()
from sagemaker.core.shapes import OutputDataConfig
from sagemaker.train import ModelTrainer
from sagemaker.train.configs import Compute, SourceCode
trainer = ModelTrainer(training_image="pytorch-training:2.10-cpu-py313", role=session.role,
    source_code=SourceCode(source_dir={folder!r}, entry_script="slow.py"),
    compute=Compute(instance_type="ml.m5.xlarge", instance_count=1),
    output_data_config=OutputDataConfig(s3_output_path=session.uri + "/runs"))
trainer.train()
"""


@pytest.fixture
def slow(tmp_path: Path) -> Path:
    """A script that says that it runs, and never ends."""
    script = tmp_path / "script" / "slow.py"
    script.parent.mkdir()
    script.write_text(
        "import pathlib, threading\n"
        f"pathlib.Path({str(tmp_path / 'runs')!r}).touch()\nthreading.Event().wait()\n"
    )
    return script


@contextmanager
def kernel(folder: Path, **more: str) -> Iterator[tuple[KernelManager, BlockingKernelClient]]:
    """A kernel as `make setup` prepares it, started where the lesson is not."""
    install_lesson(folder / "ipython/profile_default")
    environment = {**os.environ, "IPYTHONDIR": str(folder / "ipython"), **more}
    manager, client = kernels.start(cwd=str(folder), env=environment)
    try:
        yield manager, client
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def shown(
    client: BlockingKernelClient, code: str, meanwhile: Callable[[], None] = lambda: None
) -> tuple[str, str]:
    """The reply's status, and the error that the cell shows."""
    sent = client.execute(code, stop_on_error=False)  # else the next cell may be aborted
    for _ in range(6):  # an interrupt is lost where Python ignores exceptions: press again
        meanwhile()
        with suppress(Empty):
            answers = iter(lambda: client.get_shell_msg(timeout=20), None)
            reply = next(each for each in answers if each["parent_header"].get("msg_id") == sent)
            break
    return reply["content"]["status"], "\n".join(reply["content"].get("traceback", ()))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cell", "name", "helpers"),
    [(VERTEX, "slow-one", "GCP_helpers"), (SAGEMAKER, r"[\w-]+", "AWS_helpers")],
    ids=["Vertex AI", "SageMaker"],
)
def test_an_interrupted_wait_says_that_the_job_runs_and_how_to_cancel_it(
    cell: str, name: str, helpers: str, cloud: Status, slow: Path, tmp_path: Path
) -> None:
    assert cloud
    code = cell.format(script=str(slow), folder=str(slow.parent))
    with kernel(tmp_path) as (manager, client):

        def interrupt() -> None:
            while not (tmp_path / "runs").exists():
                assert manager.is_alive()
                time.sleep(0.05)
            manager.interrupt_kernel()

        status, said = shown(client, code, interrupt)
        match = re.fullmatch(
            r"\w+: interrupted: the notebook no longer waits, but the job "
            rf"({name}) continues to run\. To cancel it: (import {helpers}; .*)",
            said,
        )
        assert status == "error"
        assert match, said[-2000:]
        assert shown(client, match[2]) == ("ok", "")


def test_after_a_restart_a_cell_says_which_cell_to_run(tmp_path: Path) -> None:
    cells = [
        "import lesson\n\nlesson.opening()",
        "%time 1",
        "# Names.\nfrom json import loads as x",
    ]
    book = tmp_path / "01-a.ipynb"
    book.write_text(json.dumps({"cells": [{"cell_type": "code", "source": c} for c in cells]}))
    with kernel(tmp_path, JPY_SESSION_NAME=str(book)) as (_, client):
        status, said = shown(client, "x('1')")
        assert status == "error"
        assert said.startswith("NameError: x is not defined. Did the kernel restart?")
        assert "\n    from json import loads as x\n" in said
        status, said = shown(client, "def f():\n    return nowhere\nf()")
        assert "Traceback" in said and "nowhere" in said
        assert shown(client, cells[0]) == ("ok", "")
        assert shown(client, "1 / 0")[1].count("ZeroDivisionError") == 2


def test_an_answer_without_quotes_is_told_to_have_some(tmp_path: Path) -> None:
    with kernel(tmp_path) as (_, client):
        status, said = shown(client, "letters = BCA  # None\n\nexercises.order.check(letters)")
        assert status == "error"
        assert said == (
            'NameError: BCA is not defined. If it is your answer, put it in quotes: "BCA"'
        )
        for other in ("letters = BCA", "letters = f(BCA)\nexercises.order.check(letters)"):
            assert "Traceback" in shown(client, other)[1]
