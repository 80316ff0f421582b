"""Keep the secret out of what SDKs say: their errors and logs end up in saved notebooks.

Every request's URL holds it, and the SDKs' exceptions quote the URL.
"""

from __future__ import annotations

import functools
import logging
import os
from collections.abc import Callable
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

from local_cloud.client.sdks.console_links import to_console

INSTEAD = "SECRET"
CHATTY = ("urllib3", "botocore", "boto3", "google", "sagemaker")  # loggers that quote URLs


def redact(text: str) -> str:
    """Return the text without the secret of the local cloud that this process uses."""
    url = os.environ.get("LOCAL_CLOUD_VERTEX_URL", "")
    secret = urlsplit(url).path.strip("/")
    return text.replace(secret, INSTEAD) if secret else text


def _redact_value(value: Any) -> Any:
    if isinstance(value, str):
        return redact(value)
    if type(value) is dict:
        return {name: _redact_value(each) for name, each in value.items()}
    return value


def redact_errors(name: str) -> Callable[[ModuleType], None]:
    """Return a hook: exceptions of this class, and of its subclasses, hold no secret."""

    def hook(module: ModuleType) -> None:
        kind = getattr(module, name)
        original = kind.__init__
        if hasattr(original, "__wrapped__"):
            return

        @functools.wraps(original)
        def __init__(self: BaseException, *args: Any, **kwargs: Any) -> None:
            original(self, *args, **kwargs)
            self.args = tuple(_redact_value(each) for each in self.args)
            vars(self).update({each: _redact_value(value) for each, value in vars(self).items()})

        kind.__init__ = __init__

    return hook


def redact_log_records() -> None:
    """Have what the SDKs log hold no secret, and links to the console, whoever writes it."""
    make = logging.getLogRecordFactory()
    if hasattr(make, "__wrapped__"):
        return

    @functools.wraps(make)
    def make_redacted(*args: Any, **kwargs: Any) -> logging.LogRecord:
        record = make(*args, **kwargs)
        if record.name.partition(".")[0] in CHATTY:
            text = record.getMessage()
            if (safe := to_console(redact(text))) != text:
                record.msg, record.args = safe, ()
        return record

    logging.setLogRecordFactory(make_redacted)
