"""The check's line `kernels`: on TCP, on a machine with other people, is something to fix."""

from __future__ import annotations

import json
import os
import pwd
import tempfile
from pathlib import Path

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lesson.setup import people
from lesson.setup.findings import Line, line
from lesson.setup.people import Process

Patch = pytest.MonkeyPatch
ME = os.getuid()
ADA = people.FIRST + 4711


def account(user: int, shell: str = "/bin/bash") -> pwd.struct_passwd:
    return pwd.struct_passwd((f"user{user}", "x", user, user, "", f"/home/user{user}", shell))


@pytest.fixture(autouse=True)
def nobody_else(monkeypatch: Patch) -> None:
    """A machine of its own, with no account but system ones."""
    monkeypatch.setattr(people, "CONTAINER", ())
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.setattr(people.pwd, "getpwall", lambda: [account(0), account(65_534)])


def kernel(folder: Path, transport: str) -> Process:
    """A kernel of mine."""
    file = folder / f"kernel-{transport}.json"
    file.write_text(json.dumps({"transport": transport}))
    return Process(ME, ["/env/bin/python", "-m", "ipykernel_launcher", "-f", str(file)])


def said(monkeypatch: Patch, *running: Process) -> Line:
    """What the check says on a machine with these processes."""
    monkeypatch.setattr(people, "processes", lambda: list(running))
    return line("kernels", people.kernels)


def test_kernels_on_tcp_with_other_people_are_to_fix(tmp_path: Path, monkeypatch: Patch) -> None:
    line = said(monkeypatch, kernel(tmp_path, "tcp"), Process(ADA, ["bash"]))
    assert line.word == "FIX"
    assert f"user {ADA}" in line.text and "1 of your kernels" in line.text
    assert "learners/setup.md" in line.text


def test_kernels_on_socket_files_are_not(tmp_path: Path, monkeypatch: Patch) -> None:
    line = said(monkeypatch, kernel(tmp_path, "ipc"), Process(ADA, ["bash"]))
    assert (line.word, line.text) == ("PASS", "none of yours listens on TCP")
    assert said(monkeypatch, Process(ADA, ["bash"])).text == "no kernel of yours is running"


def test_where_nobody_else_is_tcp_is_not_either(tmp_path: Path, monkeypatch: Patch) -> None:
    services = [Process(33, ["nginx"]), Process(65_534, ["dnsmasq"]), Process(ME, ["bash"])]
    line = said(monkeypatch, kernel(tmp_path, "tcp"), *services)
    assert (line.word, line.text) == ("PASS", "on TCP, but nobody else uses this machine")


def test_somebody_who_is_away_counts_by_the_account(tmp_path: Path, monkeypatch: Patch) -> None:
    accounts = [account(ADA), account(ADA + 1, "/usr/sbin/nologin"), account(65_534)]
    monkeypatch.setattr(people.pwd, "getpwall", lambda: accounts)
    assert people.others([]) == [f"user {ADA}"]
    assert said(monkeypatch, kernel(tmp_path, "tcp")).word == "FIX"


def test_in_a_container_the_accounts_of_its_image_are_nobody(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    monkeypatch.setattr(people.pwd, "getpwall", lambda: [account(ADA)])
    monkeypatch.setattr(people, "CONTAINER", (tmp_path,))
    assert people.others([]) == []
    assert people.others([Process(ADA, ["bash"])]) == [f"user {ADA}"]


def test_a_real_process_is_seen() -> None:
    assert Process(ME, psutil.Process().cmdline()) in people.processes()


WORDS = st.lists(st.text(max_size=9).filter(lambda word: not word.startswith("-")))


@given(WORDS, st.text(min_size=1, max_size=20), st.sampled_from(["-f", "-f=", "--f="]), WORDS)
def test_a_kernels_file_is_found_in_its_command_line(
    before: list[str], file: str, option: str, after: list[str]
) -> None:
    named = [option, file] if option == "-f" else [option + file]
    command = ["python", "-m", "ipykernel_launcher", *before, *named, *after]
    assert people.connection_file(command) == file


@given(st.lists(st.text()))
def test_any_other_command_line_is_no_kernel(words: list[str]) -> None:
    words = [word for word in words if "ipykernel" not in word]
    assert people.connection_file(words) is None


@given(st.binary(max_size=60))
def test_a_damaged_file_is_passed_over(content: bytes) -> None:
    with tempfile.NamedTemporaryFile() as file:
        Path(file.name).write_bytes(content)
        assert isinstance(people.transport(Path(file.name)), str)
    assert people.transport(Path("/no/such/file")) == ""
