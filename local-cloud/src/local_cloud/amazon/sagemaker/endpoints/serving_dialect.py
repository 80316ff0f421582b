"""What the engine asks about deployments: those of endpoints, and those of transform jobs."""

from __future__ import annotations

from dataclasses import replace

from local_cloud.amazon.sagemaker.endpoints import serving_launch
from local_cloud.amazon.sagemaker.endpoints.batch_predictions import BatchPredictions
from local_cloud.amazon.sagemaker.endpoints.endpoints import FACTS, Endpoints
from local_cloud.engine.serving.spec import Deployment, ServingPlan
from local_cloud.engine.spec import EngineError, JobContext
from local_cloud.platform import Platform


class DeploymentDialect:
    """The dialect's side of serving (engine/serving/spec.py)."""

    def __init__(self, platform: Platform, endpoints: Endpoints, batches: BatchPredictions) -> None:
        """Take both kinds."""
        self._platform, self._endpoints, self._batches = platform, endpoints, batches

    def stage(self, deployment_id: str, context: JobContext) -> ServingPlan:
        """Bring a model and say how its replicas run."""
        facts = self._platform.records.get(FACTS, deployment_id)
        if facts is None:
            raise EngineError("It is being deleted.")
        base = {} if facts["isolated"] else self._platform.environment
        plan = serving_launch.plan(
            facts["container"], facts["variant"], context, objects=self._platform.s3, base=base
        )
        return replace(plan, answer_seconds=facts.get("answer_seconds", plan.answer_seconds))

    def settle(self, deployment: Deployment) -> None:
        """Have requests sent to it, or the job's files."""
        facts = self._platform.records.get(FACTS, deployment.id)
        if facts and "job" in facts:
            self._batches.settle(deployment, facts["job"])
        else:
            self._endpoints.settle(deployment)
