"""The program that answers with a trained model, as both services start it."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import itertools
import json
import math
import os
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from hypothesis import given

from lesson import preparation
from testing import forked
from testing.request_bodies import BODIES, KINDS
from tests import served_model
from tests.served_model import own_predictions
from tests.training.support import free_port, train, wait_until
from training import serve_nn

ROOT = Path(__file__).parents[2]
PROGRAM = Path(serve_nn.__file__)
PASSENGERS = [
    *served_model.PASSENGERS,
    {"Pclass": 2, "Sex": "male", "Name": "not a feature"},
]


class Trained(NamedTuple):
    folder: Path
    text: str  # the preparation
    rows: np.ndarray  # of the passengers
    expected: list[float]  # the model's own probabilities


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    folder = tmp_path_factory.mktemp("model")
    data = preparation.prepare(ROOT / "data/titanic_train.csv", folder)
    assert train(data.train, folder / "run", "--epochs", 3, "--val", data.val).code == 0
    rows, expected = own_predictions(folder / "run/model.pt", PASSENGERS)
    saved = torch.load(folder / "run/model.pt", weights_only=True)
    return Trained(folder / "run", saved["preparation"], rows, expected)


@contextlib.contextmanager
def serving(
    *flags: Any, program: Path = PROGRAM, **environment: str
) -> Iterator[forked.Process | subprocess.Popen[bytes]]:
    """Run the program until its health check is answered, then end it by SIGTERM."""
    variables = {"PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1", **environment}
    with tempfile.TemporaryFile() as log:
        process = forked.start([str(program), *map(str, flags)], variables, log)
        try:
            wait_until(lambda: b"serve_nn.py: listening on " in os.pread(log.fileno(), 1000, 0))
            yield process
        finally:
            process.terminate()
            assert process.wait(timeout=30) == 0


class Answer(NamedTuple):
    status: int
    body: str
    kind: str

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def probabilities(self) -> list[float]:
        return [each["probability"] for each in self.json["predictions"]]


def ask(
    port: int, method: str, path: str, body: bytes | str | None = None, **headers: str
) -> Answer:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    with contextlib.closing(connection):
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, body, named)
        answer = connection.getresponse()
        return Answer(answer.status, answer.read().decode(), answer.headers["Content-Type"])


@pytest.fixture(scope="module")
def port(trained: Trained) -> Iterator[int]:
    """Of the program, started as SageMaker does."""
    chosen = free_port()
    with serving(
        "serve", SM_MODEL_DIR=str(trained.folder), SAGEMAKER_BIND_TO_PORT=str(chosen),
        SERVE_HOST="127.0.0.1",
    ):  # fmt: skip
        yield chosen


def test_vertex_ai_names_port_routes_and_model(trained: Trained) -> None:
    port = free_port()
    with serving(
        AIP_HTTP_PORT=str(port),
        AIP_HEALTH_ROUTE="/v1/endpoints/1/deployedModels/2",
        AIP_PREDICT_ROUTE="/v1/endpoints/1/deployedModels/2:predict",
        AIP_STORAGE_URI=str(trained.folder),
        SERVE_HOST="127.0.0.1",
    ):
        assert ask(port, "GET", "/v1/endpoints/1/deployedModels/2").status == 200
        body = json.dumps({"instances": trained.rows.tolist(), "parameters": {}})
        answer = ask(port, "POST", "/v1/endpoints/1/deployedModels/2:predict", body)
        assert answer.status == 200
        assert answer.probabilities == pytest.approx(trained.expected, abs=1e-6)


def test_sagemakers_routes_take_rows_and_passengers_as_json_lines_and_csv(
    port: int, trained: Trained
) -> None:
    assert ask(port, "GET", "/ping").status == 200
    rows = trained.rows.tolist()
    for instances in (rows, PASSENGERS, [*rows[:1], *PASSENGERS[1:]]):
        for body in (json.dumps(instances), json.dumps({"instances": instances})):
            answer = ask(port, "POST", "/invocations", body, content_type="application/json")
            assert answer.probabilities == pytest.approx(trained.expected, abs=1e-6)
    lines = "".join(f"{json.dumps(each)}\n" for each in PASSENGERS)
    kinds = {"content_type": "application/jsonlines", "accept": "application/jsonlines"}
    answer = ask(port, "POST", "/invocations", lines, **kinds)
    probabilities = [json.loads(line)["probability"] for line in answer.body.splitlines()]
    assert probabilities == pytest.approx(trained.expected, abs=1e-6)
    prepared = "\n".join(",".join(map(str, row)) for row in rows)
    raw = "1,female,38,1,0,71.3,C\n3,male,,0,0,7.9,S\n2,male,,,,,\n"
    for table in (prepared, raw):
        answer = ask(
            port, "POST", "/invocations", table, content_type="text/csv", accept="text/csv"
        )
        assert answer.kind == "text/csv"
        probabilities = [float(line.split(",")[0]) for line in answer.body.splitlines()]
        assert probabilities == pytest.approx(trained.expected, abs=1e-6)


def test_each_bad_instance_is_named_with_its_reason(port: int) -> None:
    instances = [[0.0] * 7, [1.0], {"Sex": "dog"}, {"Age": "old"}, [0.0] * 6 + [1e300], 5, {"a": 1}]
    answer = ask(port, "POST", "/invocations", json.dumps(instances))
    assert answer.status == 400
    error = answer.json["error"]
    assert [each["index"] for each in error["instances"]] == [1, 2, 3, 4, 5, 6]
    reasons = ["give 7", "female, male", 'Age is "old"', "value 6", "none of", "none of"]
    for each, reason in zip(error["instances"], reasons, strict=True):
        assert reason in each["reason"]
    assert error["message"].startswith("6 of 7 are bad; instance 1: ")


@pytest.mark.parametrize(
    ("method", "path", "body", "kind", "status"),
    [
        ("POST", "/invocations", "{", "application/json", 400),
        ("POST", "/invocations", b"\xff", "text/csv", 400),
        ("POST", "/invocations", '{"instances": []}', "application/json", 400),
        ("POST", "/invocations", "[" * 100_000, "application/json", 400),
        ("POST", "/invocations", "x", "image/png", 415),
        ("POST", "/elsewhere", "{}", "application/json", 404),
        ("GET", "/invocations", None, "application/json", 404),
    ],
)  # fmt: skip
def test_what_is_no_request_for_predictions_is_refused_with_a_reason(
    port: int, method: str, path: str, body: Any, kind: str, status: int
) -> None:
    answer = ask(port, method, path, body, content_type=kind)
    assert (answer.status, bool(answer.json["error"]["message"])) == (status, True)
    assert ask(port, "GET", "/ping").status == 200


def test_a_body_that_is_too_long_is_refused_when_that_is_known(port: int) -> None:
    parts = itertools.repeat(b" " * 2**20, serve_nn.LARGEST_BODY // 2**20 + 1)
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    with contextlib.closing(connection):
        connection.request("POST", "/invocations", parts, encode_chunked=True)
        answer = connection.getresponse()
        assert answer.status == 413 and b"send at most 33554432 bytes" in answer.read()
    assert ask(port, "GET", "/ping").status == 200


@given(body=BODIES, kind=KINDS)
def test_any_body_gets_predictions_or_a_reason(
    port: int, trained: Trained, body: bytes, kind: str
) -> None:
    answer = ask(port, "POST", "/invocations", body, content_type=kind)
    if answer.status == 200:
        assert all(0 <= each <= 1 for each in answer.probabilities)
        assert answer.probabilities
    else:
        assert answer.status in (400, 415)
        assert answer.json["error"]["message"]


class Held:
    """A model whose forward passes wait until go() is called."""

    def __init__(self, folder: Path) -> None:
        self.model = serve_nn.model_fn(str(folder))
        self.model.quick = 0  # all rows are computed in a thread
        self.sizes: list[int] = []  # of the forward passes
        self.computing, self.going = threading.Event(), threading.Event()
        compute = self.model.predictions

        def predictions(rows: np.ndarray) -> list[Any]:
            self.sizes.append(len(rows))
            self.computing.set()
            assert self.going.wait(30)
            return compute(rows)

        vars(self.model)["predictions"] = predictions


def test_requests_that_arrive_together_are_computed_together(trained: Trained) -> None:
    held = Held(trained.folder)

    async def run() -> Sequence[list[Any]]:
        batcher = serve_nn.Batcher(held.model)
        first = asyncio.create_task(batcher.predictions(trained.rows[:1]))
        await asyncio.to_thread(held.computing.wait, 30)
        parts = (trained.rows[:2], trained.rows[1:], trained.rows[2:])
        others = [asyncio.create_task(batcher.predictions(rows)) for rows in parts]
        await asyncio.sleep(0)  # each of them has come to wait
        held.going.set()
        return [await each for each in (first, *others)]

    batches = asyncio.run(run())
    assert held.sizes == [1, 5]
    one, two, three = trained.expected
    for mine, expected in zip(batches, ([one], [one, two], [two, three], [three]), strict=True):
        assert [each["probability"] for each in mine] == pytest.approx(expected, abs=1e-6)


def test_what_is_quick_is_computed_together_without_a_thread(trained: Trained) -> None:
    model, sizes = serve_nn.model_fn(str(trained.folder)), []
    compute, main = model.predictions, threading.get_ident()

    def predictions(rows: np.ndarray) -> list[Any]:
        sizes.append((len(rows), threading.get_ident() == main))
        return compute(rows)

    vars(model)["predictions"] = predictions

    async def run() -> None:
        batcher = serve_nn.Batcher(model)
        await asyncio.gather(*(batcher.predictions(trained.rows) for _ in range(4)))
        await batcher.predictions(np.repeat(trained.rows, model.quick, axis=0))

    asyncio.run(run())
    assert sizes == [(12, True), (3 * model.quick, False)]


def test_a_forward_pass_that_fails_is_the_answer_to_all_in_it(trained: Trained) -> None:
    model = serve_nn.model_fn(str(trained.folder))

    def fails(rows: np.ndarray) -> list[Any]:
        raise MemoryError(f"no room for {len(rows)} rows")

    vars(model)["predictions"] = fails

    async def run() -> Sequence[Any]:
        batcher = serve_nn.Batcher(model)
        waiting = (batcher.predictions(trained.rows) for _ in range(9))
        return await asyncio.gather(*waiting, return_exceptions=True)

    (said,) = {serve_nn.error_of(problem) for problem in asyncio.run(run())}
    assert said[1] == 500
    assert "the model failed on this or another request: MemoryError('no room for 27" in said[0]


# A program whose forward passes wait for a file, and fail if it holds anything; in another one it
# writes a letter for each request that has arrived.
SLOW = """
import sys, time, pathlib
from training import serve_nn
done, arrived = pathlib.Path(sys.argv.pop()), pathlib.Path(sys.argv.pop())
compute, prepare = serve_nn.Predictor.predictions, serve_nn.Predictor.rows

def count(self, instances):
    with arrived.open("a") as file:
        file.write("x")
    return prepare(self, instances)

serve_nn.Predictor.rows = count

def wait(self, rows):
    while not done.exists():
        time.sleep(0.01)
    if done.read_text():
        raise RuntimeError(done.read_text())
    return compute(self, rows)

serve_nn.Predictor.predictions = wait
make = serve_nn.Predictor.__init__

def make_slow(self, saved, code):
    make(self, saved, code)
    self.quick = 0  # all rows are computed in a thread

serve_nn.Predictor.__init__ = make_slow
sys.exit(serve_nn.main())
"""


@pytest.mark.parametrize(("failure", "status"), [("", 200), ("it breaks", 500)])
def test_what_has_arrived_is_answered_before_it_ends(
    trained: Trained, tmp_path: Path, failure: str, status: int
) -> None:
    port, done, arrived = free_port(), tmp_path / "done", tmp_path / "arrived"
    flags = ("--model_dir", trained.folder, "--port", port, arrived, done)
    body = json.dumps({"instances": trained.rows.tolist()})
    (program := tmp_path / "slow.py").write_text(SLOW)
    slow = serving(*flags, program=program, PYTHONPATH=str(ROOT))
    with slow as process, ThreadPoolExecutor(3) as pool:
        answers = [pool.submit(ask, port, "POST", "/invocations", body) for _ in range(3)]
        wait_until(lambda: arrived.exists() and len(arrived.read_text()) == 3)
        assert ask(port, "GET", "/ping").status == 200  # while it computes
        process.terminate()
        wait_until(lambda: not _listens(port))
        done.write_text(failure)
        for answer in answers:
            assert answer.result().status == status
            if not failure:
                probabilities = answer.result().probabilities
                assert probabilities == pytest.approx(trained.expected, abs=1e-6)


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_a_folder_without_a_model_is_refused_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["serve_nn.py", "--model_dir", str(tmp_path)])
    assert serve_nn.main() == 2
    said = capsys.readouterr().err
    assert said.startswith(f"serve_nn.py: {tmp_path}: no model of train_nn.py is there")
    assert len(said.splitlines()) == 1


def test_it_is_the_program_of_a_sagemaker_archive(trained: Trained) -> None:
    model = serve_nn.model_fn(str(trained.folder))
    instances = serve_nn.input_fn(json.dumps(PASSENGERS), "application/json")
    body, kind = serve_nn.output_fn(serve_nn.predict_fn(instances, model), "application/json")
    probabilities = [each["probability"] for each in json.loads(body)["predictions"]]
    assert (kind, probabilities) == ("application/json", pytest.approx(trained.expected, abs=1e-6))
    assert not any(map(math.isnan, probabilities))
