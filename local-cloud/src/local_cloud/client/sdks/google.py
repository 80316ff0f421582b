"""What is done to the modules of Google's SDKs: they find the local cloud, and go nowhere else."""

from __future__ import annotations

import functools
import os
import re
import tempfile
import warnings
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

from local_cloud.client import revival
from local_cloud.client.sdks import google_clients, google_errors
from local_cloud.client.sdks.redaction import redact_errors
from local_cloud.client.target import is_local, refuse_elsewhere
from local_cloud.errors import LocalCloudError


def _point_aiplatform(initializer: ModuleType) -> None:
    config = initializer.global_config
    config.init(
        api_endpoint=os.environ["LOCAL_CLOUD_VERTEX_URL"],
        api_transport="rest",
        credentials=google_clients.nobody(),
    )
    if hasattr(config, "_async_rest_credentials"):  # not in older versions
        config._async_rest_credentials = google_clients.async_nobody()


def _look_without_pause(module: ModuleType) -> None:
    # The SDK sleeps five seconds between two looks at a job. The server holds each look until the
    # state changes, so here it need not sleep at all.
    module._JOB_WAIT_TIME = 0  # type: ignore[attr-defined]


def _point_projects(module: ModuleType) -> None:
    # The SDKs make this client themselves, to turn a project's id into its number and back.
    google_clients.point_client(module.ProjectsClient)


def _log_with_mlflow_3(plugin: ModuleType) -> None:
    # The SDK's plug-in for mlflow gives RunInfo the run's id once more, as `run_uuid`, an argument
    # that mlflow 3 has not. mlflow catches the error and goes on, so that a run would be made and
    # nothing be logged to it, in silence.
    import inspect

    entities = plugin.mlflow_entities
    if "run_uuid" in inspect.signature(entities.RunInfo).parameters:
        return

    def run_info(run_uuid: str = "", **facts: Any) -> Any:
        return entities.RunInfo(**facts)

    plugin.mlflow_entities = SimpleNamespace(**{**vars(entities), "RunInfo": run_info})  # type: ignore[attr-defined]
    import mlflow

    warnings.warn(
        f"autolog() works here with mlflow {mlflow.__version__}. Against the real service this SDK"
        " logs nothing with it, and reports no error: install mlflow 2.16 or older there",
        stacklevel=2,
    )


def _require_no_older_mlflow(constants: ModuleType) -> None:
    # enable_autolog=True requires mlflow 2.16 for the job, whose protobuf breaks this environment.
    message = constants.AIPLATFORM_AUTOLOG_DEPENDENCY_PATH
    constants.AIPLATFORM_AUTOLOG_DEPENDENCY_PATH = message.replace("[autologging]", "")  # type: ignore[attr-defined]


def _guard_requests(module: ModuleType) -> None:
    session = module.AuthorizedSession
    if hasattr(session.request, "__wrapped__"):
        return
    original = session.request

    @functools.wraps(original)
    def request(self: Any, method: str, url: str, *args: Any, **kwargs: Any) -> Any:
        if is_local() and (
            match := re.match(r"https://([a-z0-9-]+-)?aiplatform\.googleapis\.com", url)
        ):
            # Endpoint.raw_predict() names this host itself, whatever init() was given.
            url = os.environ["LOCAL_CLOUD_VERTEX_URL"] + url[match.end() :]
        refuse_elsewhere(url)
        body = args[0] if args else kwargs.get("data")
        is_kept = body is None or isinstance(body, (bytes, str, dict))  # a stream is read once
        return revival.send(
            method,
            url,
            lambda: original(self, method, url, *args, **kwargs),
            failures=(module.requests.exceptions.ConnectionError,),
            repeatable=method in revival.REPEATABLE and is_kept,
        )

    session.request = request

    # What fetches and renews the tokens of real credentials has a session of its own.
    fetch = module.Request.__call__

    @functools.wraps(fetch)
    def call(self: Any, url: str, *args: Any, **kwargs: Any) -> Any:
        refuse_elsewhere(url)
        return fetch(self, url, *args, **kwargs)

    module.Request.__call__ = call


def _show_no_button(module: ModuleType) -> None:
    # A notebook would show a link to the real console, drawn with a font that the browser fetches.
    if hasattr(module.display_link, "__wrapped__"):
        return
    original = module.display_link

    @functools.wraps(original)
    def display_link(*args: Any, **kwargs: Any) -> None:
        if not is_local():
            original(*args, **kwargs)

    module.display_link = display_link  # type: ignore[attr-defined]


def _no_account(auth: ModuleType) -> None:
    # The SDK's trackers ask for the credentials of this machine's user, whatever init() was given.
    if hasattr(auth.default, "__wrapped__"):
        return
    original = auth.default

    @functools.wraps(original)
    def default(*args: Any, **kwargs: Any) -> Any:
        if not is_local():
            return original(*args, **kwargs)
        return google_clients.nobody(), os.environ.get("GOOGLE_CLOUD_PROJECT")

    auth.default = default  # type: ignore[attr-defined]


def _guard_channels(module: ModuleType) -> None:
    if hasattr(module.create_channel, "__wrapped__"):
        return
    original = module.create_channel

    @functools.wraps(original)
    def create_channel(target: str, *args: Any, **kwargs: Any) -> Any:
        refuse_elsewhere(target)
        return original(target, *args, **kwargs)

    module.create_channel = create_channel  # type: ignore[attr-defined]


def _grpc_helpers(module: ModuleType) -> None:
    _guard_channels(module)
    google_errors.map_timeouts(module)


def _guard_gcsfs(module: ModuleType) -> None:
    system = module.GCSFileSystem
    if hasattr(system._format_path, "__wrapped__"):
        return
    original = system._format_path

    @functools.wraps(original)
    def format_path(self: Any, *args: Any) -> str:
        url: str = original(self, *args)
        refuse_elsewhere(url)
        revival.require_server(url)
        return url

    system._format_path = format_path


def _read_rows_over_rest(module: ModuleType) -> None:
    # BigQuery's client reads large results over gRPC, from a service of its own that is not here;
    # without that service's library it says so with each result.
    original = module.RowIterator._should_use_bqstorage
    if hasattr(original, "__wrapped__"):
        return

    @functools.wraps(original)
    def should_use(self: Any, *args: Any, **kwargs: Any) -> bool:
        return not is_local() and bool(original(self, *args, **kwargs))

    module.RowIterator._should_use_bqstorage = should_use


def _make_no_storage_client(module: ModuleType) -> None:
    original = module.Client._ensure_bqstorage_client
    if hasattr(original, "__wrapped__"):
        return

    @functools.wraps(original)
    def ensure(self: Any, *args: Any, **kwargs: Any) -> Any:
        return None if is_local() else original(self, *args, **kwargs)

    module.Client._ensure_bqstorage_client = ensure


def _report_apart(module: ModuleType) -> None:
    # In a job that is no trial cloudml-hypertune writes below /tmp, which all users share: whoever
    # lays a link there first has another file overwritten. A job's temporary folder is its own.
    own = os.path.join(tempfile.gettempdir(), "hypertune", "output.metrics")
    module._DEFAULT_METRIC_PATH = own  # type: ignore[attr-defined]


def _find_buckets(module: ModuleType) -> None:
    # A component finds an artifact of gs:// below /gcs; a machine without mounts has it elsewhere.
    module._GCS_LOCAL_MOUNT_PREFIX = os.environ.get("LOCAL_CLOUD_GCS", "/gcs") + "/"  # type: ignore[attr-defined]


def _read_no_template_elsewhere(module: ModuleType) -> None:
    """PipelineJob reads a template at an https:// URL with urllib, which asks nobody."""
    original = module._load_yaml_from_https_uri
    if hasattr(original, "__wrapped__"):
        return

    @functools.wraps(original)
    def load(uri: str, *args: Any, **kwargs: Any) -> Any:
        if is_local():
            raise LocalCloudError(
                f"not implemented in the local cloud: a template at a URL, such as {uri}; give"
                " PipelineJob the compiled file as its template_path"
            )
        return original(uri, *args, **kwargs)

    module._load_yaml_from_https_uri = load  # type: ignore[attr-defined]


HOOKS: dict[str, Callable[[ModuleType], None]] = {
    "google.cloud.storage.exceptions": redact_errors("DataCorruption"),
    "google.resumable_media.common": redact_errors("DataCorruption"),
    "hypertune.hypertune": _report_apart,
    "kfp.dsl.types.artifact_types": _find_buckets,
    "google.cloud.bigquery.client": _make_no_storage_client,
    "google.cloud.bigquery.table": _read_rows_over_rest,
    "google.cloud.aiplatform.utils._ipython_utils": _show_no_button,
    "google.cloud.aiplatform.initializer": _point_aiplatform,
    "google.cloud.aiplatform.jobs": _look_without_pause,
    "google.cloud.aiplatform.training_jobs": _look_without_pause,
    "google.cloud.aiplatform.pipeline_jobs": _look_without_pause,
    "google.cloud.aiplatform._mlflow_plugin._vertex_mlflow_tracking": _log_with_mlflow_3,
    "google.cloud.aiplatform.constants.base": _require_no_older_mlflow,
    "google.cloud.aiplatform.utils.yaml_utils": _read_no_template_elsewhere,
    "google.cloud.aiplatform_v1": google_clients.point_clients,
    "google.cloud.aiplatform_v1beta1": google_clients.point_clients,
    "google.auth.aio.transport.sessions": google_clients.guard_async_session,
    "google.cloud.resourcemanager_v3.services.projects.client": _point_projects,
    "google.auth": _no_account,
    "google.auth.exceptions": redact_errors("GoogleAuthError"),
    "google.auth.credentials": google_clients.refuse_tokens,
    "google.genai._api_client": google_clients.refuse_gemini,
    "google.auth.transport.requests": _guard_requests,
    "gcsfs.core": _guard_gcsfs,
    "google.api_core.exceptions": google_errors.map_answers,
    "google.api_core.grpc_helpers": _grpc_helpers,
    "google.api_core.grpc_helpers_async": _guard_channels,
}
