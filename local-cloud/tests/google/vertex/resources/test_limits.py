"""Limits, names and combinations that the service documents: refused at submission here, too."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest
from google.api_core import exceptions

from tests.google.vertex.support import BUCKET, IMAGE

PARENT = "projects/my-project/locations/us-central1"


@pytest.fixture
def jobs(aiplatform: ModuleType) -> Any:
    """The client of JobService."""
    return aiplatform.initializer.global_config.create_client(
        client_class=aiplatform.utils.JobClientWithOverride
    )


@pytest.fixture
def endpoints(aiplatform: ModuleType) -> Any:
    """The client of EndpointService."""
    return aiplatform.initializer.global_config.create_client(
        client_class=aiplatform.utils.EndpointClientWithOverride
    )


def machine(kind: str, accelerator: str = "", count: int = 0) -> dict[str, Any]:
    spec: dict[str, Any] = {"machine_type": kind}
    return spec | (
        {"accelerator_type": accelerator, "accelerator_count": count} if accelerator else {}
    )


def custom_job(pool: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    whole = {
        "machine_spec": machine("n1-standard-4"),
        "replica_count": 1,
        "container_spec": {"image_uri": IMAGE, "command": ["true"]},
    }
    spec = {"worker_pool_specs": [whole | (pool or {})], **more.pop("spec", {})}
    return {"display_name": "x", "job_spec": spec, **more}


def container(**more: Any) -> dict[str, Any]:
    return {"container_spec": {"image_uri": IMAGE, "command": ["true"], **more}}


VARIABLES = [{"name": f"A{number}", "value": "x"} for number in range(101)]
LABELS = "Label keys and values can only contain lowercase letters"
REFUSED_JOBS: dict[str, tuple[dict[str, Any], str]] = {
    "a long name": (custom_job(display_name="x" * 129), "custom_job.display_name; .* 129 char"),
    "a label in capitals": (
        custom_job(labels={"Team": "a"}),
        f"List of found errors:\t1.Field: custom_job.labels; Message: .*{LABELS}",
    ),
    "a label with a dot": (custom_job(labels={"team": "1.5"}), LABELS),
    "a label that begins with a dash": (custom_job(labels={"-a": "b"}), LABELS),
    "a long label": (custom_job(labels={"team": "x" * 64}), LABELS),
    "65 labels": (custom_job(labels={f"a{n}": "" for n in range(65)}), "no more than 64 labels"),
    "101 variables": (custom_job(container(env=VARIABLES)), "env; .* 101 entries; 100"),
    "a GPU on E2": (
        custom_job({"machine_spec": machine("e2-standard-4", "NVIDIA_TESLA_T4", 1)}),
        "NVIDIA_TESLA_T4 is not supported for machine type e2-standard-4, which takes no",
    ),
    "an A100 on N1": (
        custom_job({"machine_spec": machine("n1-standard-4", "NVIDIA_TESLA_A100", 1)}),
        "NVIDIA_TESLA_A100 is not supported for machine type n1-standard-4",
    ),
    "three T4": (
        custom_job({"machine_spec": machine("n1-standard-4", "NVIDIA_TESLA_T4", 3)}),
        "3 of NVIDIA_TESLA_T4 .* give 1 or 2 or 4 or 8",
    ),
    "one A100 of two": (
        custom_job({"machine_spec": machine("a2-highgpu-2g", "NVIDIA_TESLA_A100", 1)}),
        "1 of NVIDIA_TESLA_A100 is not supported for a2-highgpu-2g; give 2",
    ),
    "an L4 of two": (
        custom_job({"machine_spec": machine("g2-standard-24", "NVIDIA_L4", 1)}),
        "for g2-standard-24; give 2",
    ),
    "another disk": (
        custom_job({"disk_spec": {"boot_disk_type": "floppy"}}),
        "bootDiskType: 'floppy' is not pd-ssd",
    ),
    "a network by its name": (custom_job(spec={"network": "default"}), "network: 'default'"),
}


@pytest.mark.parametrize("case", REFUSED_JOBS)
def test_a_job_beyond_the_limits_is_refused(jobs: Any, case: str) -> None:
    job, words = REFUSED_JOBS[case]
    with pytest.raises(exceptions.BadRequest, match=words):
        jobs.create_custom_job(parent=PARENT, custom_job=job)


def test_what_is_just_within_the_limits_is_taken(jobs: Any) -> None:
    made = jobs.create_custom_job(
        parent=PARENT,
        custom_job=custom_job(
            {
                **container(env=VARIABLES[:100]),
                "machine_spec": machine("a2-highgpu-2g", "NVIDIA_TESLA_A100", 2),
            },
            display_name="ü" * 128,
            labels={"1-größe_a": "x" * 63, "empty": ""},
        ),
    )
    assert made.display_name == "ü" * 128


REFUSED_BATCHES: dict[str, tuple[dict[str, Any], str]] = {
    "both lists of fields": (
        {"instance_config": {"included_fields": ["a"], "excluded_fields": ["b"]}},
        "includedFields and excludedFields, not both",
    ),
    "a list of fields for CSV": (
        {"instance_config": {"excluded_fields": ["b"]}, "format": "csv"},
        "excludedFields: does not apply to csv",
    ),
    "no such type": ({"instance_config": {"instance_type": "tensor"}}, "'tensor' is no type"),
    "an explanation that is not wanted": (
        {"explanation_spec": {"parameters": {"sampled_shapley_attribution": {"path_count": 1}}}},
        "explanationSpec: only if generateExplanation",
    ),
    "no model": ({"model": ""}, "exactly one of model and unmanagedContainerModel"),
}


@pytest.mark.parametrize("case", REFUSED_BATCHES)
def test_a_batch_prediction_that_contradicts_itself_is_refused(jobs: Any, case: str) -> None:
    more, words = REFUSED_BATCHES[case]
    more = dict(more)
    job = {
        "display_name": "x",
        "model": f"{PARENT}/models/1",
        "input_config": {
            "instances_format": more.pop("format", "jsonl"),
            "gcs_source": {"uris": [f"gs://{BUCKET}/x"]},
        },
        "output_config": {
            "predictions_format": "jsonl",
            "gcs_destination": {"output_uri_prefix": f"gs://{BUCKET}/y"},
        },
    }
    with pytest.raises(exceptions.BadRequest, match=words):
        jobs.create_batch_prediction_job(parent=PARENT, batch_prediction_job=job | more)


@pytest.mark.parametrize("name", ["9a", "0123", "1234567890", "a-", "Ab", "a" * 64])
def test_an_endpoint_has_an_id_of_the_documented_form(endpoints: Any, name: str) -> None:
    with pytest.raises(exceptions.BadRequest, match="does not match"):
        endpoints.create_endpoint(
            parent=PARENT, endpoint={"display_name": "x"}, endpoint_id=name
        ).result()


CPU = "aiplatform.googleapis.com/prediction/online/cpu/utilization"
REFUSED_DEPLOYMENTS: dict[str, tuple[dict[str, Any], str]] = {
    "no replica": ({"min_replica_count": 0}, "minReplicaCount: 0; it must be at least 1"),
    "less at most than at least": (
        {"min_replica_count": 2, "max_replica_count": 1},
        "maxReplicaCount: 1 is less than minReplicaCount, 2",
    ),
    "a GPU on E2": (
        {"machine_spec": machine("e2-standard-4", "NVIDIA_TESLA_T4", 1)},
        "not supported for machine type e2-standard-4",
    ),
    "a metric of another name": (
        {"autoscaling_metric_specs": [{"metric_name": "cpu", "target": 60}]},
        "'cpu' is no metric",
    ),
    "a metric twice": (
        {"autoscaling_metric_specs": [{"metric_name": CPU}, {"metric_name": CPU}]},
        "is there twice",
    ),
    "a target above 100 %": (
        {"autoscaling_metric_specs": [{"metric_name": CPU, "target": 101}]},
        "the target 101 is not 1 to 100 %",
    ),
    "an id that is not a number": ({"id": "abc"}, "'abc' is not 1 to 10 digits"),
}


@pytest.mark.parametrize("case", REFUSED_DEPLOYMENTS)
def test_a_deployment_beyond_the_limits_is_refused(
    aiplatform: ModuleType, endpoints: Any, case: str
) -> None:
    more, words = REFUSED_DEPLOYMENTS[case]
    model = aiplatform.Model.upload(
        display_name="limits",
        serving_container_image_uri=IMAGE,
        serving_container_command=["true"],
    )
    endpoint = aiplatform.Endpoint.create("limits")
    resources = {"machine_spec": machine("n1-standard-2"), "min_replica_count": 1}
    deployed = {"model": model.resource_name, "dedicated_resources": resources}
    (deployed if "id" in more else resources).update(more)
    with pytest.raises(exceptions.BadRequest, match=words):
        endpoints.deploy_model(endpoint=endpoint.resource_name, deployed_model=deployed)
    endpoint.delete()
    model.delete()
