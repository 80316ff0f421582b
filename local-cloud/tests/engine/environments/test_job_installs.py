"""Jobs that install: each for itself, and never into the server's environment."""

from __future__ import annotations

import hashlib
import json
import os
import site
import subprocess
import sys
from pathlib import Path

import pytest

from local_cloud.engine.environments import uv
from local_cloud.engine.isolation import roots
from local_cloud.engine.spec import JobContext, Plan, Replica, State
from tests.engine.environments.test_job_environment import HERE, OTHER, logs, script
from tests.engine.environments.test_job_environment import cache as cache
from tests.engine.environments.test_job_environment import of_the_user as of_the_user
from tests.engine.support import Cloud, engine, run, until
from tests.engine.wheels import wheel

ROOT = Path(__file__).parents[3]


def contents(folder: Path) -> str:
    """A hash of all that is in an environment, but for what Python compiles: names and texts."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if "__pycache__" not in path.parts and not path.is_dir():
            digest.update(f"{path}\n".encode() + path.read_bytes())
    return digest.hexdigest()


def test_what_is_here_is_not_installed_again_and_what_it_needs_is(
    tmp_path: Path, cache: dict[str, str]
) -> None:
    said, _ = logs(
        tmp_path,
        twice=script("pip install lctop", "pip install lctop 'numpy>=1'", "lctop"),
        alone=script(
            "echo 'lclow<1' > c.txt",
            "! pip install -c c.txt lctop",
            "pip install --no-deps lctop",
            "pip check",
        ),
    )
    assert said["twice"].splitlines() == [
        "Installed lclow==1.2 for this job",
        "Installed lctop==1.0 for this job",
        "Requirements already satisfied",
        str(tmp_path / "jobs/twice/.python/bin/python"),
    ]
    assert "lctop 1.0 requires lclow, which is not installed." in said["alone"]
    assert "all versions of lctop depend on lclow>=1" in said["alone"]


# Each tries to change the environment of the server, whose interpreter is SERVER and whose packages
# are in SITE. The last ones can only be held off where a mount namespace can be had.
HOSTILE = {
    "target": "python -m pip install --target SITE lctop-2-py3-none-any.whl",
    "real pip that removes": "SERVER -m pip uninstall -y victim",
    "uv": "uv pip install lctop-2-py3-none-any.whl",
}


MORE_HOSTILE = {
    "prefix": "python -I -m pip install --prefix PREFIX lctop-2-py3-none-any.whl",
    "user": "python -I -m pip install --user lctop-2-py3-none-any.whl",
    "uninstall": "pip uninstall -y victim",
    "real pip": "SERVER -m pip install lctop-2-py3-none-any.whl",
    "ensurepip": "python -m ensurepip --upgrade; pip install lctop-2-py3-none-any.whl",
    "uv of the job": "uv pip install --python $(which python) lctop-2-py3-none-any.whl",
}


BY_MOUNT = {"uv that removes": "uv pip uninstall --python SERVER victim"}


MORE_BY_MOUNT = {
    "uv of the server": "uv pip install --python SERVER lctop-2-py3-none-any.whl",
    "a file": "echo changed > SITE/victim.py",
}


SERVE = """
import asyncio, json, sys
from pathlib import Path
from local_cloud.engine.spec import Plan, Replica
from tests.engine.support import Cloud, engine, until

folder, commands = Path(sys.argv[1]), json.loads(sys.argv[2])
words = {f"h{n}": ("sh", "-c", line) for n, line in enumerate(commands)}
mounts = {"/gcs": folder}
plans = {name: Plan((Replica("r", line, {}, mounts=mounts),)) for name, line in words.items()}

async def story():
    async with engine(folder, Cloud(**plans)) as here:
        for name in plans:
            here.submit("cloud", name, 1)
        for name in plans:
            await until(here, name)
            print(commands[int(name[1:])], "->", here.log(name, "r").read_text())

asyncio.run(story())
"""


@pytest.fixture
def server(tmp_path: Path) -> Path:
    """An interpreter that has the tests' packages and one of its own, for jobs to attack."""
    folder = tmp_path / "server"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    (own,) = folder.glob("lib/python*/site-packages")
    (own / "tests.pth").write_text("".join(f"{each}\n" for each in site.getsitepackages()))
    archive = wheel(tmp_path / "wheels", "victim", "1.0")
    command = [uv.program(), "pip", "install", "-q", "--offline", "--no-deps"]
    subprocess.run([*command, "--python", folder / "bin/python", archive], check=True)
    return folder


@pytest.mark.parametrize(
    ("hostile", "by_mount"),
    [
        (HOSTILE, BY_MOUNT),
        pytest.param(MORE_HOSTILE, MORE_BY_MOUNT, marks=pytest.mark.slow),
    ],
)
def test_nothing_that_a_job_calls_changes_the_servers_environment(
    server: Path, tmp_path: Path, hostile: dict[str, str], by_mount: dict[str, str]
) -> None:
    archive = wheel(tmp_path / "wheels", "lctop", "2")
    (own,) = server.glob("lib/python*/site-packages")
    names = {"SERVER": server / "bin/python", "SITE": own, "PREFIX": server}
    lines = []
    for line in (*hostile.values(), *(by_mount.values() if roots.available() else ())):
        for name, path in names.items():
            line = line.replace(name, str(path))
        lines.append(f"cp {archive} . && ({line}) || true")
    before = contents(server)
    done = subprocess.run(
        [server / "bin/python", "-c", SERVE, tmp_path / "engine", json.dumps(lines)],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert contents(server) == before, done.stdout
    assert done.stdout.count("->") == len(lines), done.stdout


def test_the_other_verbs(tmp_path: Path, cache: dict[str, str]) -> None:
    verbs = (
        "pip --version",
        "pip show lctop",
        "pip list",
        f"pip uninstall -y lctop {OTHER} none",
        "pip freeze",
        "pip download lctop",
    )
    lines = ["pip install -q lctop", *(f"echo =====; {verb}" for verb in verbs)]
    said, jobs = logs(tmp_path, job=script(*lines))
    texts = [text.strip().splitlines() for text in said["job"].split("=====\n")]
    _, (version,), shown, table, gone, left, download = texts
    assert version.startswith("pip 2") and version.endswith("(python 3.11)")
    assert {"Name: lctop", "Version: 1.0", "Requires: lclow, numpy"} < set(shown)
    listed = {tuple(line.split()[:2]) for line in table}  # the third: where an editable one is
    assert {("Package", "Version"), ("lctop", "1.0"), ("lclow", "1.2"), (OTHER, HERE)} < listed
    assert "  Successfully uninstalled lctop-1.0" in gone
    assert f"Can't uninstall '{OTHER}'. No files were found to uninstall." in gone
    assert {"lclow==1.2", f"{OTHER}=={HERE}"} < set(left) and "lctop==1.0" not in left
    assert jobs["job"].state is State.FAILED
    assert "pip download is not available in a local job" in download[-1]


def test_pytest_in_a_job_does_not_load_the_local_clouds_plugin(tmp_path: Path) -> None:
    lines = ("echo 'def test(): assert True' > test_one.py", "python -m pytest -q --trace-config")
    said, jobs = logs(tmp_path, tests=script(*lines))
    assert jobs["tests"].state is State.SUCCEEDED, said
    assert "1 passed" in said["tests"] and "local_cloud" not in said["tests"]


def test_a_job_that_installs_is_started_not_forked_and_all_replicas_see_it(
    tmp_path: Path, cache: dict[str, str]
) -> None:
    code = tmp_path / "code.py"
    code.write_text(
        f"import sys, {OTHER}; print('numpy' in sys.modules, {OTHER}.version)\n"
        "if False:\n    import torch\n"
    )
    lines: list[list[str]] = []

    def staged(context: JobContext) -> Plan:
        lines.extend(context.install([f"{OTHER}==0.1"]) for _ in range(2))
        words = (sys.executable, str(code))
        return Plan(tuple(Replica(f"r{n}", words, {}) for n in range(2)))

    async def story() -> None:
        async with engine(tmp_path / "engine", Cloud(a=staged)) as here:
            here.submit("cloud", "a", 2)
            await until(here, "a")
            assert {path.read_text() for path in here.logs("a").values()} == {"False 0.1\n"}

    run(story())
    (installed, conflict), again = lines
    assert installed == f"Installed {OTHER}==0.1 for this job" and again == []
    assert conflict.startswith("pytest ")


def test_replicas_that_install_at_once_install_each_for_itself(
    tmp_path: Path, cache: dict[str, str]
) -> None:
    words = script("pip install lctop", "lctop")
    plans = {"a": Plan(tuple(Replica(f"r{n}", words, {}) for n in range(3)))}

    async def story() -> None:
        async with engine(tmp_path / "engine", Cloud(**plans)) as here:
            here.submit("cloud", "a", 3)
            assert (await until(here, "a")).state is State.SUCCEEDED
            said = "".join(path.read_text() for path in here.logs("a").values())
            assert said.count("Installed lctop") == (3 if roots.available() else 1)

    run(story())
