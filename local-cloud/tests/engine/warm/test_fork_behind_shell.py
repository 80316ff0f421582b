"""Replicas that are forked behind a shell's line or a launcher are as if these had started them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import psutil
import pytest

from local_cloud.engine import system
from local_cloud.engine.spec import Plan, Replica, State
from local_cloud.engine.warm import fork_process
from tests.engine.archives import SETUP, sdist
from tests.engine.forks import TELLS, ended, only
from tests.engine.forks import lighter as lighter
from tests.engine.support import Cloud, alive, engine, run, until
from tests.engine.wheels import wheel

pytestmark = pytest.mark.skipif(not system.LINUX, reason="forks on Linux only")


def shell(line: str, hot: bool, folder: Path) -> Plan:
    """A replica with a line for the shell, which is forked if it is hot."""
    own = {"HERE": str(folder), "FIRST": str(folder)}
    return Plan((Replica("r", ("sh", "-c", line), own if hot else own | {"COLD": "1"}, folder),))


@pytest.mark.parametrize(
    ("first", "code"),
    [
        ("pip install --upgrade pip && pip3 install -q --user {packed}", TELLS),
        ("pip3 install -q {lost}", "print('never')"),
        ("pip3 install -q {packed}", "import os; os.kill(os.getpid(), 9)"),
    ],
)
def test_what_a_shells_line_installs_and_runs_finds_what_it_does_behind_a_shell(
    tmp_path: Path, first: str, code: str
) -> None:
    packed, lost = sdist(tmp_path / "packed.tar.gz", code=code), tmp_path / "lost.tar.gz"
    line = f"{first.format(packed=packed, lost=lost)} && python3 -m lcpacked --x '1 2'"
    plans = {name: shell(line, name == "forked", tmp_path) for name in ("forked", "started")}

    async def story() -> None:
        async with engine(tmp_path / "engine", Cloud(**plans)) as running:
            job, forked = await ended(running, "forked")
            assert only(running)
            other, started = await ended(running, "started")
        forked = forked.replace("/jobs/forked/", "/jobs/started/")
        assert forked.replace(f"{fork_process.NOTE}\n", "").replace("warm\n", "cold\n") == started
        assert forked.count("warm\n") == (code == TELLS)
        assert job.outcome and other.outcome and job.outcome.code == other.outcome.code != 0

    run(story())


@pytest.mark.parametrize(
    ("more", "setup"),
    [
        ("lclow-1.0-py3-none-any.whl", SETUP),  # a second package
        (
            "",
            SETUP.replace(
                "py_modules=", "entry_points={'torch.backends': ['x=lcpacked']},py_modules="
            ),
        ),
        ("", SETUP.replace("['lcpacked']", "['lcpacked', 'numbers']")),  # NumPy imports another one
    ],
)
def test_a_job_that_installs_what_an_import_would_notice_is_started_after_it(
    tmp_path: Path, more: str, setup: str
) -> None:
    wheel(tmp_path, "lclow", "1.0")
    packed = sdist(
        tmp_path / "packed.tar.gz", setup=f"open('numbers.py', 'w').close()\n{setup}",
        code="import sys\nprint('numpy' in sys.modules)\n",
    )  # fmt: skip
    line = f"pip3 install -q {packed} {more and tmp_path / more} && python3 -m lcpacked"

    async def story() -> None:
        async with engine(tmp_path / "engine", Cloud(job=shell(line, True, tmp_path))) as running:
            running.submit("cloud", "job", 1)
            await until(running, "job")
            assert only(running)
            assert running.log("job", "r").read_text() == "False\n"

    run(story())


def sleeping(seconds: str) -> list[int]:
    """The processes that sleep for so long."""
    words = {each.pid: each.info["cmdline"] for each in psutil.process_iter(["cmdline"])}
    return [pid for pid, command in words.items() if command == ["sleep", seconds]]


def test_a_job_is_stopped_while_it_installs_what_it_runs(tmp_path: Path) -> None:
    setup = "import os\nos.execvp('sleep', ['sleep', '60.125'])\n"
    packed = sdist(tmp_path / "packed.tar.gz", setup=setup)
    line = f"pip3 install -q {packed} && python3 -m lcpacked"

    async def story() -> None:
        async with engine(tmp_path / "engine", Cloud(job=shell(line, True, tmp_path))) as running:
            running.submit("cloud", "job", 1)
            while not (builds := sleeping("60.125")):
                await asyncio.sleep(0.02)
            running.stop("job")
            job = await until(running, "job")
            assert job.state is State.STOPPED and not any(map(alive, builds))

    run(story())


LAUNCHER = f"""
import sys
sys.path.append({str(Path(fork_process.__file__).parent)!r})
from fork_client import start
sys.path.pop()
ends = "print(*sys.argv[1:])\\nimport atexit\\natexit.register(print, 'at its end')"
for code in ends, "print(end='', file=sys.stderr)\\nsys.exit(3)", "os.abort()":
    first = "import os, sys\\nprint(os.getcwd() == sys.path[0])\\n"
    open("script.py", "w").write(first + code + "\\n")
    program = start([sys.executable, "script.py", "a", "b c"])
    print(program.stdout.read().decode().replace("NOTE\\n", ""), program.wait(), flush=True)
""".replace("NOTE", fork_process.NOTE)


def test_what_a_launcher_launches_is_forked_too(tmp_path: Path) -> None:
    code = tmp_path / "code"
    code.mkdir()
    (code / "launcher.py").write_text(LAUNCHER)
    words = ("bash", "-c", "echo before; python launcher.py; echo after $?; exit 4")
    plans = {
        name: Plan((Replica("r", words, {} if name == "forked" else {"COLD": "1"}, code),))
        for name in ("forked", "started")
    }

    async def story() -> None:
        async with engine(tmp_path / "engine", Cloud(**plans)) as running:
            job, forked = await ended(running, "forked")
            other, started = await ended(running, "started")
            assert only(running)
        assert forked == started and forked.startswith(
            "before\nTrue\na b c\nat its end\n 0\nTrue\n 3\n"
        )
        assert job.outcome and other.outcome and job.outcome.code == other.outcome.code == 4

    run(story())
