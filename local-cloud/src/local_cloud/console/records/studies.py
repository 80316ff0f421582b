"""What is on record about a study: its name and its metric, in its sender's words."""

from __future__ import annotations

from local_cloud.console.records.jobs import SAGEMAKER
from local_cloud.engine.studies.spec import Study
from local_cloud.store.records import Records


def title(records: Records, study: Study) -> str:
    """Return what its sender called it."""
    if study.cloud == SAGEMAKER:
        return study.id
    document = records.get("vertex", study.id) or {}
    return str(document.get("displayName") or study.id)


def metric(records: Records, study: Study) -> str:
    """Return the metric that the study measures, in its sender's word."""
    if study.cloud == SAGEMAKER:
        document = records.get("tuning-job", study.id) or {}
        config = document.get("HyperParameterTuningJobConfig") or {}
        goal = config.get("HyperParameterTuningJobObjective") or {}
        return str(goal.get("MetricName", "result"))
    document = records.get("vertex", study.id) or {}
    metrics = (document.get("studySpec") or {}).get("metrics") or [{}]
    return str(metrics[0].get("metricId", "result"))
