"""A cell that prints nothing for seconds says that it is running, until it prints something."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from typing import Any

import pytest
from jupyter_client.blocking.client import BlockingKernelClient

from lesson.show import waiting_line as waiting
from tests import kernels
from tools.environment.kernel import install_lesson

BEGIN = """
import sys
from lesson.show import waiting_line as waiting
waiting.install(after=0)
waiting.install(after=0)
line = get_ipython().waiting_line
published = []
def note(data, *more, **others):
    published.append(data["text/plain"])
    publish(data, *more, **others)
publish, line._publish = line._publish, note
"""
UNTIL_SHOWN = "published.clear()\nwhile not published: pass\n"


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BlockingKernelClient]:
    profile = tmp_path_factory.mktemp("ipython")
    install_lesson(profile / "profile_default")
    manager, client = kernels.start(env=os.environ | {"IPYTHONDIR": str(profile)})
    assert client.execute_interactive(BEGIN, timeout=60)["content"]["status"] == "ok"
    yield client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def shown(kernel: BlockingKernelClient, code: str) -> list[dict[str, Any]]:
    """What reaches the notebook below a cell."""
    messages = []
    kernel.execute_interactive(code, timeout=60, output_hook=messages.append)
    kinds = ("display_data", "update_display_data", "stream", "error")
    return [
        each["content"] | {"kind": each["msg_type"]}
        for each in messages
        if each["msg_type"] in kinds
    ]


@pytest.mark.parametrize(
    ("end", "after"),
    [("print(1)", ["stream"]), ("1 / 0", ["error"]), ("", []), ("!echo 1", ["stream"])],
)
def test_the_line_is_shown_and_gone_when_the_cell_shows_something_or_ends(
    kernel: BlockingKernelClient, end: str, after: list[str]
) -> None:
    line, *rest = shown(kernel, UNTIL_SHOWN + end)
    assert line["kind"] == "display_data" and line["metadata"] == waiting.MARK
    assert "nothing is printed yet" in line["data"]["text/plain"]
    updates = [each for each in rest if each["kind"] == "update_display_data"]
    assert updates[-1]["data"] == {"text/html": "", "text/plain": ""}
    kinds = [each["kind"] for each in rest if each not in updates]
    assert [kind for kind, _ in itertools.groupby(kinds)] == after  # a line may come in two parts


def test_a_cell_that_has_printed_something_has_no_line(kernel: BlockingKernelClient) -> None:
    shown(kernel, "line._after = 60")
    (printed,) = shown(
        kernel, "print(1, flush=True)\nline._thread.join(30)\nassert line._quiet.is_set()"
    )
    assert printed["text"] == "1\n"
