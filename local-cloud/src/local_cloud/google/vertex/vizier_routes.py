"""The resources of VizierService, declared: studies, and the trials in them."""

from __future__ import annotations

from google.cloud.aiplatform_v1.types import Trial

from local_cloud.google.vertex.parts import Parts
from local_cloud.google.vertex.resources.resource import Method, Resource
from local_cloud.google.vertex.vizier.studies import VizierStudies


def resources(parts: Parts) -> list[Resource]:
    """Return studies and trials."""
    studies = VizierStudies(parts.platform.records)
    trials = studies.trials
    of_trials: dict[str, Method] = {
        "create": lambda call: trials.create(call.parent, call.body),
        "list": lambda call: trials.page(call.parent, call.page),
        "get": lambda call: trials.get(call.name),
        "delete": lambda call: trials.delete(call.name),
        "POST :suggest": lambda call: trials.suggest(call.parent, call.body),
        "POST :listOptimalTrials": lambda call: trials.optimal(call.parent),
        "POST *:addTrialMeasurement": lambda call: trials.add_measurement(call.name, call.body),
        "POST *:checkTrialEarlyStoppingState": (
            lambda call: trials.check_early_stopping(call.name)
        ),
        "POST *:complete": lambda call: trials.complete(call.name, call.body),
        "POST *:stop": lambda call: trials.stop(call.name),
    }
    return [
        Resource.of(
            studies,
            methods={"POST :lookup": lambda call: studies.lookup(call.parent, call.body)},
            without=("patch",),
            long_running=(),
        ),
        Resource("studies/*/trials", Trial, of_trials),
    ]
