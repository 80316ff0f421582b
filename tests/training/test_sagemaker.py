"""What SageMaker's containers tell a script, and the hosts of one job that train one model."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.training.support import (
    LOOPBACK,
    SCRIPT,
    Replicas,
    as_process,
    free_port,
    inside,
    save,
    table,
    train,
)
from training import train_nn
from training.train_nn import Replica, find_replicas


def names(hosts: int) -> list[str]:
    """As SageMaker names the hosts of a job."""
    return [f"algo-{number}" for number in range(1, hosts + 1)]


def host(hosts: int, number: int, **more: str) -> dict[str, str]:
    """What is set on a host in both containers: that of the SDK's version 2 and that of 3."""
    network = {"SM_NETWORK_INTERFACE_NAME": LOOPBACK["GLOO_SOCKET_IFNAME"]}
    return {
        "SM_HOSTS": json.dumps(names(hosts)),
        "SM_CURRENT_HOST": f"algo-{number}",
        **network,
        **more,
    }


def in_version_2(hosts: int, number: int, address: str = "algo-1", port: int = 7777) -> Any:
    """The PyTorch container says on every host, also on an only one, where the hosts meet."""
    return host(hosts, number, MASTER_ADDR=address, MASTER_PORT=str(port))


def in_version_3(hosts: int, number: int, address: str = "algo-1", port: int = 7777) -> Any:
    """The driver that the SDK sends says it by names of its own."""
    rest = {"SM_HOST_COUNT": str(hosts), "SM_CURRENT_HOST_RANK": str(number - 1)}
    return host(hosts, number, SM_MASTER_ADDR=address, SM_MASTER_PORT=str(port), **rest)


CONTAINERS = pytest.mark.parametrize("container", [in_version_2, in_version_3])


# ---- rank ---------------------------------------------------------------------------------------
@CONTAINERS
def test_an_only_host_is_alone_whatever_else_is_set(container: Any) -> None:
    assert find_replicas(container(1, 1)) == Replica()
    assert find_replicas(container(1, 1, port=10**6)) == Replica()
    assert find_replicas(host(1, 1)) == find_replicas({"SM_HOSTS": ""}) == Replica()


@CONTAINERS
@pytest.mark.parametrize("hosts", [2, 3])
def test_each_host_has_its_place_and_they_meet_at_the_first(container: Any, hosts: int) -> None:
    replicas = [find_replicas(container(hosts, number)) for number in range(1, hosts + 1)]
    assert replicas == [Replica(rank, hosts, "tcp://algo-1:7777") for rank in range(hosts)]
    assert replicas == [find_replicas(host(hosts, number)) for number in range(1, hosts + 1)]


def test_hosts_are_in_the_order_of_their_names_not_of_their_numbers() -> None:
    ranks = {number: find_replicas(host(11, number)).rank for number in range(1, 12)}
    assert ranks == {1: 0, 10: 1, 11: 2, 2: 3, 3: 4, 4: 5, 5: 6, 6: 7, 7: 8, 8: 9, 9: 10}
    assert len({find_replicas(host(11, number)).url for number in range(1, 12)}) == 1


@CONTAINERS
def test_the_container_says_where_they_meet(container: Any) -> None:
    replica = find_replicas(container(2, 2, address="10.0.7.1", port=23456))
    assert replica == Replica(1, 2, "tcp://10.0.7.1:23456")


def test_what_version_3_says_goes_before_what_a_container_says_to_version_2() -> None:
    both = in_version_2(2, 1, "elsewhere", 1) | in_version_3(2, 1)
    assert find_replicas(both).url == "tcp://algo-1:7777"


@CONTAINERS
def test_torchrun_counts_processes_and_so_goes_before_sagemaker(container: Any) -> None:
    inside_torchrun = {"RANK": "3", "WORLD_SIZE": "4", "LOCAL_RANK": "1"}
    inside_torchrun |= {"MASTER_ADDR": "algo-1", "MASTER_PORT": "7777", "TORCHELASTIC_RUN_ID": "x"}
    replica = Replica(3, 4, "env://")
    assert find_replicas(container(2, 2) | inside_torchrun) == replica
    assert find_replicas(container(1, 1) | inside_torchrun) == replica
    del inside_torchrun["TORCHELASTIC_RUN_ID"]  # another launcher of the same kind
    assert find_replicas(container(2, 2) | inside_torchrun) == replica


@pytest.mark.parametrize(
    "damaged",
    [
        *({"SM_HOSTS": text} for text in ("[", "7", "null", "[]", "{}", '"algo-1"', '[1, "a"]')),
        {"SM_HOSTS": '["algo-1", ["algo-2"]]'},
        {"SM_CURRENT_HOST": "algo-3"},
        {"SM_CURRENT_HOST": ""},
        {"SM_MASTER_PORT": "port"},
        {"SM_MASTER_PORT": "65536"},
        {"MASTER_PORT": "-1"},
    ],
)
def test_damaged_hosts_are_refused_in_one_sentence(damaged: Any) -> None:
    with pytest.raises(train_nn.Refused, match=r"^SM_HOSTS cannot be used: .*; .*train alone$"):
        find_replicas(host(2, 1) | damaged)


def test_a_host_that_does_not_know_its_own_name_is_refused() -> None:
    sentence = "^SM_HOSTS cannot be used: 'SM_CURRENT_HOST' is missing"
    with pytest.raises(train_nn.Refused, match=sentence):
        find_replicas({"SM_HOSTS": json.dumps(names(2))})


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9) | st.sampled_from(names(3)),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=9,
)
texts = st.none() | st.text(max_size=9) | st.sampled_from([*names(3), "7777"])


@given(hosts=json_values, own=texts, address=texts, port=texts)
def test_any_variables_give_a_place_or_are_refused(
    hosts: Any, own: str | None, address: str | None, port: str | None
) -> None:
    given = {"SM_CURRENT_HOST": own, "SM_MASTER_ADDR": address, "MASTER_PORT": port}
    environment = {name: value for name, value in given.items() if value is not None}
    try:
        replica = find_replicas(environment | {"SM_HOSTS": json.dumps(hosts)})
    except train_nn.Refused as problem:
        assert len(str(problem).splitlines()) == 1
    else:
        assert 0 <= replica.rank < replica.size


def test_a_process_refuses_damaged_hosts() -> None:
    ended = as_process("--train", "t", "--val", "v", **host(2, 3))
    sentence = "train_nn.py: SM_HOSTS cannot be used: 'algo-3' is not in list"
    assert ended.code == 2 and ended.err.count("\n") == 1
    assert ended.err.startswith(sentence)


# ---- one model ----------------------------------------------------------------------------------
@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """41 rows: not to be shared out evenly among 2."""
    return save(tmp_path / "data.npz", **table(rows=41))


def weights(folder: Path) -> torch.Tensor:
    state = torch.load(folder / "model.pt", weights_only=True)["model"]
    return torch.cat([value.flatten() for value in state.values()])


@pytest.mark.parametrize(
    "container", [in_version_2, pytest.param(in_version_3, marks=pytest.mark.slow)]
)
def test_two_hosts_train_the_model_of_one(container: Any, archive: Path, tmp_path: Path) -> None:
    port, folders = free_port(), [tmp_path / name / "model" for name in names(2)]
    environments = [
        container(2, number, "127.0.0.1", port) | {"SM_MODEL_DIR": str(folder)}
        for number, folder in zip((1, 2), folders, strict=True)
    ]
    flags = ("--train", archive, "--val", archive, "--epochs", 20, "--batch_size", 16)
    with Replicas(environments, tmp_path / "logs", *flags) as running:
        assert running.codes() == [0, 0], [log.read_text() for log in running.logs]
        assert running.said(1) == [
            "replica 1 of 2 waits for the others",
            "replica 1 of 2, rows 20 to 40",
        ]
    train(archive, tmp_path / "one", "--epochs", 20, "--batch_size", 16)
    torch.testing.assert_close(weights(folders[0]), weights(tmp_path / "one"), rtol=0, atol=1e-5)
    metrics = json.loads((folders[0] / "metrics.json").read_text())
    assert metrics["world_size"] == 2
    assert [replica["rows"] for replica in metrics["replicas"]] == [
        {"start": 0, "stop": 20},
        {"start": 20, "stop": 41},
    ]
    # SageMaker packs the folders of all hosts into one archive: a second model would be in its way.
    assert not folders[1].exists()


@pytest.mark.slow
def test_torchrun_on_two_hosts_with_two_processes_each(archive: Path, tmp_path: Path) -> None:
    port = free_port()
    flags = [f"--train={archive}", f"--val={archive}", "--epochs=5"]
    running = []
    for node in range(2):
        command = [sys.executable, "-m", "torch.distributed.run", "--nnodes=2"]
        command += ["--nproc_per_node=2", f"--node_rank={node}", "--master_addr=127.0.0.1"]
        command += [f"--master_port={port}", str(SCRIPT), *flags, f"--model_dir={tmp_path / 'run'}"]
        environment = in_version_2(2, node + 1, "127.0.0.1", port)
        running.append(
            subprocess.Popen(
                command, env={**os.environ, **environment}, text=True,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            )
        )  # fmt: skip
    try:
        said = [process.communicate(timeout=120)[0] for process in running]
    finally:
        for process in running:
            process.kill()
    assert [process.returncode for process in running] == [0, 0], said
    train(archive, tmp_path / "one", "--epochs", 5)
    torch.testing.assert_close(
        weights(tmp_path / "run"), weights(tmp_path / "one"), rtol=0, atol=1e-5
    )
    assert json.loads((tmp_path / "run/metrics.json").read_text())["world_size"] == 4


def test_an_only_host_writes_where_sagemaker_looks(archive: Path, tmp_path: Path) -> None:
    folder = tmp_path / "opt/ml/model"
    flags = ("--train", archive, "--val", archive, "--epochs", 2)
    assert as_process(*flags, **in_version_2(1, 1), SM_MODEL_DIR=str(folder)).code == 0
    assert json.loads((folder / "metrics.json").read_text())["world_size"] == 1


@pytest.mark.parametrize(
    ("own", "codes"), [({}, [1, 1]), (LOOPBACK, [0, 0])], ids=["unset", "a user's own"]
)
def test_gloo_takes_the_network_that_sagemaker_names_unless_told_another(
    own: Any, codes: list[int], archive: Path, tmp_path: Path
) -> None:
    """Left alone it takes that of the host's own name, which the others need not reach."""
    port, named = free_port(), {"SM_NETWORK_INTERFACE_NAME": "none-such"}
    environments = [in_version_3(2, number, "127.0.0.1", port) | named | own for number in (1, 2)]
    flags = ("--train", archive, "--val", archive, "--epochs", 1, "--model_dir", tmp_path / "run")
    with Replicas(environments, tmp_path / "logs", *flags) as running:
        assert running.codes() == codes
        refused = [line for line in running.said(0) if "none-such" in line]
        assert len(refused) == (0 if own else 1)


# ---- channels -----------------------------------------------------------------------------------
@pytest.fixture
def channels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a job's channels, with one archive in each of the two."""
    for part in ("train", "val"):
        (tmp_path / "data" / part).mkdir(parents=True)
        save(tmp_path / "data" / part / f"{part}_data.npz")
        monkeypatch.setenv(f"SM_CHANNEL_{part.upper()}", str(tmp_path / "data" / part))
    return tmp_path / "data"


def test_channels_with_one_archive_each_are_taken(channels: Path, tmp_path: Path) -> None:
    assert inside("--epochs", 1, "--model_dir", tmp_path / "run").code == 0
    metrics = json.loads((tmp_path / "run/metrics.json").read_text())
    assert metrics["configuration"]["train"] == str(channels / "train/train_data.npz")
    assert metrics["configuration"]["val"] == str(channels / "val/val_data.npz")


def test_a_flag_goes_before_its_channel(channels: Path, tmp_path: Path) -> None:
    other = save(tmp_path / "other.npz")
    inside("--train", other, "--epochs", 1, "--model_dir", tmp_path / "run")
    metrics = json.loads((tmp_path / "run/metrics.json").read_text())
    assert metrics["configuration"]["train"] == str(other)


def test_a_channel_without_archives_is_refused(channels: Path) -> None:
    (channels / "val/val_data.npz").unlink()
    ended = inside("--epochs", 1)
    assert ended.code == 2 and ended.err.count("\n") == 1
    assert f"--val {channels / 'val'}: there is no *.npz in" in ended.err


def test_several_archives_of_a_channel_are_one_table(channels: Path, tmp_path: Path) -> None:
    save(channels / "train/more.npz")
    out = inside("--epochs", 1, "--model_dir", tmp_path / "run").out
    assert out.startswith("80 rows, 7 features")
