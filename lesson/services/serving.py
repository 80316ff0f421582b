"""What deploying a model is on both clouds: the program, the predictions, and what it costs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lesson import LessonError, target
from lesson.jobs.code import FOLDER
from lesson.jobs.runs import Run
from lesson.money.costs import Estimate, PriceUnknown, dollars

PROGRAMS = (FOLDER / "serve_nn.py", FOLDER / "train_nn.py")  # answers, and defines the network


def require_trained(run: Any) -> Run:
    """Return the run, if train() or wait() has returned it with its results."""
    if not isinstance(run, Run) or run.job is None or run.copy is None:
        raise LessonError(
            "deploy() takes what train() returned, of a job that has succeeded: call wait(run)"
        )
    return run


def missing_programs(run: Run) -> list[Path]:
    """Return the lesson's programs for what is not beside the model of a run: an older one's."""
    return [program for program in PROGRAMS if not (run.folder / program.name).exists()]


def require_share(endpoint: Any, traffic: int) -> None:
    """Refuse a share of the requests that a model cannot get."""
    if not 0 <= traffic <= 100:
        raise LessonError(f"traffic={traffic}: name a percentage from 0 to 100")
    if endpoint is None and traffic != 100:
        raise LessonError(
            f"traffic={traffic}: the first model of an endpoint gets all requests; for a share of "
            "those of an earlier deploy() name its endpoint"
        )


def state_price(service: str, estimated: Callable[[], Estimate]) -> None:
    """Say before a model is deployed what it costs until it is removed."""
    try:
        made = estimated()
    except PriceUnknown as unknown:
        if target() == "cloud":
            raise
        print(f"{unknown}; under LESSON_TARGET=cloud this model would not be deployed")
        return
    here = "" if target() == "cloud" else "; here it costs nothing"
    print(
        f"on {service} this costs about {per_day(made)} at list price, with or without requests,"
        f" until cleanup(dry_run=False) removes it{here}"
    )


def per_day(made: Estimate) -> str:
    """Return what machines cost that run day and night."""
    return f"{dollars(24 * made.usd_per_hour)} a day"


def billing(an_hour: Callable[[], Estimate]) -> str:
    """Say what a part of an endpoint costs, as far as it is known."""
    try:
        return f"bills about {per_day(an_hour())}"
    except PriceUnknown:
        return "bills by the hour"


def as_list(instances: Any) -> list[Any]:
    """Return instances as a list; raise LessonError for what is none, such as one passenger."""
    if isinstance(instances, Mapping | str) or not isinstance(instances, Iterable):
        raise LessonError("predict() takes a list of instances: write [passenger]")
    plain_instances = [plain(each) for each in instances]
    if not plain_instances:
        raise LessonError("predict() takes at least one instance")
    return plain_instances


def plain(instance: Any) -> Any:
    """Return an instance as JSON can hold it: of an array a list, of a gap None."""
    if hasattr(instance, "tolist"):
        instance = instance.tolist()
    if isinstance(instance, Mapping):
        return {name: plain(value) for name, value in instance.items()}
    if isinstance(instance, Sequence) and not isinstance(instance, str):
        return [plain(value) for value in instance]
    return None if _is_gap(instance) else instance


def _is_gap(value: Any) -> bool:
    """NaN, which is not itself, or pandas' NA, which has no truth value."""
    return type(value).__name__ == "NAType" or bool(value != value)


def whole_classes(predictions: Iterable[Any]) -> list[Any]:
    """Return predictions with their classes as whole numbers: a service may send 1.0."""
    predictions_out = []
    for each in predictions:
        if isinstance(each, Mapping) and "class" in each:  # a regression has none
            predictions_out.append({**each, "class": int(each["class"])})
        else:
            predictions_out.append(each)
    return predictions_out
