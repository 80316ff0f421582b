"""Pipelines as graphs: what each task waits for, and where it is drawn. Both clouds' documents."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from local_cloud.console.records.resources import state
from local_cloud.console.site.tables import Cell
from local_cloud.json_types import Json

WIDTH, HEIGHT, ACROSS, DOWN = 190, 52, 24, 44  # of a box, and between boxes
REFERENCE = re.compile(r"\bSteps\.([A-Za-z0-9-]+)")
LONGEST = 22  # letters of a name in a box


@dataclass(frozen=True)
class Task:
    """A task, or a step, as it stands."""

    name: str
    needs: frozenset[str]
    state: Cell
    job: str = ""  # of the engine, the latest
    started: float | None = None
    ended: float | None = None
    message: str = ""
    kind: str = ""


@dataclass(frozen=True)
class Box:
    """Where a task is drawn."""

    task: Task
    x: int
    y: int
    text: str
    width: int = WIDTH
    height: int = HEIGHT


@dataclass(frozen=True)
class Graph:
    """All boxes, the lines between them as SVG's paths, and in words what waits for what."""

    boxes: Sequence[Box]
    lines: Sequence[str]
    width: int
    height: int
    told: str = field(default="")


NOT_BEGUN = Cell("Not started", chip="off")


def of_vertex(job: Json, details: Mapping[str, Json]) -> list[Task]:
    """Return the tasks of a pipeline job; details: those that have begun, by their names."""
    dag = job.get("pipelineSpec", {}).get("root", {}).get("dag", {}).get("tasks", {})
    tasks = []
    for name, task in dag.items():
        needs = {*task.get("dependentTasks", []), *_producers(task.get("inputs", {}))}
        known = details.get(name, {})
        jobs = known.get("jobs") or [""]
        tasks.append(
            Task(
                name,
                frozenset(needs & dag.keys()),
                state(known["state"]) if known else NOT_BEGUN,
                jobs[-1],
                known.get("started"),
                known.get("ended"),
                known.get("error", ""),
                known.get("kind", ""),
            )
        )
    return tasks


def _producers(inputs: Any) -> Iterator[str]:
    """Yield the tasks whose outputs are somewhere in these inputs."""
    if isinstance(inputs, dict):
        if isinstance(inputs.get("producerTask"), str):
            yield inputs["producerTask"]
        for value in inputs.values():
            yield from _producers(value)
    elif isinstance(inputs, list):
        for value in inputs:
            yield from _producers(value)


def of_sagemaker(definition: str, steps: Mapping[str, Json]) -> list[Task]:
    """Return the steps of an execution; steps: those that have begun, by their names."""
    declared = dict(_steps(json.loads(definition).get("Steps", []), ""))
    tasks = []
    for name, (step, above) in declared.items():
        known = steps.get(name, {})
        needs = {*step.get("DependsOn", []), *REFERENCE.findall(json.dumps(step)), above}
        tasks.append(
            Task(
                name,
                frozenset((needs & declared.keys()) - {name}),
                state(known["status"]) if known else NOT_BEGUN,
                str(known.get("job", "")),
                known.get("start"),
                known.get("end"),
                known.get("reason") or "",
                step.get("Type", ""),
            )
        )
    return tasks


def _steps(declared: Sequence[Json], above: str) -> Iterator[tuple[str, tuple[Json, str]]]:
    """Yield each step without those inside it, and the condition that it is in."""
    for step in declared:
        arguments = dict(step.get("Arguments") or {})
        inside = [
            *(arguments.pop("IfSteps", None) or []),
            *(arguments.pop("ElseSteps", None) or []),
        ]
        yield step["Name"], ({**step, "Arguments": arguments}, above)
        yield from _steps(inside, step["Name"])


def _levels(tasks: Sequence[Task]) -> dict[str, int]:
    """Return how many tasks must run one after the other before each."""
    level: dict[str, int] = {}
    for _ in tasks:  # as often as the longest chain can be
        for task in tasks:
            level[task.name] = max((level.get(each, 0) + 1 for each in task.needs), default=0)
    return {name: min(reached, len(tasks)) for name, reached in level.items()}


def in_order(tasks: Sequence[Task]) -> list[Task]:
    """Return the tasks, each after all that it waits for."""
    level = _levels(tasks)
    return sorted(tasks, key=lambda task: level[task.name])


def graph(tasks: Sequence[Task]) -> Graph:
    """Lay the tasks out: each below all that it waits for."""
    by_name = {task.name: task for task in tasks}
    level = _levels(tasks)
    rows: dict[int, list[Task]] = {}
    for task in tasks:
        rows.setdefault(level[task.name], []).append(task)
    most = max((len(row) for row in rows.values()), default=0)
    width = most * (WIDTH + ACROSS) + ACROSS
    boxes: dict[str, Box] = {}
    for row, number in enumerate(sorted(rows)):
        left = (width - len(rows[number]) * (WIDTH + ACROSS) + ACROSS) // 2
        for place, task in enumerate(rows[number]):
            text = task.name if len(task.name) <= LONGEST else f"{task.name[: LONGEST - 1]}…"
            x, y = left + place * (WIDTH + ACROSS), ACROSS // 2 + row * (HEIGHT + DOWN)
            boxes[task.name] = Box(task, x, y, text)
    lines = [
        _line(boxes[need], boxes[task.name])
        for task in tasks
        for need in sorted(task.needs)
        if need in by_name
    ]
    told = "; ".join(
        f"{task.name}, {task.state.text}"
        + (f", after {' and '.join(sorted(task.needs))}" if task.needs else "")
        for task in tasks
    )
    height = len(rows) * (HEIGHT + DOWN) - DOWN + ACROSS
    return Graph(list(boxes.values()), lines, width, height, told)


def _line(above: Box, below: Box) -> str:
    x, y = above.x + WIDTH // 2, above.y + HEIGHT
    to_x, to_y = below.x + WIDTH // 2, below.y
    middle = (y + to_y) // 2
    return f"M{x} {y} C{x} {middle} {to_x} {middle} {to_x} {to_y - 5}"
