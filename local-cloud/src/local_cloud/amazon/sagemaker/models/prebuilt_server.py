"""Serve a model as Amazon's prebuilt images do: `python prebuilt_server.py FRAMEWORK`.

FRAMEWORK is pytorch, scikit-learn or xgboost. Runs as a replica. Stands in for TorchServe with
sagemaker-inference-toolkit and sagemaker-pytorch-inference-toolkit, and for
sagemaker-scikit-learn-container and sagemaker-xgboost-container; contracts: their transformer.py,
decoder.py, encoder.py, default_pytorch_inference_handler.py, handler_service.py and serve.py
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
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

JSON, CSV, NPY = "application/json", "text/csv", "application/x-npy"
NPZ, BYTES, ANY = "application/x-npz", "application/octet-stream", "*/*"
TEXT = (JSON, CSV)  # bodies that a program gets as str


class Context:
    """What a program's functions may take behind their other values: TorchServe's context."""

    def __init__(self, model_dir: str, headers: Message) -> None:
        """Begin with nothing answered; headers: the request's."""
        self.system_properties = {"model_dir": model_dir, "gpu_id": None}
        self.status = 200
        self.headers: dict[str, str] = {}  # of the answer
        self._request = headers

    def get_request_header(self, idx: int, key: str) -> str | None:
        """Return a header of the request."""
        return self._request.get(key)

    def get_all_request_header(self, idx: int) -> dict[str, str]:
        """Return all headers of the request."""
        return dict(self._request.items())

    def set_response_status(self, code: int = 200, phrase: str = "", idx: int = 0) -> None:
        """Answer the request with this status."""
        self.status = code

    def set_response_header(self, idx: int, key: str, value: str) -> None:
        """Answer the request with this header."""
        self.headers[key] = value


class BaseInferenceToolkitError(Exception):
    """A failure with a status of its own: sagemaker_inference.errors."""

    def __init__(self, status_code: int, message: str, phrase: str) -> None:
        """Keep what is answered."""
        super().__init__(status_code, message, phrase)
        self.status_code, self.message, self.phrase = status_code, message, phrase


class GenericInferenceToolkitError(BaseInferenceToolkitError):
    """The same, for a program that says no more than a status."""

    def __init__(self, status_code: int, message: str = "", phrase: str = "") -> None:
        """Use the toolkit's message where there is none."""
        message = message or "Invalid Request"
        super().__init__(status_code, message, phrase or message)


class UnsupportedFormatError(Exception):
    """A content type that the defaults do not know."""

    def __init__(self, content_type: str) -> None:
        """Use the toolkit's sentence."""
        super().__init__(f"Content type {content_type} is not supported by this framework.")


def decode(body: str | bytes, content_type: str) -> Any:
    """Return the array in a body; each column of a CSV body has a type of its own."""
    content = body if isinstance(body, bytes) else body.encode()
    if content_type == JSON:
        return np.array(json.loads(content))
    if content_type == CSV:
        return np.genfromtxt(io.StringIO(content.decode()), dtype=None, delimiter=",")
    if content_type == NPY:
        return np.load(io.BytesIO(content), allow_pickle=False)
    if content_type == NPZ:
        sparse: Any = importlib.import_module("scipy.sparse")
        return sparse.load_npz(io.BytesIO(content))
    raise UnsupportedFormatError(content_type)


def encode(values: Any, content_type: str) -> str | bytes:
    """Return the body that holds an array, or what can be one."""
    if content_type == JSON:
        return json.dumps(values, default=_as_list)
    if content_type == CSV:
        text = io.StringIO()
        np.savetxt(text, values, delimiter=",", fmt="%s")
        return text.getvalue()
    if content_type == NPY:
        content = io.BytesIO()
        np.save(content, values)
        return content.getvalue()
    raise UnsupportedFormatError(content_type)


def _as_list(value: Any) -> Any:
    """Return an array or a tensor in what else JSON can hold."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")


def parse_accept(accept: str) -> list[str]:
    """Return the types that an Accept header names, in their order."""
    return accept.replace(" ", "").split(",")


def toolkit() -> None:
    """Let a program import sagemaker_inference, as far as programs do."""
    package = types.ModuleType("sagemaker_inference")
    parts: dict[str, dict[str, Any]] = {
        "content_types": {
            "JSON": JSON,
            "CSV": CSV,
            "NPY": NPY,
            "NPZ": NPZ,
            "UTF8_TYPES": [JSON, CSV],
            "OCTET_STREAM": BYTES,
            "ANY": ANY,
        },
        "decoder": {"decode": decode},
        "encoder": {"encode": encode, "SUPPORTED_CONTENT_TYPES": {JSON, CSV, NPY}},
        "utils": {"parse_accept": parse_accept},
        "errors": {
            "BaseInferenceToolkitError": BaseInferenceToolkitError,
            "GenericInferenceToolkitError": GenericInferenceToolkitError,
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
    models = [each for each in files if each.name == "model.pt"] or files
    if len(models) != 1:
        names = sorted(each.name for each in models)
        sys.exit(f"Exactly one .pth or .pt file is required for PyTorch models: {names}")
    (path,) = models
    jit: Any = torch.jit
    try:
        return jit.load(str(path), "cpu")
    except RuntimeError as problem:
        sys.exit(
            f"{path} is not TorchScript, and the archive has no code/inference.py whose model_fn "
            f"loads it: {str(problem).splitlines()[0]}"
        )


def input_fn(body: str | bytes, content_type: str) -> Any:
    """Return the request's array as a tensor: of float32 from text, of its own type from NPY."""
    import torch

    array = decode(body, content_type)
    if content_type in TEXT:
        return torch.FloatTensor(array)
    return torch.from_numpy(array)


def predict_fn(data: Any, model: Any) -> Any:
    """Return the model's output."""
    import torch

    with torch.no_grad():
        model.eval()
        return model(data)


def output_fn(prediction: Any, accept: str) -> str | bytes:
    """Return the prediction in the first type that the client takes and the toolkit can write.

    A tensor becomes a list first, so that its numbers are Python's.
    """
    import torch

    if type(prediction) is torch.Tensor:
        prediction = prediction.detach().cpu().numpy().tolist()
    for kind in parse_accept(accept):
        if kind in (JSON, CSV, NPY):
            return encode(prediction, kind)
    raise UnsupportedFormatError(accept)


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


# ---- XGBoost's defaults: of the built-in algorithm -------------------------------------------
def booster_model_fn(model_dir: str) -> Any:
    """Load the first file of the folder, by its name, as the image does."""
    xgboost: Any = importlib.import_module("xgboost")
    files = [path for path in sorted(Path(model_dir).iterdir()) if path.is_file()]
    path = next((path for path in files if not path.name.startswith(".")), None)
    if path is None:
        sys.exit("The model's data has no file that XGBoost could load")
    booster = xgboost.Booster()
    try:
        booster.load_model(path)
    except xgboost.core.XGBoostError as problem:
        sys.exit(f"Model {path.name} cannot be loaded: {problem}")
    return booster


def csv_input_fn(body: str | bytes, content_type: str) -> Any:
    """Return the rows of a CSV body, in which an empty value is missing."""
    xgboost: Any = importlib.import_module("xgboost")
    if content_type.partition(";")[0].strip() not in (CSV, "csv"):
        raise _refusal(415, f"Content-type {content_type} is not supported.")
    text = body if isinstance(body, str) else body.decode()
    rows = [line.split(",") for line in text.strip().split("\n")]
    try:
        return xgboost.DMatrix(np.array([[float(item or "nan") for item in row] for row in rows]))
    except ValueError as problem:
        message = f"please ensure data is in csv format: {problem}"
        raise _refusal(415, f"Loading csv data failed with Exception, {message}") from None


def booster_predict_fn(data: Any, model: Any) -> Any:
    """Return the model's predictions, as Python's numbers."""
    xgboost: Any = importlib.import_module("xgboost")
    try:
        return model.predict(data, validate_features=False).tolist()
    except xgboost.core.XGBoostError as problem:
        raise _refusal(400, f"Unable to evaluate payload provided: {problem}") from None


def score_output_fn(prediction: Any, accept: str) -> str | bytes:
    """Return a line for each row, or JSON with a score for each."""
    if accept == JSON:
        return json.dumps({"predictions": [{"score": each} for each in prediction]})
    if accept == CSV:
        return encode(prediction, CSV)
    words = f"Accept type {accept} is not supported. Please use supported accept types: "
    raise _refusal(406, words + str([JSON, CSV]))


def _refusal(status: int, message: str) -> BaseInferenceToolkitError:
    return BaseInferenceToolkitError(status, message, message)


XGBOOST: dict[str, Callable[..., Any]] = {
    "model_fn": booster_model_fn,
    "input_fn": csv_input_fn,
    "predict_fn": booster_predict_fn,
    "output_fn": score_output_fn,
}

DEFAULTS = {"xgboost": XGBOOST, "pytorch": PYTORCH, "scikit-learn": SCIKIT_LEARN}


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
        context = Context(self._folder, Message())
        if before := own.get("pre_model_fn"):
            _call(before, context, self._folder)
        self._model = _call(self._steps["model_fn"], context, self._folder)
        if after := own.get("model_warmup_fn"):
            _call(after, context, self._folder, self._model)

    def answer(self, body: bytes, headers: Message) -> Answer:
        """Return the answer to a request that has these headers."""
        content_type, accept = headers.get("Content-Type") or JSON, headers.get("Accept") or ""
        try:
            content = body.decode() if content_type in TEXT else body
        except UnicodeDecodeError as problem:  # the image's answer would be a status of 500
            error = {"message": f"the body is no {content_type}: {problem}", "instances": []}
            return Answer(400, json.dumps({"error": error}).encode(), {"Content-Type": JSON})
        wanted = self._default if accept in ("", ANY) else accept
        context = Context(self._folder, headers)
        with self._turn:
            if self._transform:
                answered = _call(
                    self._transform, context, self._model, content, content_type, wanted
                )
            else:
                data = _call(self._steps["input_fn"], context, content, content_type)
                prediction = _call(self._steps["predict_fn"], context, data, self._model)
                answered = _call(self._steps["output_fn"], context, prediction, wanted)
        content, kind = answered if isinstance(answered, tuple) else (answered, wanted)
        return Answer(context.status, as_body(content), context.headers | {"Content-Type": kind})


class Answer(NamedTuple):
    """What a client gets."""

    status: int
    body: bytes
    headers: Mapping[str, str]


def as_body(content: Any) -> bytes:
    """Return the bytes of what a program's function returned, as TorchServe sends them."""
    if isinstance(content, bytes | bytearray):
        return bytes(content)
    if isinstance(content, str):
        return content.encode()
    try:
        return json.dumps(content, indent=2).encode()
    except TypeError as problem:
        message = f"Unsupported model output data type. {problem}"
        raise BaseInferenceToolkitError(503, message, message) from None


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
        self._answer(200 if self.path == "/ping" else 404, b"", {})

    def do_POST(self) -> None:
        """Answer with predictions, or with what the program said against the request."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path != "/invocations":
            self._answer(404, b"", {})
            return
        try:
            answer = self.transformer.answer(body, self.headers)
        except BaseInferenceToolkitError as problem:
            self._fail(problem.status_code, problem.message)
        except Exception as problem:  # noqa: BLE001 - a program raises anything
            self._fail(500, str(problem))
        else:
            self._answer(*answer)

    def _fail(self, status: int, message: str) -> None:
        text = f"{message}\n{traceback.format_exc()}"
        sys.stderr.write(text)
        self._answer(status, text.encode(), {"Content-Type": "text/plain"})

    def _answer(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
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
