"""Serve a model as Google's prebuilt prediction images do: `prebuilt_server.py sklearn|…`.

Runs as a replica, in the image's environment if it was pulled. Contracts: Vertex AI's page
"Export model artifacts for inference" (read 2026). AIP_STORAGE_URI names the model's folder:

sklearn   model.joblib or model.pkl: predict() of an array of the instances
xgboost   model.bst, model.joblib or model.pkl: the same, of a DMatrix where it is a Booster
pytorch   model.mar: a TorchServe archive, whose own handler gets the instances
tf2       saved_model.pb with its folders: the signature serving_default, as TensorFlow Serving does
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import tempfile
import threading
import types
import zipfile
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

Predict = Callable[[list[Any], Any], Any]


def fetch_file(names: tuple[str, ...]) -> Path:
    """Download the first of these files that the model's folder has."""
    from google.cloud.storage import Client

    uri = os.environ["AIP_STORAGE_URI"].rstrip("/")
    bucket, _, folder = uri.removeprefix("gs://").partition("/")
    for name in names:
        blob = Client().bucket(bucket).blob(f"{folder}/{name}")
        if blob.exists():
            path = Path(tempfile.mkdtemp(), name)
            blob.download_to_filename(path)
            return path
    sys.exit(f"{uri} has none of {', '.join(names)}")


def unpickle(path: Path) -> Any:
    """Load a model; like the image, it trusts the file."""
    return importlib.import_module("joblib").load(path)


def sklearn() -> Predict:
    """Return what scikit-learn's image answers with."""
    import numpy as np

    model = unpickle(fetch_file(("model.joblib", "model.pkl")))
    return lambda instances, _: np.asarray(model.predict(np.array(instances))).tolist()


def xgboost() -> Predict:
    """Return what XGBoost's image answers with."""
    import numpy as np

    library: Any = importlib.import_module("xgboost")
    path = fetch_file(("model.bst", "model.joblib", "model.pkl"))
    model = library.Booster(model_file=path) if path.suffix == ".bst" else unpickle(path)

    def predict(instances: list[Any], _: Any) -> Any:
        rows = np.array(instances)
        taken = library.DMatrix(rows) if isinstance(model, library.Booster) else rows
        return np.asarray(model.predict(taken)).tolist()

    return predict


def fetch_folder() -> Path:
    """Download the model's folder."""
    from google.cloud.storage import Client

    uri = os.environ["AIP_STORAGE_URI"].rstrip("/")
    bucket, _, prefix = uri.removeprefix("gs://").partition("/")
    folder = Path(tempfile.mkdtemp())
    for blob in Client().list_blobs(bucket, prefix=f"{prefix}/"):
        path = folder / blob.name.removeprefix(f"{prefix}/")
        if not blob.name.endswith("/") and path.resolve().is_relative_to(folder.resolve()):
            path.parent.mkdir(parents=True, exist_ok=True)
            blob.download_to_filename(path)
    return folder


def tensorflow() -> Predict:
    """Return what TensorFlow's image answers with: a value, or a dict of several, each."""
    library: Any = importlib.import_module("tensorflow")
    model = library.saved_model.load(str(fetch_folder()))
    signature = model.signatures["serving_default"]
    _, inputs = signature.structured_input_signature

    def predict(instances: list[Any], _: Any) -> Any:
        if not isinstance(instances[0], dict):
            (name,) = inputs  # several inputs need their names
            instances = [{name: each} for each in instances]
        columns = {
            name: library.constant([each[name] for each in instances], dtype=spec.dtype)
            for name, spec in inputs.items()
        }
        outputs = {name: tensor.numpy().tolist() for name, tensor in signature(**columns).items()}
        if len(outputs) == 1:
            return next(iter(outputs.values()))
        rows = zip(*outputs.values(), strict=True)
        return [dict(zip(outputs, row, strict=True)) for row in rows]

    return predict


class BaseHandler:
    """What an archive's handler inherits: ts.torch_handler.base_handler, as far as it is used."""

    def __init__(self) -> None:
        """Load nothing before initialize()."""
        self.model: Any = None
        self.context: Any = None
        self.manifest: Any = None
        self.initialized = False

    def initialize(self, context: Any) -> None:
        """Load the TorchScript model of the archive."""
        import torch

        self.context, self.manifest = context, context.manifest
        folder = Path(context.system_properties["model_dir"])
        if name := context.manifest["model"].get("serializedFile"):
            jit: Any = torch.jit
            self.model = jit.load(str(folder / name), "cpu").eval()
        self.initialized = True

    def preprocess(self, data: Any) -> Any:
        """Return the instances as a tensor."""
        import torch

        return torch.as_tensor([_content(each) for each in data], dtype=torch.float32)

    def inference(self, data: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the model's output."""
        import torch

        with torch.no_grad():
            return self.model(data, *args, **kwargs)

    def postprocess(self, data: Any) -> Any:
        """Return the output as a list."""
        return data.tolist()

    def handle(self, data: Any, context: Any) -> Any:
        """Return the predictions of some instances."""
        self.context = context
        return self.postprocess(self.inference(self.preprocess(data)))


def _content(instance: Any) -> Any:
    """Return an instance as TorchServe's JSON envelope gives it.

    That is {"data": …}, {"body": …} or the instance itself.
    """
    if isinstance(instance, dict):
        return instance.get("data", instance.get("body", instance))
    return instance


def pytorch() -> Predict:
    """Return what an archive's handler answers with: a function handle(), or a class with one."""
    folder = Path(tempfile.mkdtemp())
    with zipfile.ZipFile(fetch_file(("model.mar",))) as archive:
        archive.extractall(folder)  # no member leaves the folder: ZipFile sees to that
    manifest = json.loads((folder / "MAR-INF/MANIFEST.json").read_text(encoding="utf-8"))
    name, _, entry = manifest["model"]["handler"].partition(":")
    path = folder / (name if name.endswith(".py") else f"{name}.py")
    if not path.is_file():
        sys.exit(f"not implemented in the local cloud: TorchServe's own handler {name!r}")
    for module in ("ts", "ts.torch_handler", "ts.torch_handler.base_handler"):
        sys.modules.setdefault(module, types.ModuleType(module))
    vars(sys.modules["ts.torch_handler.base_handler"]).setdefault("BaseHandler", BaseHandler)
    sys.path.insert(0, str(folder))
    handler = importlib.import_module(path.stem)
    properties = {"model_dir": str(folder), "gpu_id": None, "batch_size": 1}
    context = types.SimpleNamespace(system_properties=properties, manifest=manifest)
    function = getattr(handler, entry or "handle", None)
    if function is None:
        classes = [each for each in vars(handler).values() if isinstance(each, type)]
        (kind,) = [each for each in classes if each.__module__ == path.stem]
        service = kind()
        service.initialize(context)
        function = service.handle

    def predict(instances: list[Any], _: Any) -> Any:
        return function(instances, context)

    return predict


KINDS: dict[str, Callable[[], Predict]] = {
    "sklearn": sklearn,
    "xgboost": xgboost,
    "pytorch": pytorch,
    "tf2": tensorflow,
}


class Handler(BaseHTTPRequestHandler):
    """Answers on the two routes."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1  # headers and body go out together
    predict: Predict
    library = ""  # whose image this is
    turn = threading.Lock()  # one prediction at a time

    def do_GET(self) -> None:
        """Answer the health check."""
        well = self.path == os.environ["AIP_HEALTH_ROUTE"]
        self._answer(200 if well else 404, b"{}")

    def do_POST(self) -> None:
        """Answer with predictions, or with what the model said against the instances."""
        length = int(self.headers["Content-Length"])
        body = self.rfile.read(length)
        try:
            payload = json.loads(body)
            with self.turn:
                answer = type(self).predict(payload["instances"], payload.get("parameters"))
            content = json.dumps({"predictions": answer}, allow_nan=False).encode()
        except Exception as problem:  # noqa: BLE001 - a model raises anything
            self._answer(400, self.explain_failure(problem).encode())
            return
        self._answer(200, content)

    def explain_failure(self, problem: Exception) -> str:
        """Return the body of the answer: a text in scikit-learn's and XGBoost's image.

        Read in github.com/googleapis/python-aiplatform/issues/514.
        """
        if self.library in ("sklearn", "xgboost"):
            error = f"Prediction failed: Exception during {self.library} prediction: {problem}"
            return f"{json.dumps(error)}\n"
        return json.dumps({"error": f"Prediction failed: {type(problem).__name__}: {problem}"})

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Write nothing for each request: the local cloud keeps a log of them."""


def main() -> None:
    """Load the model, then serve it."""
    Handler.library = sys.argv[1]
    serve(KINDS[Handler.library]())


def serve(predict: Predict) -> None:
    """Answer with a model's predictions until the process ends."""
    Handler.predict = staticmethod(predict)
    address = (os.environ.get("SERVE_HOST", ""), int(os.environ["AIP_HTTP_PORT"]))
    ThreadingHTTPServer(address, Handler).serve_forever()


if __name__ == "__main__":
    sys.path.pop(0)  # this folder, whose modules have names that a model's packages may have
    main()
