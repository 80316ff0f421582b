"""A source distribution is built once, however often and in however many jobs it is installed."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from local_cloud.engine.base import server_base
from local_cloud.engine.environments import uv, wheels
from local_cloud.engine.environments.job_environment import JobEnvironment
from local_cloud.engine.isolation.apart import Apart
from local_cloud.engine.spec import Plan, Replica, State
from tests.engine.archives import SETUP, sdist
from tests.engine.support import Cloud, engine, run, until
from tests.engine.wheels import wheel


def environment(folder: Path) -> JobEnvironment:
    """Return that of a job of a local cloud in this folder's parent."""
    return JobEnvironment(folder, server_base(folder), folder.parent / "wheels")


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The archives of which a wheel was built; none is built really."""
    names: list[str] = []

    def build(words: Sequence[str], _: Mapping[str, str], apart: Apart | None) -> None:
        *_, option, folder, archive = words
        assert option == "--out-dir"
        wheel(Path(folder), "lcpacked", "1.0")
        names.append(Path(archive).name)

    monkeypatch.setattr(uv, "build", build)
    return names


def test_what_holds_the_same_is_built_once_for_all_jobs(tmp_path: Path, built: list[str]) -> None:
    first = sdist(tmp_path / "first.tar.gz", time=1)
    again = sdist(tmp_path / "again.tar.gz", time=2)
    assert first.read_bytes() != again.read_bytes()
    one, other = environment(tmp_path / "one"), environment(tmp_path / "other")
    wheels_made = [
        wheels.wheel_of(archive, job, {})
        for archive, job in ((first, one), (again, one), (again, other))
    ]
    assert built == ["first.tar.gz"]
    assert wheels_made[0] == wheels_made[1] and wheels_made[0].is_relative_to(one.folder)
    assert wheels_made[2].is_relative_to(other.folder)  # what a job does to it harms no other
    assert wheels_made[0].read_bytes() == wheels_made[2].read_bytes()

    wheels.wheel_of(sdist(tmp_path / "changed.tar.gz", code="changed = 1\n"), other, {})
    assert built == ["first.tar.gz", "changed.tar.gz"]


def test_jobs_that_build_at_once_keep_one_wheel(tmp_path: Path, built: list[str]) -> None:
    archive = sdist(tmp_path / "a.tar.gz")
    jobs = [environment(tmp_path / f"job-{number}") for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        wheels_made = list(pool.map(lambda job: wheels.wheel_of(archive, job, {}), jobs))
    assert len({path.read_bytes() for path in wheels_made}) == 1
    (kept,) = (tmp_path / "wheels").iterdir()
    assert [path.name for path in kept.iterdir()] == [wheels_made[0].name]


def test_what_a_killed_build_leaves_is_not_used(tmp_path: Path, built: list[str]) -> None:
    archive, job = sdist(tmp_path / "a.tar.gz"), environment(tmp_path / "job")
    (kept,) = [wheels.wheel_of(archive, job, {}).parent.name]
    for entry in (tmp_path / "wheels" / kept).iterdir():
        entry.unlink()  # a removal that was cut off
    (tmp_path / "wheels" / f"{wheels.NEW}left").mkdir()
    (tmp_path / "other/wheels" / kept).mkdir(parents=True)
    (tmp_path / "other/wheels" / kept / "lcpacked-1.0-py3-none-any.whl.part").touch()
    wheel = wheels.wheel_of(archive, environment(tmp_path / "other"), {})
    assert built == ["a.tar.gz"] * 2
    assert wheel.stat().st_size and (tmp_path / "wheels" / kept / wheel.name).is_file()


def test_the_wheels_that_were_not_used_for_longest_make_room(
    tmp_path: Path, built: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    names = []
    for number in range(3):
        archive = sdist(tmp_path / f"{number}.tar.gz", code=f"number = {number}\n")
        wheel = wheels.wheel_of(archive, environment(tmp_path / f"job-{number}"), {})
        names.append(wheel.parent.name)
        os.utime(tmp_path / "wheels" / names[-1], (number, number))
        monkeypatch.setattr(wheels, "MOST", 2 * wheel.stat().st_size)
    assert {path.name for path in (tmp_path / "wheels").iterdir()} == {*names[1:]}
    wheels.wheel_of(tmp_path / "1.tar.gz", environment(tmp_path / "later"), {})  # is used
    wheels.wheel_of(tmp_path / "0.tar.gz", environment(tmp_path / "later"), {})
    assert {path.name for path in (tmp_path / "wheels").iterdir()} == {names[0], names[1]}


def test_its_setup_runs_in_the_first_of_two_jobs(tmp_path: Path) -> None:
    setup = f"import uuid\nopen('lcpacked.py', 'w').write(f'print({{uuid.uuid4().int}})')\n{SETUP}"
    plans, built = {}, set[str]()
    for name in ("first", "second"):
        archive = sdist(tmp_path / f"{name}.tar.gz", setup=setup)
        line = f"pip install {archive} && python -c 'import lcpacked'"
        plans[name] = Plan((Replica("r", ("sh", "-c", line), {}),))

    async def story() -> None:
        async with engine(tmp_path / "engine", Cloud(**plans)) as here:
            for name in plans:
                here.submit("cloud", name, 1)
                job = await until(here, name)
                log = here.log(name, "r").read_text()
                assert job.state is State.SUCCEEDED, log
                uri = (tmp_path / f"{name}.tar.gz").as_uri()
                said, number = log.splitlines()
                assert said == f"Installed lcpacked==1.0 (from {uri}) for this job"
                built.add(number)

    run(story())
    assert len(built) == 1


def test_a_build_that_fails_is_explained_as_an_installation_that_fails(tmp_path: Path) -> None:
    archive = sdist(tmp_path / "bad.tar.gz", setup="raise SystemExit('no such thing')\n")
    plan = Plan((Replica("r", ("pip", "install", str(archive)), {}),))

    async def story() -> None:
        async with engine(tmp_path / "engine", Cloud(a=plan)) as here:
            here.submit("cloud", "a", 1)
            assert (await until(here, "a")).state is State.FAILED
            (said,) = here.log("a", "r").read_text().splitlines()
            assert said.startswith(f"ERROR: {archive} cannot be installed: ")
            assert "no such thing" in said

    run(story())
