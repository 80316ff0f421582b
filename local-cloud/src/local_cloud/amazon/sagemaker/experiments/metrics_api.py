"""SageMaker Metrics, an API of its own under SageMaker's signing name."""

from __future__ import annotations

from local_cloud.amazon.protocols.rest_protocol import RestService
from local_cloud.amazon.sagemaker.experiments.components import NAME, TrialComponents
from local_cloud.json_types import Json


class MetricsApi:
    """The operation of SageMaker Metrics that is here."""

    def __init__(self, components: TrialComponents) -> None:
        """components: whose metrics they are."""
        self._components = components

    def api(self) -> RestService:
        """Return SageMaker Metrics."""
        return RestService("sagemaker-metrics", {"BatchPutMetrics": self.put})

    def put(self, params: Json) -> Json:
        """BatchPutMetrics: of a trial component that is there."""
        name = self._components.entities.get(params[NAME])[NAME]
        errors = self._components.metrics.put(name, params["MetricData"])
        return {"Errors": errors} if errors else {}
