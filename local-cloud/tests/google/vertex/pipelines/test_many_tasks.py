"""Pipelines that make many tasks: they are counted by what is made, and each has a limit."""

from __future__ import annotations

from typing import Any

import pytest

from local_cloud.google.rest import ApiError
from local_cloud.google.vertex.pipelines import spec as pipeline_spec
from local_cloud.google.vertex.pipelines.spec import DEEPEST, MOST_TASKS
from tests.google.vertex.pipelines.test_pipelines import (
    Send,
    client,
    ended,
    send,
    states,
)

__all__ = ["client", "send"]  # fixtures

LEAF = {"executorLabel": "leaf"}
NEVER = {"triggerPolicy": {"condition": "false"}}


def task(component: str, **more: Any) -> dict[str, Any]:
    return {"componentRef": {"name": component}, **more}


def dag(**tasks: Any) -> dict[str, Any]:
    return {"dag": {"tasks": tasks}}


def pipeline(root: dict[str, Any], **components: Any) -> dict[str, Any]:
    """A compiled pipeline of these components, and one, `leaf`, that runs a container."""
    container = {"image": "python:3.11", "command": ["true"]}
    return {
        "schemaVersion": "2.1.0",
        "pipelineInfo": {"name": "many"},
        "root": root,
        "components": {"leaf": LEAF, **components},
        "deploymentSpec": {"executors": {"leaf": {"container": container}}},
    }


def nested(levels: int, each: int) -> dict[str, Any]:
    """Pipelines in each other, of each of which the one around it has several."""
    inside = {
        f"level{level}": dag(
            **{
                f"t{number}": task(f"level{level + 1}" if level + 1 < levels else "leaf")
                for number in range(each)
            }
        )
        for level in range(levels)
    }
    return pipeline(inside.pop("level0"), **inside)


def test_ten_pipelines_in_each_other_with_ten_of_each_are_counted_and_refused() -> None:
    """Of a few KB, with ten thousand million paths through it."""
    with pytest.raises(ApiError, match=f"makes 11111111110 tasks.*at most {MOST_TASKS}: split"):
        pipeline_spec.check(nested(levels=10, each=10))


def test_a_pipeline_within_the_limit_is_taken() -> None:
    assert pipeline_spec.check(nested(levels=5, each=5)).name == "many"  # 3,905 tasks


def test_how_deep_a_component_is_counts_wherever_it_is_used() -> None:
    levels = {
        f"level{level}": dag(a=task(f"level{level + 1}" if level < DEEPEST - 1 else "leaf"))
        for level in range(DEEPEST)
    }
    taken = pipeline(dag(first=task("level5"), second=task("level0")), **levels)
    assert pipeline_spec.check(taken)
    above = pipeline(
        dag(first=task("level0"), second=task("above")), **levels, above=dag(a=task("level0"))
    )
    with pytest.raises(ApiError, match=r"root\.second\.a: more than 20 pipelines in each other"):
        pipeline_spec.check(above)


def loop(component: str, items: int) -> dict[str, Any]:
    raw = str(list(range(items)))
    return task(component, parameterIterator={"items": {"raw": raw}, "itemInput": "item"})


@pytest.mark.slow
def test_loops_in_loops_make_no_more_tasks_than_the_limit(client: Any, send: Send) -> None:
    """How many rounds there are may be known only when the loop begins."""
    spec = pipeline(
        dag(outer=loop("middle", 100)),
        middle=dag(inner=loop("rounds", 100)),
        rounds=dag(a=task("leaf", **NEVER)),
    )
    job = ended(client, send(spec), seconds=300)
    made = states(job)
    assert len(made) <= MOST_TASKS
    assert job.state.name == "PIPELINE_STATE_FAILED"
    failed = [one for one in job.job_detail.task_details if "split it" in one.error.message]
    assert failed
