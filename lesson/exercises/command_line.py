"""The exercises of episode 18, The command lines."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from lesson.exercises import Exercise
from lesson.exercises.kinds.letters import one_each, some

which = one_each(
    "BACB",
    "ABC",
    wrong=[
        "first case: 400 files are there already, and are the same.",
        "second case: it is one file, and it is new.",
        "third case: nothing is copied.",
        "fourth case: a file that is gone here is to be gone there, too.",
    ],
    praise="rsync and sync compare first, and copy what differs; cp copies, whatever is there.",
    advice="ask of each: is there already a copy, of which most is right?",
)

needs = some(
    {
        "A": "of A: every URL of Vertex AI names a region.",
        "C": "of C: how would you find the job in a list?",
        "D": "of D: how would the service know which machine runs which code?",
    },
    {
        "B": "of B: the name of a bucket is in the URIs of your flags, if they have any.",
        "E": "of E: it is counted in the worker pool, and is 1 if it is not there.",
    },
    praise=(
        "The service has to know the region, the name, and what runs on which machines; "
        "the pools may be in the file."
    ),
    advice="which of them would the service have to guess, if you left it out?",
)


def _judge_epochs(given: Any) -> str:
    flags = [given] if isinstance(given, str) else given
    if not isinstance(flags, list | tuple) or not all(isinstance(flag, str) for flag in flags):
        return "the answer is a list of flags, each a text in quotes."
    flags = [flag.strip().replace(" ", "=") for flag in flags]
    if flags == ["--epochs=5"]:
        return ""
    if "--epochs=50" in flags and "--epochs=5" not in flags:
        return "an option of the command line counts more than the file."
    if len(flags) > 1:
        return "the two lists are not joined: --args replaces the whole field of the file."
    return "which flags stand behind --args on the command line?"


epochs = Exercise(
    object,
    _judge_epochs,
    "--args replaces the field args, all of it: name every flag that the job still needs.",
    "is it the flag --epochs that the command line overrides, or the field args?",
)


def _judge_overridden(record: Any) -> str:
    spec = record.get("jobSpec") if isinstance(record, Mapping) else None
    pools = spec.get("workerPoolSpecs") if isinstance(spec, Mapping) else None
    if not pools:
        return "the answer is what recorded(name) returns."
    flags = pools[0].get("pythonPackageSpec", {}).get("args", [])
    words = [word for flag in flags for word in str(flag).split("=", 1)]  # "--epochs", "5" as well
    if ("--epochs", "5") not in pairwise(words):
        return f"its flags are {' '.join(flags)}: --epochs=5 is not among them."
    missing = [name for name in ("train", "val") if f"--{name}" not in words]
    if missing:
        return f"it has no --{missing[0]}: --args replaces all flags of the file."
    return ""


overridden = Exercise(
    object,
    _judge_overridden,
    "The file is as it was, and serves for the next job.",
    "the flags are in the file, under args; put them behind --args=, with a comma between two.",
    kind="send",
)
