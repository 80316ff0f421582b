"""Serve a model as Amazon's prebuilt images do: `python prebuilt_server.py pytorch|scikit-learn`.

Runs as a replica. Stands in for TorchServe with sagemaker-inference-toolkit and
sagemaker-pytorch-inference-toolkit, and for sagemaker-scikit-learn-container; contracts: their
transformer.py, decoder.py, encoder.py, default_pytorch_inference_handler.py and handler_service.py
(read 2026). SAGEMAKER_PROGRAM below SAGEMAKER_SUBMIT_DIRECTORY
may have model_fn, input_fn, predict_fn and output_fn, or transform_fn; the rest are the defaults.
"""

from __future__ import annotations

import importlib
import inspect
import io
import json
import os
import sys
import threading
import traceback
import types
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np

JSON, CSV, NPY = "application/json", "text/csv", "application/x-npy"
TEXT = (JSON, CSV)  # bodies that a program gets as str


class Context:
    """What a program's functions may take behind their other values: TorchServe's context."""

    def __init__(self, model_dir: str) -> None:
        """Begin with nothing answered."""
        self.system_properties = {"model_dir": model_dir, "gpu_id": None}
        self.status = 200

    def set_response_status(self, code: int = 200, phrase: str = "", idx: int = 0) -> None:
        """Answer the request with this status."""
        self.status = code


class BaseInferenceToolkitError(Exception):
    """A failure with a status of its own: sagemaker_inference.errors."""

    def __init__(self, status_code: int, message: str, phrase: str) -> None:
        """Keep what is answered."""
        super().__init__(message)
        self.status_code, self.message, self.phrase = status_code, message, phrase


class UnsupportedFormatError(Exception):
    """A content type that the defaults do not know."""

    def __init__(self, content_type: str) -> None:
        """Use the toolkit's sentence."""
        super().__init__(f"Content type {content_type} is not supported by this framework.")


def decode(body: str | bytes, content_type: str) -> Any:
    """Return the array in a body."""
    if content_type == JSON:
        return np.array(json.loads(body))
    if content_type == CSV:
        text = body if isinstance(body, str) else body.decode()
        return np.genfromtxt(io.StringIO(text), dtype=np.float32, delimiter=",")
    if content_type == NPY and isinstance(body, bytes):
        return np.load(io.BytesIO(body), allow_pickle=False)
    raise UnsupportedFormatError(content_type)


def encode(array: Any, content_type: str) -> str | bytes:
    """Return the body that holds an array."""
    if content_type == JSON:
        return json.dumps(array.tolist() if hasattr(array, "tolist") else array)
    if content_type == CSV:
        text = io.StringIO()
        np.savetxt(text, np.asarray(array), delimiter=",", fmt="%s")
        return text.getvalue()
    if content_type == NPY:
        content = io.BytesIO()
        np.save(content, np.asarray(array))
        return content.getvalue()
    raise UnsupportedFormatError(content_type)


def toolkit() -> None:
    """Let a program import sagemaker_inference, as far as programs do."""
    package = types.ModuleType("sagemaker_inference")
    parts: dict[str, dict[str, Any]] = {
        "content_types": {"JSON": JSON, "CSV": CSV, "NPY": NPY, "UTF8_TYPES": [JSON, CSV]},
        "decoder": {"decode": decode},
        "encoder": {"encode": encode},
        "errors": {
            "BaseInferenceToolkitError": BaseInferenceToolkitError,
            "UnsupportedFormatError": UnsupportedFormatError,
        },
    }
    sys.modules.setdefault("sagemaker_inference", package)
    for name, members in parts.items():
        module = types.ModuleType(f"sagemaker_inference.{name}")
        vars(module).update(members)
        vars(package)[name] = module
        sys.modules.setdefault(module.__name__, module)


# ---- PyTorch's defaults ----------------------------------------------------------------------
def model_fn(model_dir: str) -> Any:
    """Load the one TorchScript model of the folder."""
    import torch

    files = [*Path(model_dir).glob("*.pt"), *Path(model_dir).glob("*.pth")]
    (path,) = [each for each in files if each.name == "model.pt"] or files
    jit: Any = torch.jit
    try:
        return jit.load(str(path), "cpu")
    except RuntimeError as problem:
        sys.exit(
            f"{path} is not TorchScript, and the archive has no code/inference.py whose model_fn "
            f"loads it: {str(problem).splitlines()[0]}"
        )


def input_fn(body: str | bytes, content_type: str) -> Any:
    """Return the request's array as a tensor."""
    import torch

    return torch.as_tensor(decode(body, content_type), dtype=torch.float32)


def predict_fn(data: Any, model: Any) -> Any:
    """Return the model's output."""
    import torch

    with torch.no_grad():
        model.eval()
        return model(data)


def output_fn(prediction: Any, accept: str) -> str | bytes:
    """Return the output as the client wants it."""
    return encode(prediction.detach().cpu().numpy(), accept)


PYTORCH: dict[str, Callable[..., Any]] = {
    "model_fn": model_fn,
    "input_fn": input_fn,
    "predict_fn": predict_fn,
    "output_fn": output_fn,
}


# ---- scikit-learn's defaults -----------------------------------------------------------------
def no_model_fn(model_dir: str) -> Any:
    """Refuse to guess which file of the folder is the model, as the image does."""
    sys.exit(f"scikit-learn's image needs a model_fn in {os.environ['SAGEMAKER_PROGRAM']}")


def array_input_fn(body: str | bytes, content_type: str) -> Any:
    """Return the request's array, of float32 if it was text."""
    array = decode(body, content_type)
    return array.astype(np.float32) if content_type in TEXT else array


def estimator_predict_fn(data: Any, model: Any) -> Any:
    """Return the estimator's predictions."""
    return model.predict(data)


SCIKIT_LEARN: dict[str, Callable[..., Any]] = {
    "model_fn": no_model_fn,
    "input_fn": array_input_fn,
    "predict_fn": estimator_predict_fn,
    "output_fn": encode,
}

DEFAULTS = {"pytorch": PYTORCH, "scikit-learn": SCIKIT_LEARN}


class Transformer:
    """The model, and the functions that requests go through."""

    def __init__(self, defaults: Mapping[str, Callable[..., Any]]) -> None:
        """Import the program, if there is one, and load the model."""
        code = Path(os.environ["SAGEMAKER_SUBMIT_DIRECTORY"])
        program = os.environ["SAGEMAKER_PROGRAM"]
        own: dict[str, Any] = {}
        if (code / program).is_file():
            sys.path.insert(0, str((code / program).parent))
            own = vars(importlib.import_module(Path(program).stem))
        mixed = [name for name in ("input_fn", "predict_fn", "output_fn") if name in own]
        self._transform = own.get("transform_fn")
        if self._transform and mixed:
            raise ValueError(f"Cannot use transform_fn implementation in conjunction with {mixed}")
        self._steps = {name: own.get(name, default) for name, default in defaults.items()}
        self._default = os.environ.get("SAGEMAKER_DEFAULT_INVOCATIONS_ACCEPT") or JSON
        self._turn = threading.Lock()  # one request at a time
        self._folder = os.environ["SM_MODEL_DIR"]
        context = Context(self._folder)
        if before := own.get("pre_model_fn"):
            _call(before, context, self._folder)
        self._model = _call(self._steps["model_fn"], context, self._folder)
        if after := own.get("model_warmup_fn"):
            _call(after, context, self._folder, self._model)

    def answer(self, body: bytes, content_type: str, accept: str) -> tuple[int, str | bytes, str]:
        """Return the status, the body and the type of the answer."""
        try:
            content = body.decode() if content_type in TEXT else body
        except UnicodeDecodeError as problem:  # the image's answer would be a status of 500
            error = {"message": f"the body is no {content_type}: {problem}", "instances": []}
            return 400, json.dumps({"error": error}), JSON
        wanted = self._default if accept in ("", "*/*") else accept
        context = Context(self._folder)
        with self._turn:
            if self._transform:
                found = _call(self._transform, context, self._model, content, content_type, wanted)
            else:
                data = _call(self._steps["input_fn"], context, content, content_type)
                prediction = _call(self._steps["predict_fn"], context, data, self._model)
                found = _call(self._steps["output_fn"], context, prediction, wanted)
        text, kind = found if isinstance(found, tuple) else (found, wanted)
        return context.status, text, kind


def _call(function: Callable[..., Any], context: Context, *values: Any) -> Any:
    """Call a program's function, which may take the context behind the rest."""
    taken = len(inspect.signature(function).parameters)
    if taken not in (len(values), len(values) + 1):
        raise TypeError(f"{function.__name__} takes {taken} arguments but {len(values)} were given")
    return function(*values, context) if taken > len(values) else function(*values)


class Handler(BaseHTTPRequestHandler):
    """Answers /ping and /invocations."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1  # headers and body go out together
    transformer: Transformer

    def do_GET(self) -> None:
        """Answer the health check."""
        self._answer(200 if self.path == "/ping" else 404, b"", JSON)

    def do_POST(self) -> None:
        """Answer with predictions, or with what the program said against the request."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path != "/invocations":
            self._answer(404, b"", JSON)
            return
        kind, accept = self.headers.get("Content-Type") or JSON, self.headers.get("Accept") or ""
        try:
            status, found, kind = self.transformer.answer(body, kind, accept)
        except Exception as problem:  # noqa: BLE001 - a program raises anything
            status = problem.status_code if isinstance(problem, BaseInferenceToolkitError) else 500
            text = f"{problem}\n{traceback.format_exc()}"
            sys.stderr.write(text)
            self._answer(status, text.encode(), "text/plain")
            return
        self._answer(status, found.encode() if isinstance(found, str) else bytes(found), kind)

    def _answer(self, status: int, body: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Write nothing for each request: the local cloud keeps a log of them."""


def main() -> None:
    """Load the model, then serve it."""
    toolkit()
    Handler.transformer = Transformer(DEFAULTS[sys.argv[1]])
    port = int(os.environ["SAGEMAKER_BIND_TO_PORT"])
    ThreadingHTTPServer((os.environ.get("SERVE_HOST", ""), port), Handler).serve_forever()


if __name__ == "__main__":
    sys.path.pop(0)  # this folder, whose modules have names that a model's packages may have
    main()
