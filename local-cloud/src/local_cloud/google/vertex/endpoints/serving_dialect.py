"""What the engine asks about deployments: those of endpoints, and those of batch predictions."""

from __future__ import annotations

from local_cloud.engine.serving.spec import Deployment, ServingPlan
from local_cloud.engine.spec import JobContext
from local_cloud.google.projects import Projects
from local_cloud.google.vertex.endpoints import serving_launch
from local_cloud.google.vertex.endpoints.batch_predictions import BatchPredictions
from local_cloud.google.vertex.endpoints.endpoints import Endpoints
from local_cloud.google.vertex.models.registry import DEPLOYED
from local_cloud.platform import Platform


class DeploymentDialect:
    """The dialect's side of serving (engine/serving/spec.py)."""

    def __init__(self, platform: Platform, endpoints: Endpoints, batches: BatchPredictions) -> None:
        """Take both kinds."""
        self._platform, self._endpoints, self._batches = platform, endpoints, batches

    def stage(self, deployment_id: str, context: JobContext) -> ServingPlan:
        """Say how the replicas of a deployed model run."""
        facts = self._endpoints.facts(deployment_id)
        _, number, _, location, *_ = facts["endpoint"].split("/")
        project = Projects(self._platform.records).id_of(number)
        own = {"GOOGLE_CLOUD_PROJECT": project, "CLOUD_ML_REGION": location}
        return serving_launch.plan(facts, context, self._platform.environment | own)

    def settle(self, deployment: Deployment) -> None:
        """Have traffic sent to it, or the job's files."""
        facts = self._platform.records.get(DEPLOYED, deployment.id)
        if facts and "job" in facts:
            self._batches.settle(deployment, facts["job"])
        else:
            self._endpoints.settle(deployment)
