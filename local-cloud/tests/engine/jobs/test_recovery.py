"""The server is killed: no process is left, and the next one tells what happened."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from pathlib import Path

import psutil
import pytest

from local_cloud.engine.jobs.queue import JobQueue
from local_cloud.engine.logs import log_timestamps
from local_cloud.engine.processes import reaper
from local_cloud.engine.spec import Attempt, Job, State
from local_cloud.store.records import Records
from tests.engine.support import (
    LEAVES,
    SLEEP,
    STUBBORN,
    Cloud,
    alive,
    engine,
    gone,
    outside,
    plan,
    python,
    run,
    until,
    written,
)

ROOT = Path(__file__).parents[3]
SHOWS = python("import os, time; print(os.getpid()); time.sleep(60)")


@contextmanager
def server(
    folder: Path, **jobs: tuple[tuple[str, ...], ...]
) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A server process with these jobs, and its reaper's process id."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.engine.serve", str(folder), json.dumps(jobs)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout
            yield process, int(process.stdout.readline())
        finally:
            process.kill()


def pids(folder: Path, job: str, *replicas: str) -> list[int]:
    """The process ids, on this machine, of what the replicas wrote first."""

    async def read() -> list[int]:
        logs = [folder / "jobs" / job / f"{name}.log" for name in replicas]
        return [outside(log, int((await written(log))[0])) for log in logs]

    return asyncio.run(asyncio.wait_for(read(), 30))


def test_when_the_server_is_killed_its_replicas_end_and_the_record_says_so(tmp_path: Path) -> None:
    with server(tmp_path, a=(SHOWS, LEAVES)) as (process, reaper_pid):
        replica, left_the_group = pids(tmp_path, "a", "r0", "r1")
        said = (tmp_path / "jobs/a/r0.log").read_text()
        process.kill()
        assert gone(replica, left_the_group, reaper_pid, within=5)

    async def story() -> None:
        async with engine(tmp_path) as here:
            job = here.get("a")
            assert job.outcome
            assert (job.state, job.outcome.reason) == (State.FAILED, "lost")
            assert "while this job was running" in job.outcome.message
            assert here.log("a", "r0").read_text() == said

    run(story())


def in_place_of(path: Path, what: str) -> None:
    """Put there what a job may have put in the place of a file of its own."""
    if what == "socket":
        with chdir(path.parent), socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path.name)  # a longer path is refused
    elif what == "pipe":
        os.mkfifo(path)
    elif what == "folder":
        path.mkdir()
    elif what == "closed file":
        path.touch(0o000)
    else:
        path.symlink_to({"dangling link": "/nowhere", "link": __file__, "loop": path.name}[what])


ODD = ("dangling link", "link", "loop", "socket", "pipe", "folder", "closed file")


def test_what_a_job_has_put_in_the_place_of_its_log_does_not_hold_up_the_next_server(
    tmp_path: Path,
) -> None:
    """Or in the place of the times of its lines, `.times`."""
    records = Records(tmp_path / "records.db")  # of a server that was killed
    jobs = [f"{what.replace(' ', '-')}{ending}" for what in ODD for ending in ("", ".times")]
    for job_id in jobs:
        what, dot, ending = job_id.partition(".")
        log = tmp_path / "jobs" / job_id / "r0.log"
        log.parent.mkdir(parents=True)
        if ending:
            log.write_text("done\n")
        in_place_of(log.with_name(f"r0.log{dot}{ending}"), what.replace("-", " "))
        attempt = Attempt(time.time())
        job = Job(job_id, "cloud", 1, State.RUNNING, time.time(), 1, attempts=(attempt,))
        records.put("job", job_id, job.document())
    records.close()

    async def story() -> None:
        async with engine(tmp_path) as here:
            assert {here.get(job_id).state for job_id in jobs} == {State.FAILED}

    run(story())


def test_a_deaf_replica_of_a_killed_server_is_killed_too(tmp_path: Path) -> None:
    deaf = python(STUBBORN[2].replace("'deaf'", "__import__('os').getpid()"))
    with server(tmp_path, a=(deaf,)) as (process, _):
        (replica,) = pids(tmp_path, "a", "r0")
        process.kill()
        assert gone(replica, within=5)


def test_the_reaper_is_not_ended_by_what_ends_the_server(tmp_path: Path) -> None:
    with server(tmp_path, a=(SHOWS,)) as (process, reaper_pid):
        (replica,) = pids(tmp_path, "a", "r0")
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            os.kill(reaper_pid, number)
        assert os.getsid(reaper_pid) == reaper_pid != os.getsid(process.pid)
        time.sleep(0.1)
        assert alive(reaper_pid)
        process.kill()
        assert gone(replica, reaper_pid, within=5)


def test_when_the_reaper_was_killed_too_the_next_start_ends_what_is_left(tmp_path: Path) -> None:
    with server(tmp_path, a=(SHOWS, LEAVES)) as (process, reaper_pid):
        left = pids(tmp_path, "a", "r0", "r1")
        os.kill(reaper_pid, signal.SIGKILL)
        process.kill()
        process.wait()
        assert all(map(alive, left))

    async def story() -> None:
        async with engine(tmp_path) as here:
            assert not any(map(alive, left))
            assert here.get("a").state is State.FAILED

    run(story())


def test_a_killed_reaper_is_replaced_and_is_no_zombie(tmp_path: Path) -> None:
    with server(tmp_path, a=(python(""),), b=(SHOWS,)) as (process, reaper_pid):
        os.kill(reaper_pid, signal.SIGKILL)
        (replica,) = pids(tmp_path, "b", "r0")
        assert not psutil.pid_exists(reaper_pid)
        process.kill()
        assert gone(replica, within=5)


def test_a_job_is_on_the_disk_as_soon_as_it_was_accepted(tmp_path: Path) -> None:
    code = """if True:
        import asyncio, os, signal, sys
        from pathlib import Path
        from tests.engine.support import Cloud, engine

        async def main():
            async with engine(Path(sys.argv[1]), Cloud(), cores=1) as here:
                here.submit("cloud", "a", 1)
                os.kill(os.getpid(), signal.SIGKILL)

        asyncio.run(main())
    """
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], cwd=ROOT, check=False)
    records = Records(tmp_path / "records.db")
    assert [name for name, _ in records.list("job")] == ["a"]
    records.close()

    async def story() -> None:
        async with engine(tmp_path, Cloud(a=plan(python("")))) as here:
            assert (await until(here, "a")).state is State.SUCCEEDED

    run(story())


def test_queued_jobs_run_after_a_restart_in_their_order(tmp_path: Path) -> None:
    with server(tmp_path, z=(SHOWS,), y=(SLEEP,), x=(SLEEP,)) as (process, _):
        pids(tmp_path, "z", "r0")
        process.kill()

    async def story() -> None:
        cloud = Cloud(x=plan(python("")), y=plan(python("")))
        async with engine(tmp_path, cloud, cores=1) as here:
            assert here.get("z").state is State.FAILED
            x, y = await until(here, "x"), await until(here, "y")
            assert (x.state, y.state) == (State.SUCCEEDED, State.SUCCEEDED)
            assert (y.ended or 0) <= (x.started or 0)

    run(story())


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        (State.STAGING, State.FAILED, "lost"),
        (State.RUNNING, State.FAILED, "lost"),
        (State.STOPPING, State.STOPPED, "stopped"),
    ],
)
def test_what_a_start_makes_of_a_record(
    tmp_path: Path, before: State, after: State, reason: str
) -> None:
    records = Records(tmp_path / "records.db")
    records.put("job", "a", Job("a", "cloud", 1, before, created=1.0).document())
    records.close()

    async def story() -> None:
        async with engine(tmp_path) as here:
            job = here.get("a")
            assert job.outcome
            assert (job.state, job.outcome.reason) == (after, reason)
            assert job.ended and abs(job.ended - time.time()) < 60

    run(story())


@pytest.mark.parametrize("read", [True, False])
def test_the_secret_in_the_log_of_a_killed_servers_job_is_masked_before_anybody_reads_it(
    tmp_path: Path, read: bool
) -> None:
    """The killed server had not searched the last half second of it, and this one starts at once.

    Whoever reads the log has it searched first, and if nobody does, it is searched all the same.
    """
    records = Records(tmp_path / "records.db")
    records.put("job", "a", Job("a", "cloud", 1, State.RUNNING, created=1.0).document())
    (log := tmp_path / "jobs" / "a" / "r0.log").parent.mkdir(parents=True)
    log.write_text("the word\n")

    async def story() -> None:
        here = JobQueue(tmp_path / "jobs", records, cores=4, hidden="word")
        await here.start({"cloud": Cloud()})
        assert here.get("a").state.ended
        if read:  # before the loop, and so the search, goes on
            readable = log_timestamps.mark_readable(log, b"word", ended=True)
            assert log.read_text()[:readable] == "the SECR\n"
        while log.read_text() != "the SECR\n":
            await asyncio.sleep(0.01)
        await here.close()

    run(story())
    records.close()


def test_a_closed_engine_leaves_queued_jobs_queued_and_says_what_was_lost(tmp_path: Path) -> None:
    async def story() -> None:
        async with engine(tmp_path, Cloud(a=plan(SHOWS)), cores=1) as here:
            here.submit("cloud", "a", 1)
            here.submit("cloud", "b", 1)
            pid = outside(log := here.log("a", "r0"), int((await written(log))[0]))
        assert not alive(pid)
        assert here.get("b").state is State.QUEUED
        async with engine(tmp_path, Cloud(b=plan(python("")))) as again:
            job = again.get("a")
            assert job.outcome
            assert (job.state, job.outcome.reason) == (State.FAILED, "lost")
            assert (await until(again, "b")).state is State.SUCCEEDED

    run(story())


def test_an_engine_lets_the_jobs_of_another_folder_be(tmp_path: Path) -> None:
    async def story() -> None:
        async with engine(tmp_path / "one", Cloud(a=plan(SHOWS))) as one:
            one.submit("cloud", "a", 1)
            pid = outside(log := one.log("a", "r0"), int((await written(log))[0]))
            async with engine(tmp_path / "two", Cloud(a=plan(python("")))) as two:
                two.submit("cloud", "a", 1)
                await until(two, "a")
            assert alive(pid)

    run(story())


def test_a_process_that_hides_its_environment_is_found_by_its_session() -> None:
    code = "import os, time; os.fork() or os.setpgid(0, 0); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", code], env={}, start_new_session=True) as process:
        deadline = time.monotonic() + 10
        while len(reaper.find_living([process.pid], [])) < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
        processes = reaper.find_living([process.pid], [])
        assert len(processes) == 2
        assert reaper.end([process.pid], [], 5)
        process.wait()
        assert gone(*processes, within=5)


def test_no_group_and_no_mark_is_nothing() -> None:
    assert reaper.find_living((), ()) == set()


def test_another_user_who_copies_a_control_groups_name_holds_up_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    signs = {reaper._sign("MARK=mine")}
    with subprocess.Popen(["sleep", "60"], env={}, start_new_session=True) as process:
        copied = process.pid
        monkeypatch.setattr(reaper, "_group_signs", lambda pid: signs if pid == copied else set())
        assert reaper.find_living((), ["MARK=mine"]) == {copied}
        with monkeypatch.context() as theirs:
            theirs.setattr(reaper, "_is_ours", lambda pid: pid != copied)
            assert reaper.find_living((), ["MARK=mine"]) == set()
        process.kill()
    assert not reaper._is_ours(copied)


def test_a_process_that_begins_its_program_just_then_is_ended_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """For a moment it has neither its parent's environment nor its own."""
    looks, look = [set[int]()], reaper.find_living
    monkeypatch.setattr(reaper, "find_living", lambda *both: looks.pop() if looks else look(*both))
    process = subprocess.Popen(["sleep", "60"], env={"MARK": "mine"}, start_new_session=True)
    assert reaper.end((), ["MARK=mine"], grace=5)
    assert process.wait(5) == -signal.SIGTERM


def test_a_process_that_was_found_once_is_waited_for_until_it_has_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """While it ends it has no environment any more, and is not found by it."""
    slow = (
        "import signal, sys, time\n"
        "signal.signal(signal.SIGTERM, lambda *_: (time.sleep(0.5), sys.exit(7)))\n"
        "print('ready', flush=True)\ntime.sleep(60)"
    )
    command = [sys.executable, "-c", slow]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdout and process.stdout.readline()
        looks = [{process.pid}]
        monkeypatch.setattr(reaper, "find_living", lambda *_: looks.pop() if looks else set())
        assert reaper.end((), ["MARK=mine"], grace=10)
        assert process.poll() == 7
