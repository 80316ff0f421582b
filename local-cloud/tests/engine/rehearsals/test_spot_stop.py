"""A stop that is rehearsed: a job is interrupted when its log gets to an epoch."""

from __future__ import annotations

import asyncio
import os
import tempfile
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_cloud.engine.jobs import attempt_runner
from local_cloud.engine.jobs.attempt_runner import AGAIN
from local_cloud.engine.jobs.job_runner import INTERRUPTED
from local_cloud.engine.jobs.queue import JobQueue
from local_cloud.engine.rehearsals import spot_stop
from local_cloud.engine.rehearsals.spot_stop import Reader
from local_cloud.engine.spec import EngineError, Job, State
from local_cloud.store.files import open_file
from local_cloud.store.records import Records
from tests.engine.support import Cloud, engine, plan, python, run, until, written


def trains(folder: Path, epochs: int = 60, *holds: int, every: float = 0) -> tuple[str, ...]:
    """Counts epochs as a training does, and on SIGTERM keeps where it is in the folder.

    It waits for SIGTERM at each of the epochs `holds`, and `every` seconds before each epoch.
    """
    return python(f"""if True:
        import os, signal, sys, time
        file = {str(folder / "checkpoint")!r}
        done = int(open(file).read()) if os.path.exists(file) else 0
        def stop(*_):
            open(file, "w").write(str(done))
            sys.exit(134)
        signal.signal(signal.SIGTERM, stop)
        print("goes on after", done, flush=True)
        while done < {epochs}:
            time.sleep({every})
            done += 1
            print(f"epoch {{done:4d}}  loss 0.5", flush=True)
            while done in {holds}:
                signal.pause()
    """)


@pytest.fixture(autouse=True)
def _short_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempt_runner, "PAUSE", 0.05)


async def sent(here: JobQueue, job_id: str) -> Job:
    here.submit("cloud", job_id, 1)
    return await until(here, job_id)


def said(here: JobQueue, job_id: str, *beginnings: str) -> list[str]:
    lines = here.log(job_id, "r0").read_text().splitlines()
    return [line for line in lines if line.startswith(beginnings)]


def test_the_next_job_is_interrupted_once_and_goes_on(tmp_path: Path) -> None:
    cloud = Cloud(a=plan(trains(tmp_path, 60, 30), interruptions=9))

    async def story() -> None:
        async with engine(tmp_path, cloud) as here:
            assert not here.rehearse([30])
            job = await sent(here, "a")
            assert (job.state, job.interruptions) == (State.SUCCEEDED, 1)
            lines = here.log("a", "r0").read_text().splitlines()
            place = lines.index(INTERRUPTED.format(30))
            assert any(line.startswith("epoch   30") for line in lines[:place])
            assert (tmp_path / "checkpoint").read_text() == "30"
            epochs = [int(line.split()[1]) for line in said(here, "a", "epoch")]
            assert epochs == list(range(1, 61))  # none is lost, and none is done again
            assert not here.rehearse([])  # it is used up

    run(story())


def test_the_sentence_in_the_log() -> None:
    assert INTERRUPTED.format(30) == (
        "local cloud: spot stop rehearsed at epoch 30: the replicas were sent SIGTERM"
    )


def test_the_job_that_runs_already_is_interrupted(tmp_path: Path) -> None:
    async def story() -> None:
        cloud = Cloud(a=plan(trains(tmp_path, 60, 50), interruptions=9))
        async with engine(tmp_path, cloud) as here:
            here.submit("cloud", "a", 1)
            await written(here.log("a", "r0"), 50)
            here.rehearse([3])  # or a later one
            while not here.get("a").interruptions:
                await asyncio.sleep(0.01)
            assert (await until(here, "a", State.STAGING)).attempts[0].ended

    run(story())


def test_several_stops_of_one_job(tmp_path: Path) -> None:
    async def story() -> None:
        cloud = Cloud(a=plan(trains(tmp_path, 60, 10, 25), interruptions=9))
        async with engine(tmp_path, cloud) as here:
            here.rehearse([25, 10])
            job = await sent(here, "a")
            assert (job.state, job.interruptions) == (State.SUCCEEDED, 2)
            assert said(here, "a", "local cloud: spot") == [
                INTERRUPTED.format(10),
                INTERRUPTED.format(25),
            ]

    run(story())


def test_what_one_job_has_not_used_of_several_is_not_the_next_ones(tmp_path: Path) -> None:
    async def story() -> None:
        (tmp_path / "b").mkdir()
        cloud = Cloud(
            a=plan(trains(tmp_path, 60, 10), interruptions=9),
            b=plan(trains(tmp_path / "b", 15, every=0.02), interruptions=9),
        )
        async with engine(tmp_path, cloud) as here:
            here.rehearse([10, 1000])
            assert (await sent(here, "a")).interruptions == 1
            here.rehearse([])
            assert (await sent(here, "b")).interruptions == 0

    run(story())


def test_one_that_was_not_used_waits_over_a_restart(tmp_path: Path) -> None:
    async def story() -> None:
        cloud = Cloud(
            short=plan(python("print('epoch 2')"), interruptions=9),
            never=plan(trains(tmp_path, 15, every=0.02)),  # is not one that is interrupted
            a=plan(trains(tmp_path, 15, 3), interruptions=9),
        )
        async with engine(tmp_path, cloud) as here:
            here.rehearse([3])
            assert (await sent(here, "short")).interruptions == 0
            assert (await sent(here, "never")).interruptions == 0
        (tmp_path / "checkpoint").unlink(missing_ok=True)
        async with engine(tmp_path, cloud) as here:
            assert (await sent(here, "a")).interruptions == 1
        async with engine(tmp_path, cloud) as here:
            assert not here.rehearse([])

    run(story())


def test_one_that_has_begun_does_not_outlive_its_job(tmp_path: Path) -> None:
    records = Records(tmp_path / "records.db")
    spot_stop.Rehearsals(records).keep(
        spot_stop.Rehearsal((60,), "a")
    )  # what a killed server leaves
    records.close()

    async def story() -> None:
        async with engine(tmp_path) as here:
            assert not here.rehearse([])

    run(story())


def test_it_can_be_taken_back_and_replaced(tmp_path: Path) -> None:
    async def story() -> None:
        cloud = Cloud(a=plan(trains(tmp_path, 15, every=0.02), interruptions=9))
        async with engine(tmp_path, cloud) as here:
            assert not here.rehearse([3])
            assert here.rehearse([2])
            assert here.rehearse([])
            assert (await sent(here, "a")).interruptions == 0

    run(story())


def test_what_is_no_epoch_is_refused(tmp_path: Path) -> None:
    async def story() -> None:
        async with engine(tmp_path) as here:
            for wrong in (0, -1, True, "30", 2.5, None):
                with pytest.raises(EngineError, match="whole numbers from 1"):
                    here.rehearse([wrong])

    run(story())


def test_old_lines_of_an_earlier_attempt_do_not_count(tmp_path: Path) -> None:
    async def story() -> None:
        begins_anew = trains(tmp_path / "nowhere", every=0.02)  # nothing can be kept there
        cloud = Cloud(a=plan(begins_anew, interruptions=9, retried=frozenset({1})))
        async with engine(tmp_path, cloud) as here:
            here.rehearse([10, 20])
            job = await sent(here, "a")
            assert (job.state, job.interruptions) == (State.SUCCEEDED, 2)
            lines = here.log("a", "r0").read_text().splitlines()
            second = lines.index(INTERRUPTED.format(20))
            first = lines.index(f"{AGAIN}2")
            epochs = [int(line.split()[1]) for line in lines[first:second] if line[:5] == "epoch"]
            assert epochs[0] == 1 and epochs[-1] >= 20

    run(story())


# ---- reading a log -------------------------------------------------------------------------------
noise = st.sampled_from(["epochs 5000", "myepoch 77", "epoch", "epoch x", "", "loss 99", "§ é"])
numbers = st.integers(0, 10**6)


@given(
    st.lists(noise | numbers.map("epoch {:>4}  loss 0.5".format), max_size=30),
    st.lists(st.integers(1, 40), min_size=1),
    st.integers(1, 50),
)
def test_the_highest_epoch_of_whole_lines_however_the_log_grows(
    lines: list[str], steps: list[int], block: int
) -> None:
    text = "".join(f"{line}\n" for line in lines).encode()
    epochs = [int(line.split()[1]) for line in lines if line[:6] == "epoch " and "loss" in line]
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(spot_stop, "BLOCK", max(block, 64))
        log = Path(folder, "log")
        reader = Reader(partial(open_file, log))
        assert not reader.news()
        start = 0
        while start < len(text):
            end = start + steps[start % len(steps)]
            with log.open("ab") as file:
                file.write(text[start:end])
            start = end
            while reader.news():
                pass
            whole = text[:end].rpartition(b"\n")[0].decode().splitlines()
            known = [
                int(line.split()[1]) for line in whole if line[:6] == "epoch " and "loss" in line
            ]
            assert reader.epoch == max(known, default=0)
        assert reader.epoch == max(epochs, default=0)


def test_a_number_that_is_still_being_written_is_not_read(tmp_path: Path) -> None:
    log = tmp_path / "log"
    reader = Reader(partial(open_file, log))
    log.write_text("epoch 3")
    reader.news()
    assert reader.epoch == 0
    with log.open("a") as file:
        file.write("0\n")
    reader.news()
    assert reader.epoch == 30


def test_a_hole_is_not_read(tmp_path: Path) -> None:
    """The 4 TiB of it would take an hour, and the stop would never come."""
    log = tmp_path / "log"
    log.write_text("epoch 1\n")
    reader = Reader(partial(open_file, log))
    os.truncate(log, 4 << 40)
    with log.open("a") as file:
        file.write("\nepoch 2\n")
    while reader.news():
        pass
    assert reader.epoch == 2
