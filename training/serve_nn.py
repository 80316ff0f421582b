"""Answer requests for predictions with the model that train_nn.py wrote.

    python serve_nn.py --model_dir runs/model --port 8080

The network is that of the train_nn.py that lies beside the model, or else beside this file: serve
only a model whose code you trust.

Runs unchanged in a terminal, on Vertex AI (AIP_HTTP_PORT and other variables) and on SageMaker
(/ping, /invocations; as the program of an archive: model_fn, input_fn, predict_fn, output_fn).
Reads   model.pt, in which the fitted preparation travels as JSON
Takes   {"instances": [...]} or a list as JSON, or an instance a line as JSON Lines or CSV: a
        prepared row, [0.8, -0.7, ...], or a raw passenger, {"Sex": "female", ...} or, with words
        or gaps, a list of its values in the order of the features
Answers {"predictions": [{"probability": 0.93, "class": 1}, ...]}; with the probability of each of
        several classes; or, of a regression, {"value": 21.5}; 400 with index and reason of each
        bad instance
What arrives while a forward pass computes is computed together in the next one.
"""

import argparse
import asyncio
import contextlib
import csv
import io
import json
import os
import runpy
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request

JSON, LINES, CSV = "application/json", "application/jsonlines", "text/csv"
LARGEST_BODY = 32 * 2**20  # bytes


class BadRequest(Exception):
    """A request or a model cannot be used.

    args: why; or why, the bad instances, and the status of the answer.
    """


# ---- 1. The answers: change these if the network's outputs mean something else -------------------
Prediction = dict[str, Any]  # what a client receives for one row


def describe(
    outputs: Tensor, labels: Sequence[float], label: Mapping[str, Any]
) -> list[Prediction]:
    """Return the predictions for the network's outputs (rows, outputs).

    labels: LABELS of train_nn.py. label: what the preparation says of the column that is predicted:
    the names of its classes, or the mean and the scale by which its numbers were standardised.
    """
    if not labels:
        return describe_values(outputs, float(label.get("mean", 0)), float(label.get("scale", 1)))
    if outputs.shape[1] == 1:
        chances = outputs[:, 0].sigmoid().tolist()
        predictions = [{"probability": each, "class": labels[each > 0.5]} for each in chances]
    else:
        predictions = describe_classes(outputs.softmax(dim=1).tolist(), labels)
    for each in predictions if "classes" in label else []:
        each["label"] = label["classes"][int(each["class"])]
    return predictions


def describe_values(outputs: Tensor, mean: float, scale: float) -> list[Prediction]:
    """Return the values of a regression, in the unit of the table."""
    values = (outputs.double() * scale + mean).tolist()
    return [{"value": row[0]} if len(row) == 1 else {"values": row} for row in values]


def describe_classes(rows: list[list[float]], labels: Sequence[float]) -> list[Prediction]:
    """Return the most probable class of each row, and the probabilities of all."""
    predictions = []
    for chances in rows:
        best = chances.index(max(chances))
        number = labels[best] if len(labels) == len(chances) else best
        predictions.append(
            {"probability": chances[best], "class": number, "probabilities": chances}
        )
    return predictions


# ---- 2. The model --------------------------------------------------------------------------------
def load_code(folder: Path) -> dict[str, Any]:
    """Return what the train_nn.py beside a model defines, or else the one beside this file."""
    here = Path(__file__).resolve().parent
    scripts = [place / "train_nn.py" for place in (folder, here)]
    script = next((each for each in scripts if each.is_file()), None)
    if script is None:
        raise BadRequest(f"{scripts[-1]} is missing; send train_nn.py with serve_nn.py")
    if str(script.parent) not in sys.path:
        sys.path.insert(0, str(script.parent))  # for the modules that it imports
    return runpy.run_path(str(script))


def load_weights(network: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Load trained weights into the network; refuse those of another network in one sentence."""
    try:
        network.load_state_dict(weights)
    except RuntimeError as problem:
        sys.stderr.write(f"serve_nn.py: {problem}\n")
        where = first_difference(network, weights)
        raise BadRequest(f"model.pt does not fit the network of train_nn.py: {where}") from None


def first_difference(network: nn.Module, weights: Mapping[str, Tensor]) -> str:
    """Name the first weights that a network and a model do not have in common, with their sizes."""
    own = network.state_dict()
    for name in [*weights, *own]:
        saved, here = size_of(weights.get(name)), size_of(own.get(name))
        if saved != here:
            return f"{name} is {saved} in the model, and {here} in the network"
    return "the log says where"


def size_of(weights: Tensor | None) -> str:
    """Return the size of weights in words, such as 64 × 7."""
    if weights is None:
        return "missing"
    return " × ".join(map(str, weights.shape)) or "a number"


class Predictor:
    """A trained network and the preparation of its inputs."""

    def __init__(self, saved: dict[str, Any], code: Mapping[str, Any]) -> None:
        """Take what model.pt holds, and what train_nn.py defines."""
        network: nn.Module = code["build_model"](saved["features"], saved["hidden"], seed=0)
        load_weights(network, saved["model"])
        self.network, self.code, self.labels = network.eval(), code, code["LABELS"]
        self.width = int(saved["features"])
        weights = sum(weight.numel() for weight in network.parameters())
        self.quick = 1_000_000 // weights  # so many rows take less time than a thread to begin
        preparation = json.loads(saved.get("preparation") or "{}")
        self.features, self.label = preparation.get("features", []), preparation.get("label", {})
        self.names = [feature["name"] for feature in self.features]

    def rows(self, instances: Any) -> np.ndarray:
        """Return prepared rows, float32 (instances, features); refuse all if any is bad."""
        if not isinstance(instances, list) or not instances:
            raise BadRequest('give at least one instance: {"instances": [...]}')
        rows = np.zeros((len(instances), self.width), np.float32)
        bad = []
        for index, instance in enumerate(instances):
            try:
                rows[index] = self._row(instance)
            except BadRequest as problem:
                bad.append({"index": index, "reason": str(problem)})
        if bad:
            first = f"instance {bad[0]['index']}: {bad[0]['reason']}"
            raise BadRequest(f"{len(bad)} of {len(instances)} are bad; {first}", bad, 400)
        return rows

    def _row(self, instance: Any) -> list[float]:
        if isinstance(instance, list):
            if len(instance) != self.width:
                raise BadRequest(f"it has {len(instance)} values; give {self.width}")
            if all(isinstance(value, int | float) for value in instance):
                return [_number(value, f"value {place}") for place, value in enumerate(instance)]
            instance = dict(zip(self.names, instance, strict=False))
        if not self.names:
            raise BadRequest("the model has no preparation; give a list of prepared numbers")
        if not isinstance(instance, dict) or not set(self.names) & set(instance):
            raise BadRequest(f"it has none of the features {', '.join(self.names)}")
        return [self._value(feature, instance.get(feature["name"])) for feature in self.features]

    def _value(self, feature: dict[str, Any], value: Any) -> float:
        name, categories = feature["name"], feature.get("categories")
        if value in (None, "") or value != value:  # only NaN differs from itself
            value = feature["fill"]
        if categories and value not in categories:
            raise BadRequest(f"{name} is {json.dumps(value):.60}; choose {', '.join(categories)}")
        code = float(categories.index(value)) if categories else _number(value, name)
        return _number((code - feature["mean"]) / feature["scale"], name)

    def outputs(self, rows: np.ndarray) -> Tensor:
        """Return what the network says of prepared rows, float32 (rows, outputs)."""
        with torch.inference_mode():
            outputs: Tensor = self.network(torch.from_numpy(rows))
            return outputs

    def mean_score(self, rows: np.ndarray, y: np.ndarray) -> float:
        """Return the mean of the script's score() on prepared rows and their labels (rows,)."""
        labels = torch.from_numpy(y.astype(np.float32)).reshape(-1, 1)
        return float(self.code["score"](self.outputs(rows), labels).mean())

    def predictions(self, rows: np.ndarray) -> list[Prediction]:
        """Return the prediction for each prepared row."""
        return describe(self.outputs(rows), self.labels, self.label)


def _number(value: Any, name: str) -> float:
    with contextlib.suppress(TypeError, ValueError, OverflowError):
        number = float(value)
        if abs(number) <= np.finfo(np.float32).max:
            return number
    raise BadRequest(f"{name} is {json.dumps(value):.60}; give a number that float32 can hold")


# ---- 3. SageMaker's four functions ---------------------------------------------------------------
def model_fn(model_dir: str) -> Predictor:
    """Load the model of a folder or of a gs:// URI."""
    try:
        if model_dir.startswith("gs://"):
            from google.cloud.storage import Client

            bucket, _, folder = f"{model_dir[5:].rstrip('/')}/".partition("/")
            content = Client().bucket(bucket).blob(f"{folder}model.pt").download_as_bytes()
        else:
            content = Path(model_dir, "model.pt").read_bytes()
        saved = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
        return Predictor(saved, load_code(Path(model_dir)))
    except BadRequest as problem:
        raise BadRequest(f"{model_dir}: {problem}") from None
    except Exception as problem:  # noqa: BLE001 - storage clients and damaged files raise anything
        reason = (str(problem) or type(problem).__name__).splitlines()[0]
        raise BadRequest(f"{model_dir}: no model of train_nn.py is there ({reason})") from None


def input_fn(body: str | bytes, content_type: str = JSON) -> Any:
    """Return the instances of a request's body."""
    kind = content_type.partition(";")[0].strip().lower() or JSON
    if kind not in (JSON, LINES, CSV):
        raise BadRequest(f"{kind} is unknown; send {JSON}, {LINES} or {CSV}", [], 415)
    try:
        text = body if isinstance(body, str) else body.decode()
        if kind == CSV:
            return [[_cell(cell) for cell in row] for row in csv.reader(io.StringIO(text)) if row]
        if kind == LINES:
            return [json.loads(line) for line in text.splitlines() if line.strip()]
        payload = json.loads(text)
    except (ValueError, csv.Error, RecursionError) as problem:
        raise BadRequest(f"the body is not {kind}: {problem}") from None
    return payload.get("instances") if isinstance(payload, dict) else payload


def _cell(text: str) -> float | str | None:
    try:
        return float(text)
    except ValueError:
        return text.strip() or None


def predict_fn(instances: Any, model: Predictor) -> list[Prediction]:
    """Return the prediction for each instance."""
    return model.predictions(model.rows(instances))


def output_fn(predictions: list[Prediction], accept: str = JSON) -> tuple[str, str]:
    """Return the body of the answer, and its type."""
    if CSV in accept:
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(map(cells_of, predictions))
        return text.getvalue(), CSV
    if LINES in accept:
        return "".join(f"{json.dumps(each)}\n" for each in predictions), LINES
    return json.dumps({"predictions": predictions}), JSON


def cells_of(prediction: Prediction) -> list[Any]:
    """Return a prediction's values for a line of CSV, the probabilities of several classes last."""
    cells: list[Any] = []
    for value in prediction.values():
        cells += value if isinstance(value, list) else [value]
    return cells


def error_of(problem: BadRequest) -> tuple[str, int]:
    """Return the body of the answer to what is refused, and its status."""
    why, bad, status = (*problem.args, [], 400)[:3]
    return json.dumps({"error": {"message": why, "instances": bad}}), status


# ---- 4. Requests that arrive together are computed together --------------------------------------
class Batcher:
    """Computes the rows of all requests that wait, in one forward pass."""

    def __init__(self, model: Predictor) -> None:
        """Compute in one thread at most: torch has threads of its own."""
        self.model, self.thread = model, ThreadPoolExecutor(1)
        self.waiting: list[tuple[np.ndarray, asyncio.Future[list[Prediction]]]] = []
        self.computing: asyncio.Task[None] | None = None

    async def predictions(self, rows: np.ndarray) -> list[Prediction]:
        """Return the predictions for a request's rows; BadRequest if the forward pass fails."""
        answer: asyncio.Future[list[Prediction]] = asyncio.get_running_loop().create_future()
        self.waiting.append((rows, answer))
        if self.computing is None:
            self.computing = asyncio.create_task(self._compute_all())
        return await answer

    async def _compute_all(self) -> None:
        """Compute until nobody waits."""
        while self.waiting:
            batch, self.waiting = self.waiting, []
            await self._compute(batch)
        self.computing = None

    async def _compute(
        self, batch: list[tuple[np.ndarray, asyncio.Future[list[Prediction]]]]
    ) -> None:
        """Compute a batch, and answer each of its requests; one error is the answer to all."""
        whole = np.concatenate([rows for rows, _ in batch])
        loop, compute = asyncio.get_running_loop(), self.model.predictions
        try:
            if len(whole) <= self.model.quick:
                computed = compute(whole)
            else:  # the health check is answered meanwhile
                computed = await loop.run_in_executor(self.thread, compute, whole)
        except (MemoryError, RuntimeError) as problem:
            why = f"the model failed on this or another request: {problem!r}"
            for _, answer in batch:
                if not answer.done():  # its client may be gone
                    answer.set_exception(BadRequest(why, [], 500))
            return
        start = 0
        for rows, answer in batch:
            if not answer.done():
                answer.set_result(computed[start : start + len(rows)])
            start += len(rows)


# ---- 5. The server -------------------------------------------------------------------------------
def build_app(model: Predictor) -> "Starlette":
    """Return the application: the routes of SageMaker, and those that Vertex AI names."""
    # Imported here: SageMaker's image calls the four functions, and has its own server.
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.responses import JSONResponse, Response
    from starlette.routing import Route

    batcher = Batcher(model)

    async def health(request: "Request") -> Response:
        return JSONResponse({})

    async def predict(request: "Request") -> Response:
        try:
            body = await read_body(request)
            rows = model.rows(input_fn(body, request.headers.get("content-type", JSON)))
            predictions = await batcher.predictions(rows)
            text, kind = output_fn(predictions, request.headers.get("accept", ""))
        except BadRequest as problem:
            text, status = error_of(problem)
            return Response(text, status, media_type=JSON)
        return Response(text, headers={"content-type": kind})

    async def unknown(request: "Request", problem: Exception) -> Response:
        why = f"there is no {request.method} {request.url.path}; POST to /invocations"
        return Response(error_of(BadRequest(why))[0], 404, media_type=JSON)

    env = os.environ
    healths = {"/ping", env.get("AIP_HEALTH_ROUTE", "/ping")}
    predictions = {"/invocations", env.get("AIP_PREDICT_ROUTE", "/invocations")}
    return Starlette(
        routes=[
            *(Route(path, health) for path in healths),
            *(Route(path, predict, methods=["POST"]) for path in predictions),
        ],
        exception_handlers={HTTPException: unknown},
    )


async def read_body(request: "Request") -> bytes:
    """Return a request's body; refuse one that is too long as soon as that is known."""
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > LARGEST_BODY:
            raise BadRequest(f"send at most {LARGEST_BODY} bytes", [], 413)
    return bytes(body)


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that clients can connect to; OSError if the port is taken."""
    # Named as TCP, for asyncio sends small answers at once only on what is named so.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((host, port))
    listener.listen(1024)
    return listener


def leave(number: int, frame: object) -> NoReturn:
    """Exit with 0 on SIGTERM, which uvicorn sends again when it has answered what had arrived."""
    sys.exit(0)


def main() -> int:
    """Read flags and environment, load the model and serve; return the exit code."""
    env = os.environ.get
    parser = argparse.ArgumentParser("serve_nn.py")
    parser.add_argument("serve", nargs="?", help="SageMaker's word")
    folder = env("AIP_STORAGE_URI") or env("SM_MODEL_DIR") or "/opt/ml/model"
    parser.add_argument("--model_dir", default=folder)
    port = env("AIP_HTTP_PORT") or env("SAGEMAKER_BIND_TO_PORT") or 8080
    parser.add_argument("--port", type=int, default=port)
    flags = parser.parse_args()
    in_container = flags.serve or env("AIP_HTTP_PORT")
    host = env("SERVE_HOST") or ("0.0.0.0" if in_container else "127.0.0.1")
    try:
        import uvicorn

        app = build_app(model_fn(flags.model_dir))
        listener = listen(host, flags.port)
    except (BadRequest, OSError) as problem:
        sys.stderr.write(f"serve_nn.py: {problem}\n")
        return 2
    except ModuleNotFoundError as problem:
        sys.stderr.write(f"serve_nn.py: {problem}; pip install starlette uvicorn httptools\n")
        return 2
    print(f"serve_nn.py: listening on {host}, port {flags.port}", flush=True)
    config = uvicorn.Config(app, log_level="warning", access_log=False, server_header=False)
    signal.signal(signal.SIGTERM, leave)
    with contextlib.suppress(KeyboardInterrupt):
        uvicorn.Server(config).run([listener])
    return 0


if __name__ == "__main__":
    sys.exit(main())
