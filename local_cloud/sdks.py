"""What is done to the real SDKs' modules: they find the local cloud, and go nowhere else."""

from __future__ import annotations

import functools
import logging
import os
import re
import tempfile
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

from local_cloud import peers
from local_cloud.errors import LocalCloudError
from local_cloud.redaction import redacting

LOOPBACK = ("127.0.0.1", "localhost", "::1")
LOOK = 0.25  # seconds between two looks at a SageMaker job


def _point_aiplatform(initializer: ModuleType) -> None:
    from google.auth.credentials import AnonymousCredentials

    initializer.global_config.init(
        api_endpoint=os.environ["LOCAL_CLOUD_VERTEX_URL"],
        api_transport="rest",
        credentials=AnonymousCredentials(),  # type: ignore[no-untyped-call]
    )


def _look_without_pause(module: ModuleType) -> None:
    # The SDK sleeps five seconds between two looks at a job. The server holds each look until the
    # state changes, so here it need not sleep at all.
    module._JOB_WAIT_TIME = 0  # type: ignore[attr-defined]


def _point_projects(module: ModuleType) -> None:
    # The SDKs make this client themselves, to turn a project's id into its number and back.
    client = module.ProjectsClient
    original = client.__init__
    if hasattr(original, "__wrapped__"):
        return

    @functools.wraps(original)
    def init(self: Any, **options: Any) -> None:
        if is_local() and not (options.get("transport") or options.get("client_options")):
            options["transport"] = "rest"
            options["client_options"] = {"api_endpoint": os.environ["LOCAL_CLOUD_VERTEX_URL"]}
        original(self, **options)

    client.__init__ = init


def _check_mlflow(module: ModuleType) -> None:
    # The SDK's plug-in for mlflow gives RunInfo an argument that mlflow 3 has not. mlflow catches
    # the error and goes on, so that a run would be made and nothing be logged to it, in silence.
    tracker = module._ExperimentTracker
    original = tracker._initialize_mlflow_plugin
    if hasattr(original, "__wrapped__"):
        return

    @functools.wraps(original)
    def initialize() -> None:
        import inspect

        import mlflow

        if "run_uuid" not in inspect.signature(mlflow.entities.RunInfo).parameters:
            raise LocalCloudError(
                f"autolog() of google-cloud-aiplatform takes mlflow up to 2.16.0, and here is"
                f" mlflow {mlflow.__version__}, with which it logs nothing: log with"
                " aiplatform.log_params() and log_metrics(), or use an environment with"
                " `pip install 'google-cloud-aiplatform[autologging]'` and without version 3 of"
                " the SageMaker SDK, which needs mlflow 3"
            )
        original()

    tracker._initialize_mlflow_plugin = staticmethod(initialize)


def is_local() -> bool:
    """Whether everything stays on this machine: unless LESSON_TARGET is cloud, to the letter."""
    return os.environ.get("LESSON_TARGET") != "cloud"


def refuse_elsewhere(address: str) -> None:
    """Raise LocalCloudError unless the URL is on loopback, and no other user's program is there.

    While the local cloud does not run its port may be taken by anybody, and requests hold the
    secret and the user's data.
    """
    parts = urlsplit(address if "://" in address else f"//{address}")
    host = parts.hostname
    if host in LOOPBACK and parts.port and peers.is_taken(parts.port):
        raise LocalCloudError(
            f"a request was stopped, because another user's program has port {parts.port} now; "
            "restart the kernel and call local_cloud.activate()"
        )
    if host not in LOOPBACK and is_local():
        raise LocalCloudError(
            f"a request to {host} was stopped, because LESSON_TARGET is local; restart the kernel "
            "and call local_cloud.activate() before any client is made, or set it to cloud to use "
            "the real service"
        )


def _guard_requests(module: ModuleType) -> None:
    session = module.AuthorizedSession
    if hasattr(session.request, "__wrapped__"):
        return
    original = session.request

    @functools.wraps(original)
    def request(self: Any, method: str, url: str, *args: Any, **kwargs: Any) -> Any:
        if is_local() and (
            found := re.match(r"https://[a-z0-9-]+-aiplatform\.googleapis\.com", url)
        ):
            # Endpoint.raw_predict() names this host itself, whatever init() was given.
            url = os.environ["LOCAL_CLOUD_VERTEX_URL"] + url[found.end() :]
        refuse_elsewhere(url)
        return original(self, method, url, *args, **kwargs)

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
        from google.auth.credentials import AnonymousCredentials

        nobody = AnonymousCredentials()  # type: ignore[no-untyped-call]
        return nobody, os.environ.get("GOOGLE_CLOUD_PROJECT")

    auth.default = default  # type: ignore[attr-defined]


def _name_conflicts(module: ModuleType) -> None:
    # Over REST the SDK knows an error by its HTTP status, which AlreadyExists and Aborted share.
    # Its own code catches these two, for gRPC, its usual transport, tells them apart; and it reads
    # the message, before which REST puts the address.
    original = module.from_http_response
    if hasattr(original, "__wrapped__"):
        return

    @functools.wraps(original)
    def from_http_response(response: Any) -> Any:
        problem = original(response)
        if type(problem) is not module.Conflict:
            return problem
        try:
            error = response.json()["error"]
            kind = {"ALREADY_EXISTS": module.AlreadyExists, "ABORTED": module.Aborted}[
                error["status"]
            ]
        except (ValueError, TypeError, KeyError):
            return problem
        return kind(error["message"], problem.errors, problem.details, problem.response)

    module.from_http_response = from_http_response  # type: ignore[attr-defined]


def _api_core_exceptions(module: ModuleType) -> None:
    redacting("GoogleAPICallError")(module)
    _name_conflicts(module)


def _guard_channels(module: ModuleType) -> None:
    if hasattr(module.create_channel, "__wrapped__"):
        return
    original = module.create_channel

    @functools.wraps(original)
    def create_channel(target: str, *args: Any, **kwargs: Any) -> Any:
        refuse_elsewhere(target)
        return original(target, *args, **kwargs)

    module.create_channel = create_channel  # type: ignore[attr-defined]


def _guard_botocore(module: ModuleType) -> None:
    session = module.URLLib3Session
    if hasattr(session.send, "__wrapped__"):
        return
    # Version 2 of the SageMaker SDK has logging show that each client has found our address.
    logging.getLogger("botocore.configprovider").setLevel(logging.WARNING)
    original = session.send

    @functools.wraps(original)
    def send(self: Any, request: Any) -> Any:
        _keep_here(request)
        return original(self, request)

    session.send = send


def _keep_here(request: Any) -> None:
    """Have a request of botocore go to the local cloud, or refuse it."""
    host = urlsplit(request.url).hostname or ""
    if re.fullmatch(r"sts\.([a-z0-9-]+\.)?amazonaws\.com", host) and is_local():
        # The SageMaker SDK names this host itself, so that AWS_ENDPOINT_URL has no say.
        request.url = os.environ["AWS_ENDPOINT_URL"]
    refuse_elsewhere(request.url)


def _guard_aiobotocore(module: ModuleType) -> None:
    # s3fs sends its requests through it, and not through botocore.
    session = module.AIOHTTPSession
    if hasattr(session.send, "__wrapped__"):
        return
    original = session.send

    @functools.wraps(original)
    async def send(self: Any, request: Any) -> Any:
        _keep_here(request)
        return await original(self, request)

    session.send = send


def _guard_gcsfs(module: ModuleType) -> None:
    system = module.GCSFileSystem
    if hasattr(system._format_path, "__wrapped__"):
        return
    original = system._format_path

    @functools.wraps(original)
    def format_path(self: Any, *args: Any) -> str:
        url: str = original(self, *args)
        refuse_elsewhere(url)
        return url

    system._format_path = format_path


def _forget_session(boto3: ModuleType) -> None:
    # What boto3.client() uses keeps the configuration and the credentials that it found first.
    boto3.DEFAULT_SESSION = None  # type: ignore[attr-defined]


def _forget_instance(module: ModuleType) -> None:
    # In Studio and in a notebook instance this file names the role of a real account.
    module.NOTEBOOK_METADATA_FILE = ""  # type: ignore[attr-defined]


def _send_no_telemetry(module: ModuleType) -> None:
    # It goes out by plain `requests`. The SDK's configuration, too, says that none is wanted; but
    # not to a session that has read another one.
    module._requests_helper = lambda *_, **__: None  # type: ignore[attr-defined]
    # It would say with every call that our configuration was read.
    logging.getLogger("sagemaker.config").setLevel(logging.WARNING)


class _ShortSleep:
    """The module `time`, but for sleeps, which are short where a look costs nothing."""

    def __getattr__(self, name: str) -> Any:
        return getattr(time, name)

    def sleep(self, seconds: float) -> None:
        time.sleep(min(seconds, LOOK) if is_local() else seconds)


def _look_often(module: ModuleType) -> None:
    # In these modules the SageMaker SDK sleeps for nothing but the next look at a job, an
    # endpoint ..., and that 5 to 30 seconds.
    module.time = _ShortSleep()  # type: ignore[attr-defined]


def _point_sagemaker_2(module: ModuleType) -> None:
    _forget_instance(module)
    _look_often(module)
    # This loop looks at the logs with each turn, but at the job only every 30 seconds.
    loop = module._logs_for_job
    constants = (0 if type(one) is int and one == 30 else one for one in loop.__code__.co_consts)
    loop.__code__ = loop.__code__.replace(co_consts=tuple(constants))


def _report_apart(module: ModuleType) -> None:
    # In a job that is no trial cloudml-hypertune writes below /tmp, which all users share: whoever
    # lays a link there first has another file overwritten. A job's temporary folder is its own.
    own = os.path.join(tempfile.gettempdir(), "hypertune", "output.metrics")
    module._DEFAULT_METRIC_PATH = own  # type: ignore[attr-defined]


HOOKS: dict[str, Callable[[ModuleType], None]] = {
    "requests.exceptions": redacting("RequestException"),
    "urllib3.exceptions": redacting("HTTPError"),
    "botocore.exceptions": redacting("BotoCoreError"),
    "google.cloud.storage.exceptions": redacting("DataCorruption"),
    "google.resumable_media.common": redacting("DataCorruption"),
    "boto3": _forget_session,
    "hypertune.hypertune": _report_apart,
    "sagemaker.core.helper.session_helper": _forget_instance,  # version 3
    "sagemaker.core.resources": _look_often,
    "sagemaker.core.telemetry.telemetry_logging": _send_no_telemetry,
    "sagemaker.session": _point_sagemaker_2,  # version 2
    "sagemaker.telemetry.telemetry_logging": _send_no_telemetry,
    "sagemaker.serve.utils.telemetry_logger": _send_no_telemetry,  # both
    "google.cloud.aiplatform.utils._ipython_utils": _show_no_button,
    "google.cloud.aiplatform.initializer": _point_aiplatform,
    "google.cloud.aiplatform.jobs": _look_without_pause,
    "google.cloud.aiplatform.training_jobs": _look_without_pause,
    "google.cloud.aiplatform.metadata.metadata": _check_mlflow,
    "google.cloud.resourcemanager_v3.services.projects.client": _point_projects,
    "google.auth": _no_account,
    "google.auth.transport.requests": _guard_requests,
    "botocore.httpsession": _guard_botocore,
    "aiobotocore.httpsession": _guard_aiobotocore,
    "gcsfs.core": _guard_gcsfs,
    "google.api_core.exceptions": _api_core_exceptions,
    "google.api_core.grpc_helpers": _guard_channels,
    "google.api_core.grpc_helpers_async": _guard_channels,
}
