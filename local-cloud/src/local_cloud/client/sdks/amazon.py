"""What is done to the modules of Amazon's SDKs: they find the local cloud, and go nowhere else."""

from __future__ import annotations

import copy
import functools
import logging
import os
import re
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

from local_cloud.client import revival
from local_cloud.client.sdks.console_links import link_here
from local_cloud.client.sdks.redaction import redact_errors
from local_cloud.client.target import is_local, refuse_elsewhere

# What the names of operations begin with that change nothing.
READING = ("Describe", "List", "Get", "Search", "Query", "Filter", "BatchGet")
LOOK = 0.25  # seconds between two looks at a SageMaker job


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
        sent = False

        def once() -> Any:
            nonlocal sent
            if sent:
                request.reset_stream()
            sent = True
            return original(self, request)

        return revival.send(
            request.method,
            request.url,
            once,
            failures=(module.EndpointConnectionError, module.HTTPClientError),
            repeatable=_is_repeatable(request),
        )

    session.send = send


def _is_repeatable(request: Any) -> bool:
    """Return whether an operation may be sent twice.

    It may by its HTTP method, or because it only reads.
    """
    if request.method in revival.REPEATABLE:
        return True
    target = request.headers.get("X-Amz-Target", b"")
    operation = (target.decode() if isinstance(target, bytes) else target).rpartition(".")[2]
    return operation.startswith(READING)


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
        revival.require_server(request.url)
        return await original(self, request)

    session.send = send


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


class _ValidateOnce:
    """The module `jsonschema`, but for a document that it has found valid: that stays valid."""

    def __init__(self, module: ModuleType) -> None:
        """Begin with no document."""
        self._module = module
        self._valid: list[tuple[Any, Any]] = []  # documents and their schemas

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)

    def validate(self, instance: Any, schema: Any) -> None:
        """Raise what the module raises."""
        if any(schema is known and instance == valid for valid, known in self._valid):
            return
        self._module.validate(instance, schema)
        self._valid.append((copy.deepcopy(instance), schema))


def _validate_once(module: ModuleType) -> None:
    # The SageMaker SDK validates its configuration, and the schema itself, whenever it looks
    # something up there: 16 times, and for a second, in one train(). Without a file of ours there
    # would be nothing to validate, but that file is what keeps its telemetry off.
    if not isinstance(module.jsonschema, _ValidateOnce):
        module.jsonschema = _ValidateOnce(module.jsonschema)  # type: ignore[attr-defined]


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


def _wait_often(module: ModuleType) -> None:
    # A waiter of botocore looks at an execution every 30 seconds, 60 times. Here it looks more
    # often, for as long.
    kind = getattr(module, "PipelineExecution", None) or module._PipelineExecution
    original = kind.wait

    @functools.wraps(original)
    def wait(self: Any, delay: float = 30, max_attempts: int = 60) -> None:
        if is_local() and delay > LOOK:
            delay, max_attempts = LOOK, int(delay * max_attempts / LOOK)
        original(self, delay, max_attempts)

    kind.wait = wait


def _point_sagemaker_2(module: ModuleType) -> None:
    _forget_instance(module)
    _look_often(module)
    # This loop looks at the logs with each turn, but at the job only every 30 seconds.
    loop = module._logs_for_job
    constants = (0 if type(one) is int and one == 30 else one for one in loop.__code__.co_consts)
    loop.__code__ = loop.__code__.replace(co_consts=tuple(constants))


HOOKS: dict[str, Callable[[ModuleType], None]] = {
    "botocore.exceptions": redact_errors("BotoCoreError"),
    "boto3": _forget_session,
    "sagemaker.core.helper.session_helper": _forget_instance,
    "sagemaker.core.config.config": _validate_once,
    "sagemaker.core.config.config_manager": _validate_once,
    "sagemaker.core.resources": _look_often,
    "sagemaker.core.processing": _look_often,
    "sagemaker.core.common_utils": _look_often,
    "sagemaker.mlops.workflow.pipeline": _wait_often,
    "sagemaker.core.telemetry.telemetry_logging": _send_no_telemetry,
    "sagemaker.session": _point_sagemaker_2,
    "sagemaker.train.common_utils.job_wait": link_here("_get_cloudwatch_logs_url"),
    "sagemaker.train.common_utils.metrics_visualizer": link_here(
        "get_console_job_url", "get_cloudwatch_logs_url"
    ),
    "sagemaker.workflow.pipeline": _wait_often,
    "sagemaker.telemetry.telemetry_logging": _send_no_telemetry,
    "sagemaker.serve.utils.telemetry_logger": _send_no_telemetry,
    "botocore.httpsession": _guard_botocore,
    "aiobotocore.httpsession": _guard_aiobotocore,
}
