"""The trainer on TensorFlow: the same metric as on torch, alone and in two replicas."""

from __future__ import annotations

import json
import socket
from contextlib import ExitStack
from pathlib import Path

import pytest

from testing.other_environments import tool
from tests.taxifare import running
from tests.taxifare.running import results

pytestmark = pytest.mark.slow


@pytest.fixture
def python() -> str:
    """The interpreter of an environment with TensorFlow, and without torch."""
    return tool("tensorflow", "python")


def test_it_takes_tensorflow_where_there_is_no_torch(
    python: str, rides: Path, module: Path, tmp_path: Path
) -> None:
    running.ended(running.started(running.flags(str(rides), str(tmp_path)), python))
    written = results(tmp_path)
    assert written["backend"] == "tensorflow"
    assert written["val_rmse"] == pytest.approx(results(module)["val_rmse"], rel=1e-3)


def test_two_replicas_train_one_model(
    python: str, rides: Path, module: Path, tmp_path: Path
) -> None:
    with ExitStack() as held:  # two free ports, at the same time
        taken = [held.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(2)]
        hosts = [f"127.0.0.1:{each.getsockname()[1]}" for each in taken]
    processes = []
    for rank, role in enumerate(("chief", "worker")):
        own = {"type": f"workerpool{rank}", "index": 0}
        pools = {f"workerpool{number}": [host] for number, host in enumerate(hosts)}
        cluster = {"chief": hosts[:1], "worker": hosts[1:]}
        processes.append(
            running.started(
                running.flags(str(rides), str(tmp_path)),
                python,
                CLUSTER_SPEC=json.dumps({"cluster": pools, "task": own}),
                TF_CONFIG=json.dumps({"cluster": cluster, "task": {"type": role, "index": 0}}),
            )
        )
    try:
        for process in processes:
            running.ended(process)
    finally:
        for process in processes:
            process.kill()
    for rank in (0, 1):
        part = results(tmp_path, f"worker-{rank}/metrics.json")
        assert part["replicas"] == 2 and part["examples"] == 30_000
        assert part["val_rmse"] == pytest.approx(results(module)["val_rmse"], rel=1e-3)
