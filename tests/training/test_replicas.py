"""Several replicas train one model: real processes that meet on the loopback."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from tests.training.pool import Pool, train_as
from tests.training.support import (
    FOR_LONG,
    LOOPBACK,
    SCRIPT,
    as_process,
    as_replicas,
    cluster_specs,
    save,
    table,
    train,
    two_of_torchrun,
    wait_until,
)
from training import train_nn
from training.train_nn import Replica

LOST = "train_nn.py: another replica ended or cannot be reached, no model was written"


def weights(folder: Path) -> torch.Tensor:
    state = torch.load(folder / "model.pt", weights_only=True)["model"]
    return torch.cat([value.flatten() for value in state.values()])


def metrics(folder: Path) -> Any:
    return json.loads((folder / "metrics.json").read_text())


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """41 rows: not to be shared out evenly among 2 or 3."""
    return save(tmp_path / "data.npz", **table(rows=41))


def trained_in(pool: Pool, replicas: int, archive: Path, folder: Path, *flags: Any) -> torch.Tensor:
    """The weights that so many replicas give that have the script imported already."""
    given = ("--train", archive, "--val", archive, "--model_dir", folder, *flags)
    assert {each.code for each in pool.run(replicas, train_as, given)} == {0}
    return weights(folder)


# ---- one model ----------------------------------------------------------------------------------
def test_processes_that_find_each_other_train_the_model_of_one(
    archive: Path, tmp_path: Path
) -> None:
    """For more numbers of replicas, on more tables, see test_parallel.py."""
    flags = ("--epochs", 20, "--batch_size", 16, "--seed", 3)
    assert train(archive, tmp_path / "one", *flags).code == 0
    with as_replicas(2, archive, tmp_path / "two", *flags) as running:
        assert running.codes() == [0, 0], [log.read_text() for log in running.logs]
    one, two = (weights(tmp_path / name) for name in ("one", "two"))
    torch.testing.assert_close(two, one, rtol=0, atol=1e-5)
    one, two = (
        np.genfromtxt(tmp_path / name / "history.csv", delimiter=",")[1:, :4]
        for name in ("one", "two")
    )
    np.testing.assert_allclose(two, one, rtol=0, atol=1e-5)


def test_metrics_name_every_replicas_rows(archive: Path, tmp_path: Path) -> None:
    with as_replicas(3, archive, tmp_path / "run", "--epochs", 2) as running:
        assert running.codes() == [0, 0, 0]
        assert [running.said(rank)[:2] for rank in range(3)] == [
            ["replica 0 of 3 waits for the others", "replica 0 of 3, rows 0 to 12"],
            ["replica 1 of 3 waits for the others", "replica 1 of 3, rows 13 to 26"],
            ["replica 2 of 3 waits for the others", "replica 2 of 3, rows 27 to 40"],
        ]
        assert [len(running.said(rank)) for rank in (1, 2)] == [2, 2]
        assert (tmp_path / "run/training.log").read_text().splitlines() == running.said(0)[1:]
    assert metrics(tmp_path / "run")["world_size"] == 3
    assert [replica["rows"] for replica in metrics(tmp_path / "run")["replicas"]] == [
        {"start": 0, "stop": 13},
        {"start": 13, "stop": 27},
        {"start": 27, "stop": 41},
    ]


# ---- sharing out --------------------------------------------------------------------------------
@given(rows=st.integers(1, 200), replicas=st.integers(1, 20))
def test_own_rows_are_together_the_whole_table_and_none_twice(rows: int, replicas: int) -> None:
    shares = [train_nn.own_range(rows, rank, replicas) for rank in range(replicas)]
    assert [row for share in shares for row in share] == list(range(rows))
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


@given(
    rows=st.integers(1, 80),
    batch=st.integers(0, 90),
    replicas=st.integers(1, 9),
    seed=st.integers(0, 9),
)
@example(rows=3, batch=2, replicas=5, seed=0)
def test_the_replicas_parts_of_a_batch_are_together_the_batch_of_one(
    rows: int, batch: int, replicas: int, seed: int
) -> None:
    numbered = torch.arange(rows)[:, None]

    def batches(rank: int, replicas: int) -> list[tuple[list[int], int]]:
        own = train_nn.own_range(rows, rank, replicas)
        mine = numbered[own.start : own.stop]
        data = train_nn.Table(mine, -mine, own, rows, replicas, "", "")
        made = []
        for own_rows, size in data.batches(batch or rows, torch.Generator().manual_seed(seed)):
            pieces = list(own_rows)
            assert all(torch.equal(X, -y) and len(X) > 0 for X, y in pieces)
            made.append(([row for X, _ in pieces for row in X.flatten().tolist()], size))
        return made

    alone = batches(0, 1)
    assert all(len(X) == whole for X, whole in alone)
    together = [batches(rank, replicas) for rank in range(replicas)]
    for (X, whole), parts in zip(alone, zip(*together, strict=True), strict=True):
        assert sorted(row for part, _ in parts for row in part) == sorted(X)
        assert {size for _, size in parts} == {whole}


# ---- which replica this is ----------------------------------------------------------------------
def found(**environment: str) -> Replica:
    return train_nn.find_replicas(environment)


def spec(cluster: Any, task: Any, **more: Any) -> str:
    return json.dumps({"cluster": cluster, "task": task, **more})


POOLS = {"workerpool0": ["chief:2222"], "workerpool1": ["first:2222", "second:2222"]}
OTHERS = {"workerpool2": ["server:2222"], "workerpool3": ["judge:2222"]}


@pytest.mark.parametrize(
    ("task", "rank"),
    [
        ({"type": "workerpool0", "index": 0}, 0),
        ({"type": "workerpool1", "index": 0, "trial": ""}, 1),
        ({"type": "workerpool1", "index": 1, "trial": "7", "cloud": "x"}, 2),
    ],
)
@pytest.mark.parametrize("others", [{}, OTHERS])
def test_vertex_says_where_a_replica_is(task: Any, rank: int, others: Any) -> None:
    cluster = spec({**POOLS, **others}, task, environment="cloud", job={})
    assert found(CLUSTER_SPEC=cluster) == Replica(rank, 3, "tcp://chief:2222")


def test_a_job_of_one_replica_is_alone() -> None:
    one = spec({"workerpool0": ["chief:2222"]}, {"type": "workerpool0", "index": 0})
    assert found(CLUSTER_SPEC=one, RANK="0", WORLD_SIZE="1").size == 1
    assert found(WORLD_SIZE="1", RANK="0").size == 1
    assert found() == found(CLUSTER_SPEC="") == Replica(0, 1)


def test_torchrun_counts_processes_and_so_goes_before_vertex_which_counts_machines() -> None:
    cluster = spec(POOLS, {"type": "workerpool0", "index": 0})
    started = {"TORCHELASTIC_RUN_ID": "x", "RANK": "5", "WORLD_SIZE": "6"}
    assert found(**started, CLUSTER_SPEC=cluster) == Replica(5, 6, "env://")
    assert found(RANK="1", WORLD_SIZE="2") == Replica(1, 2, "env://")


@pytest.mark.parametrize(
    ("rank", "size"), [("2", "2"), ("-1", "2"), ("x", "2"), ("", "2"), ("0", "0"), ("0", "two")]
)
def test_a_rank_that_is_none_is_refused(rank: str, size: str) -> None:
    with pytest.raises(train_nn.Refused, match=r"^WORLD_SIZE and RANK cannot be used"):
        found(TORCHELASTIC_RUN_ID="x", RANK=rank, WORLD_SIZE=size, CLUSTER_SPEC="{")


@pytest.mark.parametrize("pool", OTHERS)
def test_a_replica_of_another_pool_is_told_that_the_script_does_not_train_there(pool: str) -> None:
    with pytest.raises(train_nn.Refused, match=f"is in {pool}; the script trains in .* only"):
        found(CLUSTER_SPEC=spec({**POOLS, **OTHERS}, {"type": pool, "index": 0}))


CHIEF = {"type": "workerpool0", "index": 0}


@pytest.mark.parametrize(
    "damaged",
    [
        "{",
        "[]",
        "7",
        "null",
        "{}",
        '{"cluster": {}}',
        '{"cluster": {}, "task": {}}',
        spec(POOLS, {"type": "workerpool1", "index": 2}),
        spec(POOLS, {"type": "workerpool1", "index": -1}),
        spec(POOLS, {"type": "workerpool1"}),
        spec(POOLS, {"type": ["workerpool1"], "index": 0}),
        spec(POOLS, "workerpool0"),
        spec([], CHIEF),
        spec({**POOLS, "workerpool0": ["chief"]}, CHIEF),
        spec({**POOLS, "workerpool0": ["chief:port"]}, CHIEF),
        spec({**POOLS, "workerpool0": ["chief:65536"]}, CHIEF),
        spec({**POOLS, "workerpool0": []}, CHIEF),
        spec({**POOLS, "workerpool0": 1}, CHIEF),
        spec({**POOLS, "workerpool0": [2222]}, CHIEF),
    ],
)
def test_a_damaged_cluster_spec_is_refused_in_one_sentence(damaged: str) -> None:
    with pytest.raises(
        train_nn.Refused, match=r"^CLUSTER_SPEC cannot be used: .*; unset it to train alone$"
    ):
        found(CLUSTER_SPEC=damaged)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*POOLS, "type", "index", "cluster", "task"]), inner)
    ),
    max_leaves=12,
)


@given(cluster=json_values, task=json_values)
def test_any_cluster_spec_names_a_replica_or_is_refused(cluster: Any, task: Any) -> None:
    try:
        replica = found(CLUSTER_SPEC=spec(cluster, task))
    except train_nn.Refused as problem:
        assert "\n" not in str(problem)
    else:
        assert 0 <= replica.rank < replica.size


def test_a_process_refuses_damaged_variables_in_one_sentence(archive: Path) -> None:
    data = ("--train", archive, "--val", archive)
    ended = as_process(*data, CLUSTER_SPEC="{")
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert ended.err.startswith("train_nn.py: CLUSTER_SPEC cannot be used")
    ended = as_process(*data, WORLD_SIZE="2")
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert ended.err.startswith("train_nn.py: WORLD_SIZE and RANK cannot be used")


def test_the_chiefs_port_taken_by_another_is_said(archive: Path) -> None:
    chief, _ = cluster_specs(2)
    host, port = json.loads(chief)["cluster"]["workerpool0"][0].split(":")
    with socket.create_server((host, int(port))):
        ended = as_process("--train", archive, "--val", archive, CLUSTER_SPEC=chief)
    assert ended.code == 2
    assert "already in use" in ended.err and port in ended.err


# ---- torchrun -----------------------------------------------------------------------------------
@pytest.mark.parametrize("runs", [1, pytest.param(20, marks=pytest.mark.slow)])
def test_replicas_end_in_order(archive: Path, tmp_path: Path, runs: int) -> None:
    """Python's own end, past the threads of gloo: no hang, no abort, and nothing is said."""
    data = ("--train", archive, "--val", archive, "--model_dir", tmp_path / "run")
    for _ in range(runs):
        processes = [
            subprocess.Popen(
                [sys.executable, SCRIPT, *map(str, data), "--epochs=2"],
                env={"PATH": "/usr/bin:/bin", **LOOPBACK, **variables},
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            )
            for variables in two_of_torchrun()
        ]  # fmt: skip
        said = [process.communicate(timeout=120) for process in processes]
        assert [process.returncode for process in processes] == [0, 0], said
        assert [err for _, err in said] == ["", ""]
        assert "validation:accuracy" in said[0][0]


def test_a_sentence_is_written_at_once_lest_those_of_several_replicas_run_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    written: list[str] = []
    monkeypatch.setattr(sys, "stderr", SimpleNamespace(write=written.append))
    assert train_nn.end(2, "it is so") == 2
    assert written == ["train_nn.py: it is so\n"]


# ---- when one of them fails ---------------------------------------------------------------------
@pytest.mark.slow
def test_a_stopped_replica_stops_all_and_goes_on_as_if_nothing_had_been(
    pool: Pool, archive: Path, tmp_path: Path
) -> None:
    flags = ("--epochs", 2500, "--patience", 0)
    with as_replicas(2, archive, tmp_path / "run", *flags) as running:
        wait_until(lambda: len(running.said(0)) > 4)  # some epochs are done
        running.processes[1].send_signal(signal.SIGSTOP)
        time.sleep(0.5)
        lines = len(running.said(0))
        assert all(process.poll() is None for process in running.processes)
        time.sleep(1.5)
        assert len(running.said(0)) == lines
        running.processes[1].send_signal(signal.SIGCONT)
        assert running.codes() == [0, 0]
    undisturbed = trained_in(pool, 2, archive, tmp_path / "undisturbed", *flags)
    assert torch.equal(weights(tmp_path / "run"), undisturbed)


@pytest.mark.parametrize("killed", [pytest.param(0, marks=pytest.mark.slow), 2])
def test_when_a_replica_is_killed_the_job_ends_and_no_model_is_written(
    archive: Path, tmp_path: Path, killed: int
) -> None:
    others = {0, 1, 2} - {killed}
    with as_replicas(3, archive, tmp_path / "run", *FOR_LONG) as running:
        wait_until(lambda: len(running.said(0)) > 3)
        running.processes[killed].kill()
        codes = running.codes()
        assert codes[killed] == -signal.SIGKILL
        for rank in others:
            assert codes[rank] == 1
            assert running.said(rank)[-1] == LOST
    assert not (tmp_path / "run/model.pt").exists()


def test_bad_input_is_refused_by_all(tmp_path: Path) -> None:
    archive = save(tmp_path / "data.npz", X_train=table()["X_train"] * np.nan)
    with as_replicas(2, archive, tmp_path / "run") as running:
        assert running.codes() == [2, 2]
        assert running.said(0)[-1] == running.said(1)[-1]
        assert "missing or infinite values" in running.said(0)[-1]


def test_what_one_replica_refuses_ends_the_other_too(archive: Path, tmp_path: Path) -> None:
    (tmp_path / "run").touch()  # a file, in which the first replica cannot write
    with as_replicas(2, archive, tmp_path / "run", *FOR_LONG) as running:
        assert running.codes() == [2, 1]
        assert "--model_dir" in running.said(0)[-1]
        assert "another replica ended" in running.said(1)[-1]
