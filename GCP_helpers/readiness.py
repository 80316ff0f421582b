"""Check with read-only calls whether jobs can be sent to Vertex AI: `python -m lesson.check`.

Everything here is a GET, a HEAD or a `testIamPermissions`, which changes nothing. Sources, read
2026-11-22: `projects.get` and `projects.testIamPermissions` in google.cloud.resourcemanager_v3;
`services.batchGet` and `consumerQuotaMetrics.get` of Service Usage, v1 and v1beta1; the registry's
manifests in the OCI distribution specification.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date
from functools import cached_property
from typing import TYPE_CHECKING, Any

from GCP_helpers import images
from GCP_helpers.costs import REGION
from GCP_helpers.session import BUCKET_NAME, project_in_use
from lesson.services import sessions
from lesson.services.sessions import bucket_name
from lesson.setup.findings import Fix, Skip

if TYPE_CHECKING:
    import requests

FIRST = ("credentials", "project")  # without these nothing else can be asked
RESOURCES = "https://cloudresourcemanager.googleapis.com/v3/projects"
USAGE = "https://serviceusage.googleapis.com"
SCOPE = "https://www.googleapis.com/auth/cloud-platform"
APIS = ("aiplatform", "storage", "cloudresourcemanager")
# What the verbs do: roles/aiplatform.user has all of these.
PERMISSIONS = (
    "aiplatform.customJobs.cancel",
    "aiplatform.customJobs.create",
    "aiplatform.customJobs.list",
    "aiplatform.hyperparameterTuningJobs.create",
    "aiplatform.trainingPipelines.create",
    "aiplatform.trainingPipelines.list",
)
IN_BUCKET = ("create", "delete", "get", "list")
# What the lesson's largest request needs, and of what: three n1-standard-4, one T4.
QUOTAS = {"custom_model_training_cpus": 12, "custom_model_training_nvidia_t4_gpus": 1}
MANIFESTS = ", ".join(
    f"application/vnd.{kind}+json"
    for kind in (
        "oci.image.index.v1",
        "oci.image.manifest.v1",
        "docker.distribution.manifest.list.v2",
        "docker.distribution.manifest.v2",
    )
)
LOGIN = "run `gcloud auth application-default login` in a terminal"
TIMEOUT = 30  # seconds for an answer


def checks(region: str | None = None) -> Mapping[str, Callable[[], str]]:
    """Return the checks by name, in order; `region` is where the jobs run."""
    google = Google(region or REGION)
    return {
        "credentials": google.credentials,
        "project": google.check_project,
        "APIs": google.check_apis,
        "permissions": google.check_permissions,
        "bucket": google.check_bucket,
        "quota": google.check_quota,
        "image": google.check_image,
    }


class CheckRefused(Exception):
    """A service answered with an error; `status` is that of HTTP, `reason` that of its details."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        """Take them from the answer."""
        super().__init__(message)
        self.status, self.reason = status, reason


class Google:
    """The checks; what one finds out the next ones use."""

    def __init__(self, region: str) -> None:
        """Take where the jobs run."""
        self.region = region

    @cached_property
    def project(self) -> str:
        """Return the project's id."""
        return project_in_use(None)

    @cached_property
    def project_resource(self) -> dict[str, Any]:
        """Return what Resource Manager says of the project."""
        return self._ask("GET", f"{RESOURCES}/{self.project}")

    @property
    def project_name(self) -> str:
        """Return the project by its number, as Service Usage names it: projects/123."""
        return str(self.project_resource["name"])

    @cached_property
    def own_credentials(self) -> Any:
        """Return the credentials of this machine."""
        import google.auth

        return google.auth.default(scopes=[SCOPE])[0]

    @cached_property
    def session(self) -> requests.Session:
        """Return a session that adds the credentials to each request."""
        from google.auth.transport.requests import AuthorizedSession

        make: Any = AuthorizedSession  # without types
        made: requests.Session = make(self.own_credentials)
        return made

    def credentials(self) -> str:
        """Check that there are credentials, and that Google accepts them."""
        from google.auth.exceptions import DefaultCredentialsError, RefreshError, TransportError
        from google.auth.transport.requests import Request

        sessions.activate("STORAGE_EMULATOR_HOST")
        try:
            own = self.own_credentials
            if not own.valid:
                own.refresh(Request())
        except DefaultCredentialsError:
            raise Fix(f"there are no Google credentials on this machine; {LOGIN}") from None
        except RefreshError as problem:
            raise Fix(f"Google does not accept them ({problem.args[0]}); {LOGIN}") from None
        except TransportError:
            raise Fix("Google does not answer; look at your network, and try again") from None
        for name in ("service_account_email", "account"):  # of a service account, of a person
            account = getattr(own, name, "")
            if account:
                return f"accepted, {account}"
        return "accepted"

    def check_project(self) -> str:
        """Check that the project exists and is active."""
        state = self.project_resource.get("state")
        if state != "ACTIVE":
            raise Fix(f"{self.project} is {state}: name another project in GOOGLE_CLOUD_PROJECT")
        return f"{self.project}, {self.project_name}"

    def check_apis(self) -> str:
        """Check that the project has the APIs enabled."""
        wanted = [f"{name}.googleapis.com" for name in APIS]
        if self._is_in_registry(self.image):
            wanted.append("artifactregistry.googleapis.com")
        names = "&".join(f"names={self.project_name}/services/{name}" for name in wanted)
        url = f"{USAGE}/v1/{self.project_name}/services:batchGet?{names}"
        services = self._ask("GET", url).get("services", [])
        enabled = {each["config"]["name"] for each in services if each.get("state") == "ENABLED"}
        if missing := [name for name in wanted if name not in enabled]:
            raise Fix(f"not enabled: {self._enable(*missing)}")
        return ", ".join(wanted)

    def check_permissions(self) -> str:
        """Check that these credentials may send, list and cancel jobs."""
        if missing := self._not_granted(PERMISSIONS):
            raise Fix(
                f"missing: {', '.join(missing)}; ask for the role roles/aiplatform.user in "
                f"{self.project}"
            )
        return "these credentials may send, list and cancel jobs"

    def check_bucket(self) -> str:
        """Check that the bucket is where the jobs are, and that it may be written."""
        from google.api_core.exceptions import Forbidden
        from google.cloud import storage

        name = bucket_name(None, "gs://", BUCKET_NAME)
        client = storage.Client(project=self.project, credentials=self.own_credentials)
        try:
            bucket = client.lookup_bucket(name, timeout=TIMEOUT, retry=None)
        except Forbidden:
            raise Fix(
                f"gs://{name} belongs to somebody else, or you may not look at it; choose another "
                "name in LESSON_BUCKET, or ask for roles/storage.admin on it"
            ) from None
        if bucket is None:
            if self._not_granted(["storage.buckets.create"]):
                raise Fix(
                    f"there is no gs://{name}, and you may not make it: ask for the bucket, or for "
                    f"storage.buckets.create in {self.project}"
                )
            return f"gs://{name} is not there yet; connect() makes it in {self.region}"
        where = bucket.location.lower()
        if not self.region.startswith(where):  # "us" is a multi-region that has us-central1
            raise Fix(
                f"gs://{name} is in {where}, the jobs are in {self.region}: choose another name in "
                f"LESSON_BUCKET, or connect(region={where!r})"
            )
        wanted = [f"storage.objects.{verb}" for verb in IN_BUCKET]
        granted = bucket.test_iam_permissions(wanted, timeout=TIMEOUT)
        if missing := [each for each in wanted if each not in granted]:
            raise Fix(
                f"gs://{name}: missing {', '.join(missing)}; "
                "ask for roles/storage.objectAdmin on it"
            )
        return f"gs://{name} in {where}; you may write, read, list and delete in it"

    def check_quota(self) -> str:
        """Check that the quota of the region is enough for the lesson's largest request."""
        limits = {metric: self._limit(metric) for metric in QUOTAS}
        said = ", ".join(f"{metric} {limit}" for metric, limit in limits.items())
        if short := [name for name, need in QUOTAS.items() if 0 <= limits[name] < need]:
            wishes = ", ".join(f"{name}: {QUOTAS[name]}" for name in short)
            raise Fix(
                f"{said} in {self.region}; ask for more ({wishes}) days before you need it: "
                f"https://console.cloud.google.com/iam-admin/quotas?project={self.project}"
            )
        return f"{said} in {self.region}"

    @property
    def image(self) -> str:
        """Return the image in which the jobs would run."""
        return images.own() or images.lessons_own(self.project, self.region)

    def check_image(self) -> str:
        """Check that the image can still be pulled."""
        host, _, path = self.image.partition("/")
        name, *tag = re.split("[:@]", path, maxsplit=1)
        url = f"https://{host}/v2/{name}/manifests/{tag[0] if tag else 'latest'}"
        try:
            self._ask("HEAD", url, headers={"Accept": MANIFESTS})
        except CheckRefused as refusal:
            raise Fix(
                f"{self.image}: the registry answers {refusal.status}; build and push the lesson's "
                "own (`python -m tools.image --cloud gcp` prints how), and name it in LESSON_IMAGE"
            ) from None
        if self.image.endswith(f"/{images.OWN}"):  # it has been pushed
            return self.image
        return images.check(self.image, date.today()) or self.image

    # ---- what is asked --------------------------------------------------------------------------
    def _ask(self, method: str, url: str, **more: Any) -> dict[str, Any]:
        """Return a service's answer; CheckRefused, Fix or Skip for what it refuses."""
        import requests
        from google.auth.exceptions import TransportError

        try:
            answer = self.session.request(method, url, timeout=TIMEOUT, **more)
        except (requests.ConnectionError, requests.Timeout, TransportError):
            raise Fix(f"{url.split('/')[2]} does not answer; look at your network") from None
        if answer.status_code == 501:
            raise Skip("this service is not here, so it cannot be told")
        if answer.ok:
            content: dict[str, Any] = answer.json() if answer.content else {}
            return content
        raise self._refusal(answer)

    def _refusal(self, answer: Any) -> Exception:
        """Return a Fix for what can be told of any service, and CheckRefused for the rest."""
        if answer.status_code >= 500:
            host = answer.url.split("/")[2]
            return Fix(f"{host} answers {answer.status_code}; try again in a few minutes")
        try:
            error = answer.json()["error"]
        except (ValueError, KeyError, TypeError):
            return CheckRefused(answer.status_code, "", answer.reason or "")
        details = [each for each in error.get("details", []) if "reason" in each]
        reason = details[0]["reason"] if details else ""
        message = str(error.get("message", ""))
        if "quota project" in message:
            return Fix(
                "your credentials name no project for quotas: run `gcloud auth "
                f"application-default set-quota-project {self.project}`"
            )
        if reason == "SERVICE_DISABLED":
            return Fix(self._enable(details[0]["metadata"]["service"]))
        if answer.status_code in (401, 403):
            return Fix(
                f"refused: {message} Look at the project's id in GOOGLE_CLOUD_PROJECT, or ask for "
                "the permission"
            )
        return CheckRefused(answer.status_code, reason, message)

    def _enable(self, *apis: str) -> str:
        return (
            f"run `gcloud services enable {' '.join(apis)} --project {self.project}`, "
            "and wait a few minutes"
        )

    def _not_granted(self, wanted: Any) -> list[str]:
        """Return which permissions in the project these credentials lack."""
        url = f"{RESOURCES}/{self.project}:testIamPermissions"
        granted = self._ask("POST", url, json={"permissions": list(wanted)}).get("permissions", [])
        return [each for each in wanted if each not in granted]

    def _limit(self, metric: str) -> int:
        """Return a quota's limit in the region; -1 is no limit."""
        quota = self._ask(
            "GET",
            f"{USAGE}/v1beta1/{self.project_name}/services/"
            f"aiplatform.googleapis.com/consumerQuotaMetrics/aiplatform.googleapis.com%2F{metric}",
        )
        limits = quota.get("consumerQuotaLimits", [])
        buckets = [bucket for limit in limits for bucket in limit.get("quotaBuckets", [])]
        here = [one for one in buckets if one.get("dimensions", {}).get("region") == self.region]
        general = [one for one in buckets if not one.get("dimensions")]
        # Protobuf's JSON leaves out what is zero.
        return int((here or general or [{}])[0].get("effectiveLimit", 0))

    def _is_in_registry(self, image: str) -> bool:
        return ".pkg.dev/" in image and not images.is_prebuilt(image)
