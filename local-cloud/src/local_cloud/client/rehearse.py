"""Ask a local cloud to rehearse a failure: what clients do. Standard library only."""

from __future__ import annotations

import http.client
import operator
from collections.abc import Iterable, Sequence
from typing import Any

from local_cloud.client import control
from local_cloud.client.failures import FAILURES, JOB, SPOT_STOP
from local_cloud.client.home import Home
from local_cloud.client.target import require_local
from local_cloud.errors import LocalCloudError

MOST_STOPS = 100  # in one rehearsal
LAST_EPOCH = 10**9
LONGEST_WAIT = 3600.0  # seconds of slow provisioning


def rehearse(
    what: str | int | Sequence[int] | None = None,
    home: Home | None = None,
    *,
    epoch: int | Sequence[int] | None = None,
    name: str = "",
    every: bool = False,
    seconds: float | None = None,
) -> str:
    """Make the next job in the local cloud fail, to see the failure and to practise its fix.

    `what` names it: "no quota", "role not assumable", "image retired", "bucket in another region",
    "out of memory", "lost worker", "slow provisioning", "wrong metric tag" (of a tuning job),
    "endpoint never healthy", "spot stop". It happens once, to the next job (tuning job, endpoint)
    that you send; with `name`, to the next one of this name; with `every`, to all of them.
    `seconds`: of slow provisioning, instead of what the service takes.

    An epoch, or several, mean a spot stop: the spot job that runs now, or the next one that you
    send, is interrupted when its log says this epoch or a later one. A rehearsal is kept until it
    happens; rehearse(None) cancels all of them. Starts the local cloud if necessary. Returns what
    will happen, in a sentence. Raises LocalCloudError for a failure that cannot be rehearsed, and
    if the target is the cloud.
    """
    failure = what if isinstance(what, str) and what != SPOT_STOP else None
    epochs: list[int] = []
    if failure is not None:
        _check(failure, seconds)
        if epoch is not None:
            raise LocalCloudError(f"{failure!r} has no epoch: only {SPOT_STOP!r} has")
    else:
        if name or every or seconds is not None:
            raise LocalCloudError("name, every and seconds work only with a failure that is named")
        epochs = _epochs((1 if epoch is None else epoch) if what == SPOT_STOP else what, epoch)
    require_local("and only the local cloud can rehearse failures; unset it to rehearse")
    server = control.start(home) if home else control.in_use()
    if failure is not None:
        wanted = {"failure": failure, "name": name, "every": every, "seconds": seconds}
        _send(server, wanted)
        return _sentence(failure, name, every)
    replaced = _send(server, {"epochs": epochs})["replaced"]
    if epochs:
        return (
            "The spot job that runs now, or else the next one that you send, will be interrupted"
            f" {_at(epochs)}."
        )
    return "The rehearsal is cancelled." if replaced else "There was no rehearsal to cancel."


def table() -> str:
    """Return all failures that can be rehearsed, one a line."""
    width = max(map(len, FAILURES))
    lines = [f"  {name:{width}}  {failure.what}" for name, failure in FAILURES.items()]
    return "\n".join([*lines, f"  {SPOT_STOP:{width}}  Spot machines are taken away."])


def _send(server: control.Status, wanted: dict[str, Any]) -> dict[str, Any]:
    try:
        return control.ask(
            server.port, f"/{server.home.secret()}/rehearse", method="POST", body=wanted
        )
    except (OSError, ValueError, http.client.HTTPException) as problem:
        raise LocalCloudError(
            f"the running local cloud supports no rehearsals ({problem}): run `python -m"
            " local_cloud stop`, then start it again"
        ) from None


def _check(failure: str, seconds: float | None) -> None:
    if failure not in FAILURES:
        raise LocalCloudError(
            f"{failure!r} is not a failure that can be rehearsed: use one of"
            f" {', '.join([*FAILURES, SPOT_STOP])}, or an epoch for a spot stop"
        )
    number = isinstance(seconds, int | float) and 0 <= seconds <= LONGEST_WAIT
    if seconds is not None and not number:
        raise LocalCloudError(f"seconds={seconds!r}: give a number from 0 to {LONGEST_WAIT:g}")


def _sentence(failure: str, name: str, every: bool) -> str:
    meets = FAILURES[failure].meets
    which = f"{meets} that you send" if meets == JOB else meets
    if name:
        which += f" named {name!r}"
    subject = f"Every {which}, until you call rehearse(None)," if every else f"The next {which}"
    return f"{subject} will have this failure: {failure}. {FAILURES[failure].what}"


def _epochs(what: Any, epoch: Any) -> list[int]:
    """Return the epochs, sorted; none where the rehearsal is taken back."""
    if what is not None and epoch is not None and what is not epoch:
        raise LocalCloudError("give the epoch once")
    given = epoch if what is None else what
    listed = [] if given is None else list(given) if isinstance(given, Iterable) else [given]
    try:
        epochs = sorted(map(operator.index, listed))
    except TypeError:
        raise LocalCloudError(
            f"{given!r} is not an epoch: give a number, several, or None"
        ) from None
    if (given is not None and not epochs) or any(isinstance(each, bool) for each in listed):
        raise LocalCloudError(f"{given!r} names no epoch: give a number, several, or None")
    if any(not 1 <= each <= LAST_EPOCH for each in epochs) or len(epochs) > MOST_STOPS:
        raise LocalCloudError(
            f"{given!r}: give epochs from 1 to {LAST_EPOCH:,}, {MOST_STOPS} of them at most"
        )
    return epochs


def _at(epochs: list[int]) -> str:
    if len(epochs) == 1:
        return f"once, at epoch {epochs[0]}"
    return f"{len(epochs)} times, at epochs {', '.join(map(str, epochs[:-1]))} and {epochs[-1]}"
