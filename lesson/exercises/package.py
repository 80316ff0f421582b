"""The exercises of episode 16, Build a package."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from lesson.exercises import Exercise
from lesson.exercises.kinds.functions import function, number
from lesson.exercises.kinds.letters import in_order, one_each, some

files = one_each(
    "TMTT",
    "TM",
    wrong=[
        "first piece: model.py gets the value, and need not know where it is from.",
        "second piece: what training makes small belongs to the machine learning.",
        "third piece: it is the job that is part of a study; the network is not.",
        "fourth piece: where results go differs from job to job.",
    ],
    praise="task.py handles the job: flags, reports and folders. model.py has the machine "
    "learning, and so the loss.",
    advice="ask of each: would it be needed in the same form if nobody rented a machine?",
)

PREDICTED, FARES = np.array([10.0, 20.0, 30.0, 40.0]), np.array([13.0, 20.0, 34.0, 40.0])


def _judge_rmse(rmse: Callable[..., Any]) -> str:
    value = number(rmse, PREDICTED.copy(), FARES.copy())
    if abs(value - 2.5) < 1e-6:
        return ""
    for wrong, why in {
        6.25: "that is the mean squared error, in squared dollars: its root is in dollars.",
        25.0: "that is the sum of the squares: take their mean, and its root.",
        5.0: "that is the root of the sum: take the mean first.",
        1.75: "that is the mean absolute error; the squares are missing.",
        -1.75: "errors up and down cancel out: square them.",
        1.75**0.5: "that is the root of the mean absolute error; the squares are missing.",
    }.items():
        if abs(value - wrong) < 1e-6:
            return why
    return f"for errors of 3, 0, 4 and 0 dollars it is 2.5, the root of 25 / 4; yours is {value:g}."


rmse = function(
    _judge_rmse,
    "The RMSE is in dollars, and one large error counts more than several small ones.",
    "its name, read from its end: error, squared, mean, root.",
)


def _judge_built(name: str) -> str:
    given = name.strip().rpartition("/")[2]
    if given == "__init__.py":
        return ""
    return {
        "model.py": "it may have any name; find_packages() does not look for it.",
        "task.py": "the job starts it, but find_packages() does not look for it.",
        "pyproject.toml": "that belongs to the project, not into each folder.",
        "setup.py": "that calls find_packages(); it does not belong into each folder.",
    }.get(given, "it is one of the files in the archive.")


built = Exercise(
    str,
    _judge_built,
    "find_packages() returns only the folders that have this file, which may be empty.",
    "which of the files in examples/taxifare/trainer has almost nothing in it?",
)

steps = in_order(
    [
        ("E", "D", "the archive is built from the package: first move the code."),
        ("D", "B", "there is no archive to upload before it is built."),
        ("B", "A", "the job installs the archive: it has to be in the bucket."),
        ("C", "A", "the job reads the data: it has to be in the bucket."),
    ],
    {},
    praise="The data, and the archive made from the package, have to be in the bucket before the "
    "job that reads them.",
    advice="what does the job read when it begins, and what is each of these made from?",
)

settings = some(
    {
        "A": "a job runs in some Region.",
        "C": "in the list of jobs each has a name.",
        "D": "without them the service does not know which machines to start.",
    },
    {
        "B": "a custom container brings its code with it.",
        "E": "a prebuilt container is an image of Google's.",
    },
    praise="Both have a region, a name and worker pools. The image, and the package or the "
    "command, are parts of a pool.",
    advice="leave out what only one of the two kinds of containers has.",
)

CHIEF, WORKERS = ("n1-standard-16", 1), ("n1-standard-8", 3)


def _pool(spec: Any) -> tuple[Any, Any]:
    """Return the machine type and the number of replicas of a worker pool.

    Return None where it lacks them.
    """
    machine = spec.get("machine_spec") if isinstance(spec, Mapping) else None
    if not isinstance(machine, Mapping):
        return None, None
    return machine.get("machine_type"), spec.get("replica_count")


def _judge_pools(answer: Any) -> str:
    listed = answer if isinstance(answer, list | tuple) else [answer]
    pools = [_pool(each) for each in listed]
    if not pools or None in pools[0]:
        return "the answer is a list of what pool() returns."
    if pools == [CHIEF, WORKERS]:
        return ""
    if pools == [WORKERS, CHIEF]:
        return "the place is the role: the first pool is the chief's."
    if pools == [CHIEF, (WORKERS[0], 1)] or pools == [CHIEF, *[(WORKERS[0], 1)] * 3]:
        return "the three workers are one pool of three replicas."
    if pools == [CHIEF]:
        return "where are the workers?"
    return f"these are {pools}; needed are {[CHIEF, WORKERS]}."


pools = Exercise(
    object,
    _judge_pools,
    "The place in the list is the role: the chief is first, alone.",
    "it is a list of two pools; pool() takes the machine type and the number of replicas.",
    kind="write",
)

BATCH = 240


def _judge_share(answer: int) -> str:
    if answer == BATCH // (CHIEF[1] + WORKERS[1]):
        return ""
    return {
        BATCH // WORKERS[1]: "the chief trains too.",
        BATCH: "so many do all of them together.",
        BATCH // 2: "there are two pools, but more replicas.",
    }.get(answer, "how many replicas has the job, the chief included?")


share = Exercise(
    int,
    _judge_share,
    "The chief trains too, so four replicas share the 240 rides.",
    "--batch_size counts the rides of all replicas together.",
    unit="rides",
)
