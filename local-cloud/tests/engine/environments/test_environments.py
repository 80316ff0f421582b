"""Replicas of one job in several images: each runs in the environment of its image's base."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from local_cloud.engine.base import Base, own_only, server_folders
from local_cloud.engine.environments import fetch, uv
from local_cloud.engine.environments.environments import Environments
from local_cloud.engine.environments.job_environment import write_scripts
from local_cloud.engine.isolation import roots
from local_cloud.engine.isolation.roots import Isolation
from local_cloud.engine.jobs.queue import JobQueue
from local_cloud.engine.spec import JobContext, Plan, Replica
from local_cloud.store.records import Records
from tests.engine.support import Cloud, run, until
from tests.engine.wheels import wheel

# A package that the tests' own environment has not, and one that it has and the image has not.
OWN, LACKED = "lcimage", "numpy"
LOOKS = (
    "import importlib.util as u, sys;"
    f"print([name for name in ('{OWN}', '{LACKED}') if u.find_spec(name)], sys.version_info[:2])"
)
HERE = tuple(sys.version_info[:2])


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Base:
    """An environment with one package."""
    folder = tmp_path_factory.mktemp("image")
    environment = folder / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    archive = wheel(folder, OWN, "1.0")
    install = [uv.program(), "pip", "install", "-q", "--offline", "--no-deps", "--python"]
    subprocess.run([*install, environment / "bin/python", archive], check=True)
    (sites,) = environment.glob("lib/python*/site-packages")
    return Base(
        name="image-1",
        python=environment / "bin/python",
        version=".".join(map(str, HERE)),
        sites=(str(sites),),
        commands=(str(write_scripts(folder / "commands", environment / "bin")),),
        unchanged=(str(folder), *server_folders()),
        note="pulled",
    )


def logs(folder: Path, base: Base, plan: Plan) -> tuple[dict[str, str], list[str]]:
    """What the replicas of a job wrote, and the notes on their images."""
    notes: list[str] = []

    def staged(context: JobContext) -> Plan:
        notes.extend(context.base(one.image).note for one in plan.replicas)
        return plan

    async def story() -> None:
        records = Records(folder / "records.db")
        engine = JobQueue(
            folder / "jobs",
            records,
            base_of=lambda image, own: base if image == "one" else own_only(image, own),
        )
        await engine.start({"cloud": Cloud(a=staged)})
        engine.submit("cloud", "a", len(plan.replicas))
        await until(engine, "a")
        said.update({name: path.read_text() for name, path in engine.logs("a").items()})
        await engine.close()
        records.close()

    said: dict[str, str] = {}
    run(story())
    return said, notes


def test_each_replica_runs_in_its_images_environment(tmp_path: Path, base: Base) -> None:
    words = ("python", "-c", LOOKS)
    both = replace(Replica("stand-in", (sys.executable, "-c", LOOKS), {}), image="one")
    said, notes = logs(
        tmp_path,
        base,
        Plan(
            (
                Replica("r0", words, {}, image="one"),
                replace(both, name="r1"),
                Replica("r2", words, {}, image="two"),
                Replica("r3", (OWN,), {}, image="one"),  # the package's command
            )
        ),
    )
    assert said["r0"] == said["r1"] == f"['{OWN}'] {HERE}\n"
    assert said["r2"] == f"['{LACKED}'] {HERE}\n"
    assert said["r3"] == f"{tmp_path}/jobs/a/.python-image-1/bin/python\n"
    assert notes[0] == "pulled" and notes[2].startswith("two is named, not pulled; this is Python")


def test_a_replica_in_an_image_is_never_forked(tmp_path: Path, base: Base) -> None:
    """The process that forks has the server's torch imported."""
    code = tmp_path / "code.py"
    imports = "if False:\n    import torch\n"
    code.write_text(f"import sys; print('{LACKED}' in sys.modules)\n{imports}")
    replica = Replica("r0", ("python", str(code)), {}, image="one")
    assert logs(tmp_path, base, Plan((replica,)))[0] == {"r0": "False\n"}


def test_what_an_image_lacks_is_installed_for_its_job_only(tmp_path: Path, base: Base) -> None:
    archive = wheel(tmp_path / "wheels", "lcmore", "1.0", OWN)
    look = f"import {OWN}, lcmore; print(lcmore.version)"
    lines = f"pip install {archive} && python -c '{look}'"
    said, _ = logs(tmp_path, base, Plan((Replica("r0", ("sh", "-c", lines), {}, image="one"),)))
    assert said["r0"].splitlines()[-1] == "1.0"
    assert not list(Path(base.sites[0]).glob("lcmore*"))


def test_for_the_jobs_of_an_image_its_own_interpreter_is_named(tmp_path: Path, base: Base) -> None:
    lines = ("sh", "-c", f"pip install lcnever {OWN}")
    said, _ = logs(tmp_path, base, Plan((Replica("r0", lines, {}, image="one"),)))
    assert said["r0"].strip().endswith(f"fetch {base.python} lcnever {OWN}")
    base_found = fetch.base_of(base.python, tmp_path)
    assert (base_found.version, base_found.sites) == (base.version, base.sites)


def test_no_job_changes_an_image(tmp_path: Path, base: Base) -> None:
    victim = Path(base.sites[0]) / f"{OWN}.py"
    before = victim.read_text()
    change = ("sh", "-c", f"echo changed > {victim}")
    replica = Replica("r0", change, {}, image="one", mounts={"/seen": tmp_path})
    logs(tmp_path, base, Plan((replica,)))
    changed = "" if roots.available() else "changed\n"  # it is a mount that protects it
    assert victim.read_text() == (changed or before)


def test_an_environment_that_was_removed_is_made_again(tmp_path: Path, base: Base) -> None:
    environments = Environments(
        tmp_path,
        lambda _: base,
        None,
        wheels=tmp_path / "wheels",
        isolation=Isolation.find(tmp_path / "jobs", ()),
    )
    left = environments.of("one").folder / "left"
    left.touch()
    environments.remove()
    assert not left.parent.exists()
    assert environments.of("one").folder == left.parent
    assert left.parent.is_dir() and not left.exists()
