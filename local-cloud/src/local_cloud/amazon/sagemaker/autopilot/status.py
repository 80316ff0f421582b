"""Where an Autopilot job and its candidates stand, in the service's words.

They come from the engine's job and from what the program in it reports (program.py).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from local_cloud.amazon.sagemaker.autopilot.request import METRICS, MINIMIZED, criteria
from local_cloud.amazon.sagemaker.jobs import status as training_status
from local_cloud.amazon.sagemaker.resources.names import arn
from local_cloud.engine.spec import Job, State
from local_cloud.json_types import Json

OBJECTIVE = "FinalAutoMLJobObjectiveMetric"
IMAGE = "763104351884.dkr.ecr.us-east-1.amazonaws.com/autogluon-inference:1.5.0-cpu-py311"
# What an endpoint can be asked for, by SAGEMAKER_INFERENCE_OUTPUT; at first the label alone.
OUTPUTS = {
    "Regression": ("predicted_label",),
    "": ("predicted_label", "probability", "probabilities", "labels"),
}
BEFORE = (State.QUEUED, State.STAGING)
# What a program says to the user when it ends with the exit code 2.
SAID = re.compile(r"AlgorithmError: (.*), exit code: 2", re.DOTALL)


def status(job: Job) -> str:
    """AutoMLJobStatus."""
    return training_status.status(job)


def progress(job: Job, report: Json) -> Json:
    """Return statuses and times."""
    word = status(job)
    if job.state in BEFORE:
        second = "Starting"
    elif job.state is State.RUNNING:
        second = report.get("stage", "AnalyzingData")
    elif word == "Completed":
        second = report.get("reached") or word
    else:
        second = word
    times = [job.created, job.started, report.get("at"), job.ended]
    standing: Json = {
        "AutoMLJobStatus": word,
        "AutoMLJobSecondaryStatus": second,
        "CreationTime": job.created,
        "LastModifiedTime": max(at for at in times if at),
    }
    failed = [one for one in report.get("candidates", []) if one["status"] == "Failed"]
    if failed and word == "Completed":
        reasons = [f"{one['name']}: {one['failure']}"[:1024] for one in failed[:5]]
        standing["PartialFailureReasons"] = [{"PartialFailureMessage": one} for one in reasons]
    return standing | ({"EndTime": job.ended} if job.ended else {})


def failure_reason(of_training: str) -> str:
    """FailureReason, from that of the training job."""
    said = SAID.fullmatch(of_training)
    return f"ClientError: {said[1]}" if said else of_training


def resolve_attributes(request: Json, report: Json, version: int) -> Json:
    """ResolvedAttributes, once the program has looked at the table."""
    if "problem" not in report:
        return {}
    objective = {"AutoMLJobObjective": {"MetricName": report["objective"]}}
    limits = {"CompletionCriteria": completion} if (completion := criteria(request)) else {}
    problem = {"ProblemType": report["problem"]}
    if version == 2:
        problem = {"AutoMLProblemTypeResolvedAttributes": {"TabularResolvedAttributes": problem}}
    return {"ResolvedAttributes": objective | limits | problem}


def candidates(job: Json, report: Json) -> list[Json]:
    """Return all candidates that were begun; job: the training job, as it is described."""
    uploaded = (job.get("ModelArtifacts") or {}).get("S3ModelArtifacts")
    return [_candidate(one, job, report, uploaded=uploaded) for one in report.get("candidates", [])]


def _candidate(one: Json, job: Json, report: Json, *, uploaded: str | None) -> Json:
    word = one["status"]
    if word == "InProgress" and job["TrainingJobStatus"] != "InProgress":
        word = "Stopped"  # it ended with the job
    step = {
        "CandidateStepType": "AWS::SageMaker::TrainingJob",
        "CandidateStepArn": arn(f"training-job/{job['TrainingJobName']}"),
        "CandidateStepName": job["TrainingJobName"],
    }
    candidate: Json = {
        "CandidateName": one["name"],
        "ObjectiveStatus": {"Completed": "Succeeded", "InProgress": "Pending"}.get(word, "Failed"),
        "CandidateSteps": [step],
        "CandidateStatus": word,
        "CreationTime": one["created"],
        "LastModifiedTime": one.get("ended") or one["created"],
    }
    if one.get("ended"):
        candidate["EndTime"] = one["ended"]
    if one.get("failure"):
        candidate["FailureReason"] = one["failure"][:1024]
    if word == "Completed":
        candidate |= _metrics(one["metrics"], report)
        if uploaded:
            candidate["InferenceContainers"] = [
                _container(one["name"], uploaded, report["problem"])
            ]
    return candidate


def _metrics(values: Json, report: Json) -> Json:
    """Return the objective and the other metrics, as cross-validation has found them."""
    objective = report["objective"]
    names = {"MetricName": objective, "StandardMetricName": objective}
    kind = "Minimize" if objective in MINIMIZED else "Maximize"
    listed = [
        {"MetricName": name, "StandardMetricName": name, "Value": values[name], "Set": "Validation"}
        for name in METRICS[report["problem"]]
        if name in values
    ]
    if "LogLoss" in values:  # which the older list of names does not have
        loss = values["LogLoss"]
        listed.append({"StandardMetricName": "LogLoss", "Value": loss, "Set": "Validation"})
    return {
        OBJECTIVE: {"Type": kind, "Value": values[objective], **names},
        "CandidateProperties": {"CandidateMetrics": listed},
    }


def _container(name: str, uploaded: str, problem: str) -> Json:
    """Return what serves a candidate; its archive has the program."""
    outputs = OUTPUTS.get(problem, OUTPUTS[""])
    return {
        "Image": IMAGE,
        "ModelDataUrl": f"{uploaded}{name}/model.tar.gz",
        "Environment": {
            "SAGEMAKER_DEFAULT_INVOCATIONS_ACCEPT": "text/csv",
            "SAGEMAKER_INFERENCE_OUTPUT": outputs[0],
            "SAGEMAKER_INFERENCE_SUPPORTED": ",".join(outputs),
            "SAGEMAKER_PROGRAM": "tabular_serve.py",
            "SAGEMAKER_SUBMIT_DIRECTORY": "/opt/ml/model/code",
        },
    }


def best(candidates: Sequence[Json], report: Json) -> Json | None:
    """Return the candidate with the best objective, of those that can be deployed."""
    there = [one for one in candidates if "InferenceContainers" in one]
    sign = -1 if report.get("objective") in MINIMIZED else 1
    return max(there, key=lambda one: sign * one[OBJECTIVE]["Value"], default=None)
