"""Answers of Google's services, as public records have them: what each case of a check meets.

A case is a list of (part of a URL, status, body); the first that fits answers, and what no case
names goes to the local cloud. Bodies are the services' own shapes, google.rpc.Status with ErrorInfo
as in the records named beside each; ids are made up.
"""

from __future__ import annotations

from typing import Any

Answer = tuple[str, int, Any]
PROJECT, NUMBER, REGION = "my-project", "123456789012", "us-central1"
INFO = "type.googleapis.com/google.rpc.ErrorInfo"


def error(code: int, status: str, message: str, reason: str = "", **metadata: str) -> Any:
    """A google.rpc.Status as JSON."""
    info = {"@type": INFO, "reason": reason, "domain": "googleapis.com", "metadata": metadata}
    refusal: dict[str, Any] = {"code": code, "message": message, "status": status}
    return {"error": refusal | ({"details": [info]} if reason else {})}


# github.com/GoogleCloudPlatform/vertex-ai-samples/issues/476 (2022-04-14) has message and reason,
# github.com/google-gemini/gemini-cli/issues/1343 (2025-06-23) the JSON.
def disabled(title: str, api: str) -> Any:
    """An API that is not enabled."""
    link = f"https://console.developers.google.com/apis/api/{api}/overview?project={NUMBER}"
    return error(
        403,
        "PERMISSION_DENIED",
        f"{title} has not been used in project {NUMBER} before or it is disabled. Enable it by "
        f"visiting {link} then retry. If you enabled this API recently, wait a few minutes for the "
        "action to propagate to our systems and retry.",
        "SERVICE_DISABLED",
        consumer=f"projects/{NUMBER}",
        service=api,
        activationUrl=link,
    )


# github.com/GoogleCloudPlatform/dlp-pdf-redaction/issues/25 (2024-07-17)
NO_QUOTA_PROJECT = error(
    403,
    "PERMISSION_DENIED",
    "Your application is authenticating by using local Application Default Credentials. The "
    "cloudresourcemanager.googleapis.com API requires a quota project, which is not set by "
    "default. To learn how to set your quota project, see "
    "https://cloud.google.com/docs/authentication/adc-troubleshooting/user-creds .",
    "SERVICE_DISABLED",
    consumer="projects/764086051850",
    service="cloudresourcemanager.googleapis.com",
)
# github.com/GoogleCloudPlatform/training-data-analyst/issues/1811 (2021-12-31)
NO_PROJECT = error(
    403,
    "PERMISSION_DENIED",
    "Permission denied on resource project My First Project.",
    "CONSUMER_INVALID",
    consumer="projects/My First Project",
    service="aiplatform.googleapis.com",
)
# github.com/ansible-collections/google.cloud/issues/575 (2023-06-06)
BUCKET_DENIED = error(
    403,
    "PERMISSION_DENIED",
    "ada@example.org does not have storage.buckets.get access to the Google Cloud Storage bucket. "
    "Permission 'storage.buckets.get' denied on resource (or it may not exist).",
)
# Fields: google.cloud.resourcemanager_v3.Project
THE_PROJECT = {"name": f"projects/{NUMBER}", "projectId": PROJECT, "state": "ACTIVE"}


def services(*enabled: str, disabled: tuple[str, ...] = ()) -> Any:
    """batchGet of Service Usage v1; fields: google/api/serviceusage/v1/resources.proto."""
    states = dict.fromkeys(enabled, "ENABLED") | dict.fromkeys(disabled, "DISABLED")
    return {
        "services": [
            {
                "name": f"projects/{NUMBER}/services/{name}.googleapis.com",
                "config": {"name": f"{name}.googleapis.com"},
                "state": state,
            }
            for name, state in states.items()
        ]
    }


def quota(here: int | None) -> Any:
    """consumerQuotaMetrics.get; fields: google/api/serviceusage/v1beta1/resources.proto.

    An int64 is a string in Protobuf's JSON, and is left out where it is zero.
    """
    dimensions = {"dimensions": {"region": REGION}}
    limit = {"effectiveLimit": str(here)} if here else {}
    other = {"effectiveLimit": "42", "dimensions": {"region": "europe-west4"}}
    return {
        "consumerQuotaLimits": [
            {"quotaBuckets": [{"effectiveLimit": "1"}, other, dimensions | limit]}
        ]
    }


CPUS, T4S = "custom_model_training_cpus", "custom_model_training_nvidia_t4_gpus"
GRANTED = {
    "permissions": [
        "aiplatform.customJobs.cancel",
        "aiplatform.customJobs.create",
        "aiplatform.customJobs.list",
        "aiplatform.hyperparameterTuningJobs.create",
        "aiplatform.trainingPipelines.create",
        "aiplatform.trainingPipelines.list",
        "storage.buckets.create",
    ]
}
READY: list[Answer] = [
    (":testIamPermissions", 200, GRANTED),
    ("cloudresourcemanager.googleapis.com/v3/projects/", 200, THE_PROJECT),
    (
        "services:batchGet",
        200,
        services("aiplatform", "storage", "cloudresourcemanager", "artifactregistry"),
    ),
    (CPUS, 200, quota(42)),
    (T4S, 200, quota(2)),
    ("/manifests/", 200, ""),
]
CASES: dict[str, list[Answer]] = {
    "ready": READY,
    "the local cloud": [],
    "no quota project": [("cloudresourcemanager", 403, NO_QUOTA_PROJECT)],
    "no such project": [("cloudresourcemanager", 403, NO_PROJECT)],
    "a project that is deleted": [
        ("cloudresourcemanager", 200, THE_PROJECT | {"state": "DELETE_REQUESTED"})
    ],
    "Resource Manager disabled": [
        (
            "cloudresourcemanager",
            403,
            disabled("Cloud Resource Manager API", "cloudresourcemanager.googleapis.com"),
        ),
    ],
    "Service Usage disabled": [
        ("services:batchGet", 403, disabled("Service Usage API", "serviceusage.googleapis.com")),
        *READY,
    ],
    "Vertex AI disabled": [
        (
            "services:batchGet",
            200,
            services("storage", "cloudresourcemanager", disabled=("aiplatform",)),
        ),
        *READY,
    ],
    "permissions missing": [
        # What is not granted is left out of the answer, which may then be empty.
        (":testIamPermissions", 200, {}),
        *READY,
    ],
    "somebody else's bucket": [
        ("storage.googleapis.com/storage/v1/b/", 403, BUCKET_DENIED),
        *READY,
    ],
    "a bucket elsewhere": [
        (
            "storage.googleapis.com/storage/v1/b/",
            200,
            {"name": "recorded", "location": "EUROPE-WEST4"},
        ),
        *READY,
    ],
    "a bucket to read only": [
        (
            "/iam/testPermissions",
            200,
            {"permissions": ["storage.objects.get", "storage.objects.list"]},
        ),
        ("storage.googleapis.com/storage/v1/b/", 200, {"name": "recorded", "location": "US"}),
        *READY,
    ],
    "no quota": [(T4S, 200, quota(None)), *READY],
    "no image": [("/manifests/", 404, ""), *READY],
    "an answer that is not JSON": [("cloudresourcemanager", 502, "<html>bad gateway</html>")],
}
