"""The exercises of episode 20, Pipelines."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from lesson.exercises import Exercise
from lesson.exercises.kinds.functions import number
from lesson.exercises.kinds.letters import one_each

kinds = one_each(
    "PAPA",
    "PA",
    wrong=[
        "first case: 200 is a value, and needs no file.",
        "second case: the weights are in model.pt, a file.",
        "third case: a condition can compare values only.",
        "fourth case: two npz files in a folder.",
    ],
    praise="The number and the accuracy are values, and so parameters. The weights and the "
    "archives are files, and so artifacts.",
    advice="ask of each: is it a value that fits into the record of the run, or a file in a "
    "bucket?",
)

LABELS = ([0, 0, 0, 1], [1, 1, 1, 1, 0])  # of two sets of validation data


def _judge_baseline(component: Any) -> str:
    written = getattr(component, "python_func", None)
    if written is None:
        return "the answer is the component: a function with @dsl.component above it."
    spec = component.component_spec
    if not spec.outputs:
        return "it returns nothing to the pipeline: write -> float after its arguments."
    inputs = spec.inputs or {}
    if set(inputs) != {"data"} or inputs["data"].type != "system.Dataset@0.0.1":
        return "it takes one input: data, of type Input[Dataset]."
    shares = [_of_labels(written, labels) for labels in LABELS]
    if shares == [0.25, 0.8]:
        return f"that is the share of class 1; for {LABELS[0]} the more frequent class is 0."
    if shares == [0.75, 0.8]:
        return ""
    return f"for the labels {LABELS[0]} the share is 0.75; it returns {shares[0]:g}."


def _of_labels(written: Any, labels: list[int]) -> float:
    """Return what a component's function returns for validation data with these labels."""
    import numpy as np

    with tempfile.TemporaryDirectory() as folder:
        rows = np.zeros((len(labels), 7))
        np.savez(Path(folder, "val_data.npz"), X_val=rows, y_val=np.array(labels))
        return round(number(written, SimpleNamespace(path=folder, uri=folder, metadata={})), 6)


baseline = Exercise(
    object,
    _judge_baseline,
    "The component reads an artifact, returns a parameter, and needs nothing from the notebook.",
    "the mean of y_val is the share of class 1; import numpy inside the function.",
    kind="write",
)


def _judge_again(job: Any) -> str:
    details = getattr(job, "task_details", None)
    if details is None:
        return "the answer is what run_pipeline returns."
    states: Mapping[str, str] = {task.task_name: task.state.name for task in details}
    if "train" not in states:
        return "this pipeline has no task train: send the one of this page."
    if "FAILED" in states.values():
        return "a task has failed; its log says why."
    if states["train"] == "SKIPPED":
        return "it has not trained: an earlier run had the same flags."
    if states.get("prepare") != "SKIPPED":
        return "it has prepared again: do not change the table, and leave the cache on."
    if states["train"] != "SUCCEEDED":
        return "it has not ended yet: wait for its end, and run this cell again."
    return ""


again = Exercise(
    object,
    _judge_again,
    "Only train takes the flags; evaluate runs because it gets a new model.",
    "call pipeline() with other epochs, and send what it returns.",
    kind="send",
)


def _judge_registered(execution: Any) -> str:
    list_steps = getattr(execution, "list_steps", None)
    if list_steps is None:
        return "the answer is what run_pipeline returns."
    steps: Mapping[str, Any] = {step["StepName"]: step for step in list_steps()}
    if "train" not in steps:
        return "this execution has no step train: start the pipeline of this page."
    if "Failed" in [step["StepStatus"] for step in steps.values()]:
        return "a step has failed; its FailureReason says why."
    if "CacheHitResult" not in steps["train"]:
        return "it has trained again: give run_pipeline the same definition, without Epochs."
    if "register" not in steps:
        return "nothing is registered: the accuracy has to be greater than BetterThan."
    if steps["register"]["StepStatus"] != "Succeeded":
        return "it has not ended yet: wait for its end, and run this cell again."
    return ""


registered = Exercise(
    object,
    _judge_registered,
    "SageMaker reused the trained model, and the condition took the other branch.",
    'call run_pipeline(on_sagemaker, parameters={"BetterThan": ...}).',
    kind="send",
)


STEPS = ("prepare", "train", "evaluate")


def _judge_rebuilt(names: Any) -> str:
    given = [names.strip()] if isinstance(names, str) else names
    if not isinstance(given, list | tuple | set) or not all(step in STEPS for step in given):
        return "the answer is a set of names, from prepare, train and evaluate."
    if "prepare" not in given:
        return "prepare has the same script, table and arguments as before."
    if "train" in given:
        return "the URI of its code is an input of the training step, and it has changed."
    return "evaluate reads a new model." if "evaluate" in given else ""


rebuilt = Exercise(
    object,
    _judge_rebuilt,
    "The training has a new input, so evaluate gets a new model.",
    "ask of each step: has one of its inputs changed?",
)


def _judge_stale(tasks: int) -> str:
    if tasks == 0:
        return ""
    if tasks == 1:
        return "prepare also has the same inputs as before."
    return "the service does not look into the file; it compares the parameter, a text."


stale = Exercise(
    int,
    _judge_stale,
    "The input is the file's name, which has not changed, so the model is the old one.",
    "which input of prepare has changed since yesterday?",
    unit="tasks",
)

TASKS, MINUTES, HOUR, FEE = 4, 6, 0.154, 0.03


def _judge_price(answer: float) -> str:
    task = MINUTES / 60 * HOUR
    wrong = {
        TASKS * task + FEE: "that is a run in which all four tasks run; two are skipped.",
        2 * task: "the run itself has a price, too.",
        4 * task: "that is all four tasks, without the price of the run.",
        2 * (task + FEE): "the fee is for the run, not for each task.",
        2 * MINUTES * HOUR + FEE: "the price is for an hour, and a task takes minutes.",
    }
    if near := [said for value, said in wrong.items() if abs(answer - value) < 0.0005]:
        return near[0]
    if abs(answer - (2 * task + FEE)) < 0.0009:  # whole cents are right
        return ""
    return "add up the minutes of the tasks that run, and the fee."


price = Exercise(
    float,
    _judge_price,
    "You pay for two tasks and the fee. With tasks this short, the fee is half of the price.",
    "two tasks run; how many hours is that in total?",
    unit="dollars",
)
