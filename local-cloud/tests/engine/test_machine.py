"""Cores, GPUs, ports."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_cloud.engine import machine
from local_cloud.engine.machine import Ports, cores, ephemeral, gpus, outside
from local_cloud.engine.spec import EngineError

PORT = st.integers(1, 65_535)


def test_cores_are_those_that_this_process_may_use() -> None:
    assert 1 <= cores() <= (os.cpu_count() or 1)


@pytest.mark.parametrize(
    ("text", "whole"), [("max 100000", 1 << 16), ("250000 100000", 2), ("", 1 << 16)]
)
def test_a_containers_quota_in_whole_cores(tmp_path: Path, text: str, whole: int) -> None:
    (tmp_path / "cpu.max").write_text(text)
    assert machine._quota(tmp_path / "cpu.max") == whole


def test_a_containers_limit_bounds_the_free_memory(tmp_path: Path) -> None:
    everywhere = machine.free_memory(tmp_path)
    assert everywhere > 0
    (tmp_path / "memory.current").write_text("200000\n")
    (tmp_path / "memory.max").write_text("max\n")
    assert machine.free_memory(tmp_path) > 200_000
    (tmp_path / "memory.max").write_text("300000\n")
    assert machine.free_memory(tmp_path) == 100_000


def test_without_nvidia_smi_there_are_no_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert gpus() == ()


@pytest.mark.parametrize(
    ("visible", "expected"),
    [
        (None, (0, 1)),
        ("0,1", (0, 1)),
        ("1", (1,)),
        ("GPU-3, 0", (1, 0)),
        ("", ()),
        ("-1", ()),
        ("7", ()),
    ],
)
def test_gpus_are_those_that_nvidia_smi_lists_and_the_server_may_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, visible: str | None, expected: tuple[int, ...]
) -> None:
    listing = "GPU 0: A (UUID: GPU-1)\n  MIG 1g: (UUID: MIG-2)\nGPU 1: A (UUID: GPU-3)\n"
    (tmp_path / "nvidia-smi").write_text(f"#!/bin/sh\ncat <<.\n{listing}.\n")
    (tmp_path / "nvidia-smi").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert gpus() == expected


@given(PORT, PORT)
def test_ports_lie_outside_the_ephemeral_range(one: int, other: int) -> None:
    low, high = sorted((one, other))
    ports = outside(low, high)
    assert ports
    assert all(10_000 <= port <= 65_535 for port in ports)
    if low > 10_000 or high < 65_535:
        assert not any(low <= port <= high for port in ports)


def test_no_port_is_handed_out_twice_until_it_is_given_back() -> None:
    ports = Ports()
    low, high = ephemeral()
    taken = {ports.take() for _ in range(200)}
    assert len(taken) == 200
    assert not any(low <= port <= high for port in taken)
    ports.give_back(taken)
    assert ports._taken == set()


def test_a_port_that_somebody_listens_on_is_not_handed_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with socket.socket() as busy:
        port = Ports().take()
        busy.bind(("127.0.0.1", port))
        busy.listen()
        ports = Ports()
        ports._candidates = [port]
        with pytest.raises(EngineError, match="no port is free"):
            ports.take()
