"""The exercises of episode 14, From a model to predictions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from lesson.exercises import Exercise
from lesson.exercises.kinds.functions import function, number
from lesson.exercises.kinds.letters import in_order

# The passengers of the exercise “Refused”, as they should be.
FIXED: tuple[dict[str, Any], ...] = (
    {"Pclass": 1, "Sex": "female", "Age": 38, "Embarked": "C"},
    {"Pclass": 3, "Sex": "male", "Age": 22, "Embarked": "S"},
    {"Pclass": 2, "Sex": "female", "Age": 30, "Embarked": "S"},
)


def _judge_fixed(answer: Any, predict: Callable[[list[Any]], Any]) -> str:
    if not callable(predict):
        return "hand predict to check(), as the cell of the exercise does."
    if not isinstance(answer, list) or not all(isinstance(each, Mapping) for each in answer):
        return "the answer is a list of passengers, each a dictionary."
    if len(answer) != len(FIXED):
        return f"it has {len(answer)} passengers; all {len(FIXED)} are to get a prediction."
    for index, (given, right) in enumerate(zip(answer, FIXED, strict=True)):
        if missing := [name for name in right if name not in given]:
            return (
                f"instance {index} has no {missing[0]} any more: the model would take the most "
                "common value, and you know the true one."
            )
    predict(answer)  # LessonError, with the index and the reason, if it is still refused
    for index, (given, right) in enumerate(zip(answer, FIXED, strict=True)):
        if wrong := [name for name, value in right.items() if not _same(given[name], value)]:
            return f"instance {index}: its {wrong[0]} is that of another passenger."
    return ""


def _same(given: Any, right: Any) -> bool:
    """Return whether the endpoint takes both for the same: it reads the number in a text, too."""
    try:
        return float(given) == float(right)
    except (TypeError, ValueError):
        return bool(given == right)


fixed = Exercise(
    object,
    _judge_fixed,
    "All three get a prediction. The endpoint reports only the first bad value of an instance, "
    "so a second one shows when you send it again.",
    "copy the list, change what the reasons name, and ask again; Southampton is S.",
    kind="write",
)

rollout = in_order(
    [
        ("B", "D", "there is nothing to compare yet."),
        ("D", "A", "everybody gets answers of a version that nobody has looked at."),
        ("A", "E", "a version that still gets requests cannot be undeployed."),
    ],
    {"C": "with the endpoint gone, every program that asks it fails."},
    praise="Until the last step, one line moves all requests back to the old version.",
    advice="after each line, ask which version answers, and whether you could still go back.",
)


def _judge_moved(endpoint: Any, new: str, service: Any) -> str:
    if not hasattr(service, "cloud") or not isinstance(new, str):
        return "hand new and service to check(), as the cell of the exercise does."
    if not hasattr(endpoint, "list_models") or not hasattr(endpoint, "traffic_split"):
        return "the answer is the endpoint."
    with service.cloud().refusals("asking for the endpoint"):
        models, split = {each.id for each in endpoint.list_models()}, endpoint.traffic_split
    if new not in models:
        return "the new version is gone: deploy it again, with its share of the requests."
    if split.get(new, 0) != 100:
        return f"the new version gets {split.get(new, 0)} % of the requests; move all of them."
    if models != {new}:
        return "the old version gets no requests, and costs as much as before: undeploy it."
    return ""


moved = Exercise(
    object,
    _judge_moved,
    "One version is left. The endpoint has kept its name, so no program has to change.",
    "a split names the share of each id: all of it may be of one. A version without requests can "
    "be undeployed.",
    kind="send",
)


def _judge_billed(busy: Callable[..., Any]) -> str:
    steady, grown = [(0.0, 1), (30.0, 1)], [(0.0, 1), (4.0, 2), (20.0, 1), (30.0, 1)]
    if (value := number(busy, steady)) != 30:
        return f"one replica for 30 s are 30 seconds; it returns {value:g}."
    value = number(busy, grown)
    if value == 46:
        return ""
    told: dict[float, str] = {
        60: "that bills two replicas from the beginning to the end.",
        30: "that bills one replica, however many there were.",
        54: "at 4 s it becomes two: until then there was one.",
    }
    return told.get(value, f"for {grown} it should be 4 + 2 * 16 + 10; it returns {value:g}.")


billed = function(
    _judge_billed,
    "You pay for each second that a replica is there, with or without requests.",
    "zip(seen, seen[1:]) gives each moment together with the next one.",
)


def _judge_callers(permission: str) -> str:
    given = permission.strip()
    if given == "aiplatform.endpoints.predict":
        return ""
    if given == "sagemaker:InvokeEndpoint":
        return "that is the permission on SageMaker; the endpoint is on Vertex AI."
    if given.endswith("*") or given.startswith("roles/"):
        return "that holds more than one permission; she needs one."
    return "a permission is a service, a kind of resource and a verb, with dots between them."


callers = Exercise(
    str,
    _judge_callers,
    "This permission lets her program predict, and do nothing else, on this endpoint alone.",
    "the text above names the permission that lets somebody send requests to an endpoint.",
)

# The exercise “A weekend”: versions, replicas of each, dollars an hour, hours.
VERSIONS, REPLICAS, HOURLY, HOURS = 2, 2, 0.11, 62


def _judge_standing(answer: float) -> str:
    right = VERSIONS * REPLICAS * HOURLY * HOURS
    for part, told in (
        (1, ""),
        (0, "an endpoint costs money for its machines, not for its requests."),
        (VERSIONS, "each version has machines of its own, also the one with few requests."),
        (REPLICAS * VERSIONS, "that is one machine; how many are there in all?"),
        (HOURS, "that is one hour of them."),
    ):
        if math.isclose(answer, right / part if part else 0, rel_tol=0.01):
            return told
    if math.isclose(answer, right / VERSIONS * 1.1, rel_tol=0.01):
        return "a tenth of the requests does not take a tenth of a machine."
    return "multiply: versions, replicas of each, the price of an hour, and the hours."


standing = Exercise(
    float,
    _judge_standing,
    "You pay for two replicas of each of the two versions, although nobody sent a request.",
    "from Friday at 18:00 to Monday at 8:00; how many machines are there all the time?",
    unit="dollars",
)


def _judge_halves(record: Any) -> str:
    variants = record.get("ProductionVariants", []) if isinstance(record, Mapping) else []
    weights = [each.get("DesiredWeight", 0.0) for each in variants if isinstance(each, Mapping)]
    if not weights:
        return "the answer is what describe_endpoint returns of an endpoint with variants."
    if len(weights) != 2:
        return f"this endpoint has {len(weights)} variants, not 2: deploy the other one first."
    shares = [weight / (sum(weights) or 1) for weight in weights]
    if math.isclose(*shares):
        return ""
    percent = " and ".join(f"{100 * share:.0f} %" for share in shares)
    return f"by their weights the two get {percent} of the requests."


halves = Exercise(
    object,
    _judge_halves,
    "Only the ratio of the weights counts: 1 and 1 are the same as 50 and 50.",
    "update_endpoint_weights_and_capacities takes a list, with a VariantName and a DesiredWeight "
    "for each. Ask describe_endpoint afterwards.",
    kind="send",
)
