"""Answer requests for predictions with the model that train_nn.py wrote.

    python serve_nn.py --model_dir runs/model --port 8080

Runs unchanged in a terminal, on Vertex AI (AIP_HTTP_PORT and other variables) and on SageMaker
(/ping, /invocations; as the program of an archive: model_fn, input_fn, predict_fn, output_fn).
Reads   model.pt, in which the fitted preparation travels as JSON
Takes   {"instances": [...]} or a list as JSON, or an instance a line as JSON Lines or CSV: a
        prepared row, [0.8, -0.7, ...], or a raw passenger, {"Sex": "female", ...} or, with words
        or gaps, a list of its values in the order of the features
Answers {"predictions": [{"probability": 0.93, "class": 1}, ...]}; 400 with index and reason of each
        bad instance
What arrives while a forward pass computes is computed together in the next one.
"""

import argparse
import asyncio
import contextlib
import csv
import io
import itertools
import json
import os
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import torch

JSON, LINES, CSV = "application/json", "application/jsonlines", "text/csv"
MOST = 2**25  # bytes of a body

class Refused(Exception):
    """A request or a model cannot be used: why, and or also the bad instances and HTTP's status."""

# ---- the model -----------------------------------------------------------------------------------
class Predictor:
    """A trained network and the preparation of its inputs."""

    def __init__(self, saved: dict[str, Any]) -> None:
        """Take what model.pt holds."""
        layers: list[torch.nn.Module] = []
        for inputs, outputs in itertools.pairwise([saved["features"], *saved["hidden"], 1]):
            layers += [torch.nn.Linear(inputs, outputs), torch.nn.ReLU()]
        self.network = torch.nn.Sequential(*layers[:-1])
        self.network.load_state_dict(saved["model"])
        self.width = int(saved["features"])
        self.quick = 10**6 // sum(each.numel() for each in self.network.parameters())  # rows
        self.features = json.loads(saved.get("preparation") or "{}").get("features", [])
        self.names = [feature["name"] for feature in self.features]

    def rows(self, instances: Any) -> np.ndarray:
        """Return prepared rows, float32 (instances, features); refuse all if any is bad."""
        if not isinstance(instances, list) or not instances:
            raise Refused('give at least one instance: {"instances": [...]}')
        rows, bad = np.zeros((len(instances), self.width), np.float32), []
        for index, instance in enumerate(instances):
            try:
                rows[index] = self._row(instance)
            except Refused as problem:
                bad.append({"index": index, "reason": str(problem)})
        if bad:
            first = "instance {index}: {reason}".format(**bad[0])
            raise Refused(f"{len(bad)} of {len(instances)} are bad; {first}", bad, 400)
        return rows

    def _row(self, instance: Any) -> list[float]:
        if isinstance(instance, list):
            if len(instance) != self.width:
                raise Refused(f"it has {len(instance)} values; give {self.width}")
            if all(isinstance(each, int | float) for each in instance):
                return [_number(each, f"value {place}") for place, each in enumerate(instance)]
            instance = dict(zip(self.names, instance, strict=False))
        if not self.names:
            raise Refused("the model has no preparation; give a list of prepared numbers")
        if not isinstance(instance, dict) or not set(self.names) & set(instance):
            raise Refused(f"it has none of the features {', '.join(self.names)}")
        return [self._value(each, instance.get(each["name"])) for each in self.features]

    def _value(self, feature: dict[str, Any], value: Any) -> float:
        name, words = feature["name"], feature.get("categories")
        if value in (None, "") or value != value:
            value = feature["fill"]
        if words and value not in words:
            raise Refused(f"{name} is {json.dumps(value):.60}; choose {', '.join(words)}")
        code = float(words.index(value)) if words else _number(value, name)
        return _number((code - feature["mean"]) / feature["scale"], name)

    def probabilities(self, rows: np.ndarray) -> np.ndarray:
        """Return the probability of class 1 for each prepared row, float32 (rows,)."""
        with torch.inference_mode():
            return np.asarray(self.network(torch.from_numpy(rows)).sigmoid_()[:, 0])

def _number(value: Any, name: str) -> float:
    with contextlib.suppress(TypeError, ValueError, OverflowError):
        if abs(number := float(value)) <= np.finfo(np.float32).max:
            return number
    raise Refused(f"{name} is {json.dumps(value):.60}; give a number that float32 can hold")

# ---- SageMaker's four functions ------------------------------------------------------------------
def model_fn(model_dir: str) -> Predictor:
    """Load the model of a folder or of a gs:// URI."""
    try:
        if model_dir.startswith("gs://"):
            from google.cloud.storage import Client

            bucket, _, folder = f"{model_dir[5:].rstrip('/')}/".partition("/")
            content = Client().bucket(bucket).blob(f"{folder}model.pt").download_as_bytes()
        else:
            content = Path(model_dir, "model.pt").read_bytes()
        return Predictor(torch.load(io.BytesIO(content), "cpu", weights_only=True))
    except Exception as problem:  # noqa: BLE001 - storage clients and damaged files raise anything
        reason = (str(problem) or type(problem).__name__).splitlines()[0]
        raise Refused(f"{model_dir}: no model of train_nn.py is there ({reason})") from None

def input_fn(body: str | bytes, content_type: str = JSON) -> Any:
    """Return the instances of a request's body."""
    kind = content_type.partition(";")[0].strip().lower() or JSON
    if kind not in (JSON, LINES, CSV):
        raise Refused(f"{kind} is unknown; send {JSON}, {LINES} or {CSV}", [], 415)
    try:
        text = body if isinstance(body, str) else body.decode()
        if kind == CSV:
            return [[*map(_cell, row)] for row in csv.reader(io.StringIO(text)) if row]
        if kind == LINES:
            return [json.loads(line) for line in text.splitlines() if line.strip()]
        found = json.loads(text)
    except (ValueError, csv.Error, RecursionError) as problem:
        raise Refused(f"the body is no {kind}: {problem}") from None
    return found.get("instances") if isinstance(found, dict) else found

def _cell(text: str) -> Any:
    with contextlib.suppress(ValueError):
        return float(text)
    return text.strip() or None

def predict_fn(instances: Any, model: Predictor) -> list[float]:
    """Return the probability of class 1 for each instance."""
    return [*map(float, model.probabilities(model.rows(instances)))]

def output_fn(probabilities: list[float], accept: str = JSON) -> tuple[str, str]:
    """Return the body of the answer, and its type."""
    found = [{"probability": each, "class": int(each > 0.5)} for each in probabilities]
    if CSV in accept:
        return "".join(f"{each['probability']},{each['class']}\n" for each in found), CSV
    if LINES in accept:
        return "".join(f"{json.dumps(each)}\n" for each in found), LINES
    return json.dumps({"predictions": found}), JSON

# ---- the server ----------------------------------------------------------------------------------
# By hand on asyncio: no HTTP library is sure to be in a container.
class Server:
    """Answers over HTTP/1.1, the health check also while a forward pass computes."""

    def __init__(self, model: Predictor) -> None:
        """Take the model; the routes are the environment's."""
        self.model, self.turn = model, asyncio.Lock()
        self.health = {"/ping", os.environ.get("AIP_HEALTH_ROUTE")}
        self.predict = {"/invocations", os.environ.get("AIP_PREDICT_ROUTE")}
        self.batch, self.active = list[Any](), 0  # rows that wait; requests that begin to arrive

    async def probabilities(self, rows: np.ndarray) -> list[float]:
        """Compute these rows together with all that wait."""
        batch, start = self.batch, sum(map(len, self.batch))
        batch.append(rows)
        async with self.turn:
            await asyncio.sleep(0)  # all that has arrived by now joins
            if batch is self.batch:  # the first of a batch computes for all in it
                self.batch, whole = [], np.concatenate(batch)
                batch.clear()
                quick, compute = len(whole) <= self.model.quick, self.model.probabilities
                batch.append(compute(whole) if quick else await asyncio.to_thread(compute, whole))
        return [*map(float, batch[0][start : start + len(rows)])]  # IndexError if the first failed

    async def connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of a connection, one after the other."""
        ends = ConnectionError, EOFError, asyncio.LimitOverrunError, asyncio.CancelledError
        with contextlib.suppress(*ends), contextlib.closing(writer):
            keep = True
            while keep:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").strip()
                self.active += 1
                try:
                    keep = await self._exchange(head.split("\r\n"), reader, writer)
                finally:
                    self.active -= 1

    async def _exchange(self, head: list[str], reader: Any, writer: Any) -> bool:
        """Answer one request; False if the connection ends with it."""
        pairs = (field.partition(":") for field in head[1:])
        headers = {name.lower(): value.strip() for name, _, value in pairs}
        keep, status, kind = headers.get("connection", "").lower() != "close", 200, JSON
        try:
            length = headers.get("content-length", "0")
            known = length.isdecimal() and len(length) < 10 and "transfer-encoding" not in headers
            if not known or int(length) > MOST:
                keep = False
                raise Refused(f"send at most {MOST} bytes, with a Content-Length", [], 413)
            body = await reader.readexactly(int(length))
            method, path, *_ = f"{head[0]} ".split(" ")
            if method == "GET" and path in self.health:
                text = "{}"
            elif method == "POST" and path in self.predict:
                rows = self.model.rows(input_fn(body, headers.get("content-type", JSON)))
                text, kind = output_fn(await self.probabilities(rows), headers.get("accept", ""))
            else:
                raise Refused(f"there is no {method} {path}; POST to /invocations", [], 404)
        except (Refused, IndexError, MemoryError, RuntimeError) as problem:
            ours = (f"the model failed on this or another request: {problem!r}", list[Any](), 500)
            why, bad, status = (*(problem.args if type(problem) is Refused else ours), [], 400)[:3]
            text = json.dumps({"error": {"message": why, "instances": bad}})
        end = "" if keep else "\r\nConnection: close"
        about = f"Content-Type: {kind}\r\nContent-Length: {len(text)}{end}"
        writer.write(f"HTTP/1.1 {status} \r\n{about}\r\n\r\n{text}".encode())
        await writer.drain()
        return keep

async def serve(model: Predictor, host: str, port: int) -> None:
    """Answer until SIGTERM, and then what has arrived."""
    server, stop = Server(model), asyncio.Event()
    (loop := asyncio.get_running_loop()).add_signal_handler(signal.SIGTERM, stop.set)
    loop.set_default_executor(ThreadPoolExecutor(1))  # torch has threads for each that calls it
    listening = await asyncio.start_server(server.connection, host, port)
    print(f"serve_nn.py: listening on {host}, port {port}", flush=True)
    await stop.wait()
    listening.close()
    while server.active:
        await asyncio.sleep(0.01)

def main() -> int:
    """Read flags and environment, load the model and serve; return the exit code."""
    parser = argparse.ArgumentParser("serve_nn.py")
    env, flag = os.environ.get, parser.add_argument
    flag("serve", nargs="?", help="SageMaker's word")
    flag("--model_dir", default=env("AIP_STORAGE_URI") or env("SM_MODEL_DIR") or "/opt/ml/model")
    flag("--port", type=int, default=env("AIP_HTTP_PORT") or env("SAGEMAKER_BIND_TO_PORT") or 8080)
    flags = parser.parse_args()
    host = "0.0.0.0" if flags.serve or env("AIP_HTTP_PORT") else "127.0.0.1"
    try:
        asyncio.run(serve(model_fn(flags.model_dir), env("SERVE_HOST") or host, flags.port))
        return 0
    except (Refused, OSError) as problem:
        sys.stderr.write(f"serve_nn.py: {problem}\n")
        return 2

if __name__ == "__main__":
    sys.exit(main())
