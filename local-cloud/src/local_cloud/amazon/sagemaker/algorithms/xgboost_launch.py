"""The built-in XGBoost: which jobs and models mean it, what they run, and what they report.

Sources: "XGBoost algorithm with Amazon SageMaker AI" and "Tune an XGBoost model" in the developer
guide, and the code of the image, sagemaker-xgboost-container (read November 2026).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path

from local_cloud.engine.base import Base
from local_cloud.engine.spec import JobRefused
from local_cloud.json_types import Json

IMAGE = re.compile(r"[^/]+/(?:sagemaker-)?xgboost[:@][^/]+")
TRAIN = Path(__file__).with_name("xgboost_train.py")
# What the algorithm can be tuned for: the metrics that XGBoost itself knows.
METRICS = (
    "auc",
    "aucpr",
    "map",
    "ndcg",
    "aft-nloglik",
    "cox-nloglik",
    "error",
    "gamma-deviance",
    "gamma-nloglik",
    "interval-regression-accuracy",
    "logloss",
    "mae",
    "mape",
    "merror",
    "mlogloss",
    "mphe",
    "poisson-nloglik",
    "rmse",
    "rmsle",
    "tweedie-nloglik",
)
DEFINITIONS = [
    {"Name": f"validation:{name}", "Regex": rf".*\[[0-9]+\].*#011validation-{name}:(\S+)"}
    for name in METRICS
]


def is_meant(definition: Json, hyperparameters: Mapping[str, str]) -> bool:
    """Return whether a job names the algorithm, and no script or command of its own."""
    algorithm, environment = definition["AlgorithmSpecification"], definition.get("Environment")
    has_own = (
        algorithm.get("ContainerEntrypoint")
        or "sagemaker_program" in hyperparameters
        or "SAGEMAKER_PROGRAM" in (environment or {})
    )
    return bool(IMAGE.fullmatch(algorithm.get("TrainingImage") or "")) and not has_own


def add_metrics(definition: Json, hyperparameters: Mapping[str, str]) -> None:
    """Give a job of the algorithm the algorithm's metrics, unless it defines its own."""
    algorithm = definition.get("AlgorithmSpecification") or {}
    if algorithm and is_meant(definition, hyperparameters):
        algorithm["MetricDefinitions"] = algorithm.get("MetricDefinitions") or DEFINITIONS


def train_command(base: Base, instances: int, ml: str) -> tuple[str, ...]:
    """Return what an instance of a training job runs; raises JobRefused where that cannot be."""
    require_package(base)
    if instances > 1:
        raise JobRefused(
            f"The built-in XGBoost trains on one instance in the local cloud, not on {instances}"
        )
    return (sys.executable, "-I", str(TRAIN), ml)


def require_package(base: Base) -> None:
    """Raise JobRefused where XGBoost is not installed."""
    if not base.has("xgboost"):
        raise JobRefused(
            f"{base.note}. xgboost is not installed there: pull the image, or install xgboost"
        )
