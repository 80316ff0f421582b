"""When a study gives no more suggestions: its studyStoppingConfig.

Source: StudySpec.StudyStoppingConfig in types/study.py, whose rules are looked at from top to
bottom; the first that applies decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from local_cloud.google.vertex.vizier import measurements
from local_cloud.google.vertex.vizier.study_config import StudyConfig
from local_cloud.json_types import Json

ENDED = ("SUCCEEDED", "INFEASIBLE")


def is_over(study: Json, trials: Sequence[Json], config: StudyConfig, *, now: float) -> bool:
    """Return whether a study has ended; now: seconds since the epoch."""
    rules = config.spec.get("studyStoppingConfig", {})
    begun = _seconds(study["createTime"])
    completed = [trial for trial in trials if trial["state"] in ENDED]
    if not _has_passed(rules.get("minimumRuntimeConstraint"), begun, now, otherwise=True):
        return False
    if len(completed) < rules.get("minNumTrials", 0):
        return False
    if _has_passed(rules.get("maximumRuntimeConstraint"), begun, now, otherwise=False):
        return True
    if "maxNumTrials" in rules and len(trials) >= rules["maxNumTrials"]:
        return True
    return _has_no_progress(rules, completed, config, begun=begun, now=now)


def _has_no_progress(
    rules: Json, completed: Sequence[Json], config: StudyConfig, *, begun: float, now: float
) -> bool:
    """Return whether the best result is too old; with several metrics it never is."""
    if len(config.goals) > 1:
        return False
    in_order = sorted(completed, key=lambda trial: str(trial["endTime"]))
    best = measurements.optimal(in_order, config)
    count = in_order.index(best[0]) + 1 if best else 0
    since = _seconds(best[0]["endTime"]) if best else begun
    most = rules.get("maxNumTrialsNoProgress")
    if most is not None and len(in_order) - count >= most:
        return True
    longest = rules.get("maxDurationNoProgress")
    return longest is not None and now - since >= _duration(longest)


def _has_passed(constraint: Json | None, begun: float, now: float, *, otherwise: bool) -> bool:
    """Return whether the time of a constraint has come; otherwise: without a constraint."""
    if not constraint:
        return otherwise
    if "endTime" in constraint:
        return now >= _seconds(constraint["endTime"])
    return now >= begun + _duration(constraint.get("maxDuration", "0s"))


def _duration(text: str) -> float:
    return float(text.removesuffix("s"))


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
