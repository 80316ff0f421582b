"""What a study tries next, within what a client's context asks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from local_cloud.engine.studies import search
from local_cloud.engine.studies.search import Value
from local_cloud.google.vertex.resources.schema import require
from local_cloud.google.vertex.vizier import measurements
from local_cloud.google.vertex.vizier.study_config import StudyConfig
from local_cloud.json_types import Json


def read_contexts(request: Json, config: StudyConfig, count: int) -> list[dict[str, Value]]:
    """Return the values that each suggestion of a request has in any case."""
    contexts = request.get("contexts", [])
    require(
        len(contexts) in (0, count),
        f"contexts: {len(contexts)}; give none, or {count} as suggestionCount says",
    )
    per_suggestion = [
        config.read_values(context.get("parameters", []), f"contexts[{place}]")
        for place, context in enumerate(contexts)
    ]
    return per_suggestion or [{} for _ in range(count)]


def agree(trial: Json, fixed: Mapping[str, Value], config: StudyConfig) -> bool:
    """Return whether a trial has these values, or none of its own for a parameter."""
    own = config.read_values(trial["parameters"], "trial")
    return all(own.get(name, value) == value for name, value in fixed.items())


def choose(
    trials: Sequence[Json], config: StudyConfig, fixed: Mapping[str, Value]
) -> dict[str, Value] | None:
    """Return the values of the next trial; None: there is nothing else to try."""
    known = [measurements.for_search(trial, config) for trial in trials]
    if not trials:
        fixed = config.defaults | dict(fixed)
    if config.is_complete(fixed):
        return dict(fixed)

    def ask(algorithm: str) -> dict[str, Value] | None:
        return search.next_values(
            config.parameters,
            known,
            algorithm=algorithm,
            maximize=config.maximize,
            seed=config.seed,
            others=[*config.goals.values()][1:],
            fixed=fixed,
        )

    values = ask(config.algorithm)
    if config.never_repeats and values in [trial.values for trial in known]:
        return ask("grid")  # the first combination that has not been tried
    return values


def write(values: Mapping[str, Value]) -> list[Json]:
    """Return values as a trial has them."""
    return [{"parameterId": name, "value": value} for name, value in values.items()]
