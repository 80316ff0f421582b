"""The flags with which a job's program was started, as its request has them."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Sequence
from typing import Any

from local_cloud.console.records.jobs import SAGEMAKER, Shown

EPOCHS = ("epochs", "num_epochs", "num-epochs", "max_epochs", "max-epochs")


def of(shown: Shown) -> dict[str, str]:
    """Return the value of each flag; those that SDKs add for themselves are left out."""
    request = shown.request
    if shown.job.dialect.startswith(SAGEMAKER):
        sent = request.get("HyperParameters") or {}
        own = {name: value for name, value in sent.items() if name[:1] != "_"}
        return {
            name: _plain(value) for name, value in own.items() if not name.startswith("sagemaker_")
        }
    pools = request.get("workerPoolSpecs") or [{}]
    spec = pools[0].get("pythonPackageSpec") or pools[0].get("containerSpec") or {}
    return parse([*_command(spec.get("command") or ()), *(spec.get("args") or ())])


def epochs(flags: dict[str, str]) -> int | None:
    """Return for how many epochs a job trains at most; None if no flag says it."""
    for name in EPOCHS:
        if flags.get(name, "").removesuffix(".0").isdecimal():
            return int(flags[name].removesuffix(".0"))
    return None


def parse(words: Sequence[Any]) -> dict[str, str]:
    """Return the flags of a command: --a=1, --a 1, --a; a trial's come last, and count."""
    flags: dict[str, str] = {}
    rest = iter([*map(str, words), ""])
    word = next(rest)
    for after in rest:
        if word.startswith("--"):
            name, has_value, value = word[2:].partition("=")
            if has_value:
                flags[name] = value
            else:
                flags[name] = "" if after.startswith("--") else after
        word = after
    return flags


def _command(words: Sequence[str]) -> list[str]:
    """Return a command in words; the last of a shell's, which the SDK has install packages first.

    Source: CustomJob.from_local_script of google-cloud-aiplatform 2.7.
    """
    if list(words[:2]) not in (["sh", "-c"], ["/bin/sh", "-c"]):
        return list(words)
    try:
        return shlex.split(words[2].rpartition("&&")[2])
    except (IndexError, ValueError):
        return []


def _plain(value: Any) -> str:
    """Return a value without the quotes in which SageMaker's second SDK sends it."""
    try:
        read = json.loads(value)
    except (TypeError, ValueError):
        return str(value)
    return read if isinstance(read, str) else str(value)


def names(flags: Iterable[dict[str, str]]) -> list[str]:
    """Return the names of all flags, in the order in which they come."""
    return list(dict.fromkeys(name for one in flags for name in one))
