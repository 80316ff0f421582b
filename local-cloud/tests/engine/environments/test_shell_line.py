"""The shell's line that a replica can be forked for: it installs one archive, and runs Python."""

from __future__ import annotations

import subprocess

import pytest

from local_cloud.engine.environments import shell_line

FIRST = "pip install --upgrade pip && pip3 install -q --user /gcs/b/a-00:00:01.2-x-0.1.tar.gz"


def test_the_line_of_googles_sdk_is_known() -> None:
    program = "python3 -m x.task --epochs=5 '--name=a b $c' --train=gs://b/x.npz"
    parsed = shell_line.parse(("sh", "-c", f"{FIRST} && {program}"))
    assert parsed == shell_line.ShellLine(
        FIRST,
        "/gcs/b/a-00:00:01.2-x-0.1.tar.gz",
        ("python3", "-m", "x.task", "--epochs=5", "--name=a b $c", "--train=gs://b/x.npz"),
    )
    said = subprocess.check_output(["sh", "-c", program.replace("python3 -m", "printf '%s\\n'")])
    assert tuple(said.decode().splitlines()) == parsed.program[2:]  # as the shell reads them


def test_the_line_of_a_trial_takes_the_words_behind_it() -> None:
    line = f'{FIRST} && python3 -m x.task --epochs=5 "$@"'
    behind = ("--name=a b $c", "", "--rate=0.1")
    parsed = shell_line.parse(("sh", "-c", line, "sh", *behind))
    assert parsed and parsed.program == ("python3", "-m", "x.task", "--epochs=5", *behind)
    told = line.replace(FIRST, "true").replace("python3 -m", "printf '%s\\n'")
    said = subprocess.check_output(["sh", "-c", told, "sh", *behind])
    assert tuple(said.decode().splitlines()) == parsed.program[2:]  # as the shell reads them
    alone = shell_line.parse(("sh", "-c", line))
    assert alone and alone.program == ("python3", "-m", "x.task", "--epochs=5")


@pytest.mark.parametrize(
    "line",
    [
        f'{FIRST} && python3 -m x.task "$@" --epochs=5',
        f"{FIRST} && python3 -m x.task $@",
        f'{FIRST} && python3 -m x.task x"$@"',
        f"{FIRST} && python3 -m x.task $FLAGS",
        f"{FIRST} && python3 -m x.task *.npz",
        f"{FIRST} && python3 -m x.task ~/x",
        f"{FIRST} && python3 -m x.task `cat flags`",
        f'{FIRST} && python3 -m x.task "$FLAGS"',
        f"{FIRST} && python3 -m x.task > log",
        f"{FIRST} && python3 -m x.task; rm x",
        f"{FIRST} && python3 -m x.task || true",
        f"{FIRST} && python3 -m x.task &",
        f"{FIRST} && python3 -m x.task\nrm x",
        f"{FIRST} && python3 -m x.task # rm",
        f"{FIRST} && OMP_NUM_THREADS=1 python3 -m x.task",
        f"export A=1 && {FIRST} && python3 -m x.task",
        f"cd /tmp && {FIRST} && python3 -m x.task",
        f"{FIRST} && cd /tmp && python3 -m x.task",
        f"{FIRST}; python3 -m x.task",
        f"{FIRST} && bash run.sh",
        FIRST,
        "python3 -m x.task",
        "pip install numpy && python3 -m x.task",
        "pip install a.tar.gz b.tar.gz && python3 -m x.task",
    ],
)
def test_any_other_line_is_left_to_a_shell(line: str) -> None:
    assert shell_line.parse(("sh", "-c", line)) is None


def test_a_command_that_is_no_line_of_a_shell_is_none() -> None:
    line = f"{FIRST} && python3 -m x.task"
    for command in (
        (),
        ("sh",),
        ("sh", "-ec", line),
        ("bash", "-c", line),
        ("sh", "-c", line, "x"),
    ):
        assert shell_line.parse(command) is None
