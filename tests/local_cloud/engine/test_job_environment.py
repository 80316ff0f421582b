"""A job's own Python environment: what it may install, and that nobody else's changes."""

from __future__ import annotations

import hashlib
import json
import os
import site
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from local_cloud.engine import job_environment, mounts, uv
from local_cloud.engine.spec import Job, JobContext, Plan, Replica, State
from tests.local_cloud.engine.support import Cloud, engine, run, until
from tests.local_cloud.engine.wheels import index, run_line, wheel

# A package that the tests' own environment has in another version, and one that it has not.
OTHER = "iniconfig"
HERE = metadata.version(OTHER)
ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Variables with which uv finds its cache, filled as the local cloud says to fill it."""
    folder = tmp_path_factory.mktemp("index")
    wheel(folder, OTHER, "0.1")
    wheel(folder, "lctop", "1.0", "lclow>=1", "numpy", 'lcnever; extra == "more"')
    wheel(folder, "lclow", "1.2")
    wheel(folder, "numpy", "9.9")  # as newer ones are there than are installed
    variables = {
        "UV_CACHE_DIR": str(tmp_path_factory.mktemp("cache")),
        "TMPDIR": str(tmp_path_factory.mktemp("temporary")),
    }
    with index(folder) as found:
        variables |= found
        for wanted in (f"{OTHER}==0.1", "lctop"):
            said = refused(tmp_path_factory.mktemp("first"), wanted, variables)
            run_line(said.partition("run once with a network: ")[2], variables)
    return variables


@pytest.fixture(autouse=True)
def of_the_user(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The server's user has this cache and this index, or an empty one."""
    variables = {"UV_CACHE_DIR": str(tmp_path / "cache")}
    if "cache" in request.fixturenames:
        variables = request.getfixturevalue("cache")
    for name, text in variables.items():
        monkeypatch.setenv(name, text)


def refused(folder: Path, wanted: str, variables: dict[str, str]) -> str:
    """What a job is told that installs what cannot be had."""
    job = job_environment.JobEnvironment(folder / "environment")
    before = dict(os.environ)
    os.environ.update(variables)
    try:
        job.make()
    finally:
        os.environ.clear()
        os.environ.update(before)
    done = subprocess.run([job.scripts / "pip", "install", wanted], capture_output=True, text=True)
    assert done.returncode == 1, done
    return done.stderr.strip()


def script(*lines: str) -> tuple[str, ...]:
    return "sh", "-ec", "\n".join(lines)


def logs(folder: Path, **commands: tuple[str, ...]) -> tuple[dict[str, str], dict[str, Job]]:
    """The logs of jobs of one replica with these commands, one after the other, and the jobs."""
    plans = {name: Plan((Replica("r", words, {}),)) for name, words in commands.items()}
    said, jobs = {}, {}

    async def story() -> None:
        async with engine(folder, Cloud(**plans), cores=1) as here:
            for name in commands:
                here.submit("cloud", name, 1)
                jobs[name] = await until(here, name)
                said[name] = here.log(name, "r").read_text()

    run(story())
    return said, jobs


def contents(folder: Path) -> str:
    """A hash of all that is in an environment, but for what Python compiles: names and texts."""
    found = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if "__pycache__" not in path.parts and not path.is_dir():
            found.update(f"{path}\n".encode() + path.read_bytes())
    return found.hexdigest()


SAYS = f"python -c \"import {OTHER} as x; print(getattr(x, 'version', None))\""
WAYS = {
    "command": f"pip install {OTHER}==0.1",
    "pip3": f"pip3 install --user -q {OTHER}==0.1",
    "module": f"python3 -m pip install {OTHER}==0.1",
    "isolated": f"python -I -m pip install {OTHER}==0.1",
    "subprocess": 'python -c "import subprocess, sys;'
    f"subprocess.run([sys.executable, '-m', 'pip', 'install', '{OTHER}==0.1'], check=True)\"",
    "function": f"python -c \"import pip; pip.main(['install', '{OTHER}==0.1'])\"",
    "internal": 'python -c "from pip._internal.cli.main import main as m;'
    f"m(['install', '{OTHER}==0.1'])\"",
}


def test_however_pip_is_called_a_pin_holds_in_its_job_only(
    tmp_path: Path, cache: dict[str, str]
) -> None:
    jobs = {name: script(way, SAYS) for name, way in WAYS.items()}
    said, _ = logs(tmp_path, **jobs, after=script(SAYS))
    last = {name: log.splitlines()[-1:] for name, log in said.items()}
    assert last == {
        **{name: ["0.1"] for name in WAYS},
        "after": ["None"],
    }
    assert said["command"].startswith(f"Installed {OTHER}==0.1 for this job")


def test_what_is_here_is_not_installed_again_and_what_it_needs_is(
    tmp_path: Path, cache: dict[str, str]
) -> None:
    said, _ = logs(
        tmp_path,
        twice=script("pip install lctop", "pip install lctop 'numpy>=1'", "lctop"),
        alone=script("pip install --no-deps lctop", "pip check"),
        limited=script("echo 'lclow<1' > c.txt", "pip install -c c.txt lctop"),
    )
    first, second, third, *rest, ran = said["twice"].splitlines()
    assert (first, second) == (
        "Installed lctop==1.0 for this job",
        "Installed lclow==1.2 for this job",
    )
    assert third == "Requirement already satisfied: numpy"
    assert rest == [f"Requirement already satisfied: {each}" for each in ("lctop", "numpy>=1")]
    assert ran == str(tmp_path / "jobs/twice/.python/bin/python")
    assert "lctop 1.0 requires lclow>=1, which is not installed." in said["alone"]
    assert "lclow<1,>=1 is required, and lclow is not installed here" in said["limited"]


@pytest.mark.parametrize(
    ("wanted", "sentence"),
    [
        ("no-such-thing>=2", "no-such-thing>=2 is required, and no-such-thing is not installed"),
        (f"{OTHER}>99", f"{OTHER}>99 is required, and {OTHER} {HERE} is installed here"),
        (f"{OTHER} @ https://127.0.0.1:1/n.whl", "would have to be fetched"),
        ("git+https://127.0.0.1:1/x", "git+https://127.0.0.1:1/x would have to be fetched"),
        (f"{OTHER} >>> 1", "is not a requirement that can be read"),
        ("./lost.tar.gz", "there is no such file or folder"),
    ],
)
def test_one_sentence_says_what_cannot_be_had(tmp_path: Path, wanted: str, sentence: str) -> None:
    said = refused(tmp_path, wanted, {"UV_CACHE_DIR": str(tmp_path / "cache")})
    assert said.startswith("ERROR: ") and sentence in said
    assert "\n" not in said


# Each tries to change the environment of the server, whose interpreter is SERVER and whose packages
# are in SITE. The last ones can only be held off where a mount namespace can be had.
HOSTILE = {
    "target": "python -m pip install --target SITE lctop-2-py3-none-any.whl",
    "prefix": "python -I -m pip install --prefix PREFIX lctop-2-py3-none-any.whl",
    "user": "python -I -m pip install --user lctop-2-py3-none-any.whl",
    "uninstall": "pip uninstall -y victim",
    "real pip": "SERVER -m pip install lctop-2-py3-none-any.whl",
    "real pip that removes": "SERVER -m pip uninstall -y victim",
    "ensurepip": "python -m ensurepip --upgrade; pip install lctop-2-py3-none-any.whl",
    "uv": "uv pip install lctop-2-py3-none-any.whl",
    "uv of the job": "uv pip install --python $(which python) lctop-2-py3-none-any.whl",
}
BY_MOUNT = {
    "uv of the server": "uv pip install --python SERVER lctop-2-py3-none-any.whl",
    "uv that removes": "uv pip uninstall --python SERVER victim",
    "a file": "echo changed > SITE/victim.py",
}
SERVE = """
import asyncio, json, sys
from pathlib import Path
from local_cloud.engine.spec import Plan, Replica
from tests.local_cloud.engine.support import Cloud, engine, until

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


def test_nothing_that_a_job_calls_changes_the_servers_environment(
    server: Path, tmp_path: Path
) -> None:
    archive = wheel(tmp_path / "wheels", "lctop", "2")
    (own,) = server.glob("lib/python*/site-packages")
    names = {"SERVER": server / "bin/python", "SITE": own, "PREFIX": server}
    lines = []
    for line in (*HOSTILE.values(), *(BY_MOUNT.values() if mounts.available() else ())):
        for name, path in names.items():
            line = line.replace(name, str(path))
        lines.append(f"cp {archive} . && ({line}) || true")
    before = contents(server)
    done = subprocess.run(
        [server / "bin/python", "-c", SERVE, tmp_path / "engine", json.dumps(lines)],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert contents(server) == before, done.stdout
    assert done.stdout.count("->") == len(lines), done.stdout


def test_the_other_verbs(tmp_path: Path, cache: dict[str, str]) -> None:
    said, jobs = logs(
        tmp_path,
        seen=script(
            "pip install -q lctop",
            "pip --version",
            "pip list --format=freeze",
            "pip show lctop",
        ),
        gone=script("pip install -q lctop", f"pip uninstall -y lctop {OTHER} none", "pip freeze"),
        table=script("pip list"),
        check=script("pip install -q lctop", "pip uninstall -y lclow", "pip check"),
        download=script("pip download lctop"),
    )
    lines = said["seen"].splitlines()
    assert lines[0].startswith("pip 2") and lines[0].endswith("(python 3.11)")
    assert {"lctop==1.0", "lclow==1.2", f"{OTHER}=={HERE}"} < set(lines)
    assert {"Name: lctop", "Version: 1.0", "Requires: lclow, numpy"} < set(lines)
    gone = said["gone"].splitlines()
    assert gone[0] == "Successfully uninstalled lctop"
    assert gone[1] == f"Not uninstalling {OTHER} {HERE}: it is not this job's own"
    assert gone[2] == "WARNING: Skipping none as it is not installed."
    assert {"lclow==1.2", f"{OTHER}=={HERE}"} < set(gone) and "lctop==1.0" not in gone
    assert said["table"].startswith("Package ")
    assert "lctop 1.0 requires lclow>=1, which is not installed." in said["check"]
    assert jobs["download"].state is State.FAILED
    assert "pip download is not available in a local job" in said["download"]


@pytest.mark.parametrize("forked", [False, True])
def test_every_python_of_a_job_first_runs_the_engines_hook(tmp_path: Path, forked: bool) -> None:
    hook = tmp_path / "hook.py"
    hook.write_text("import builtins; builtins.hooked = __file__")
    code = tmp_path / "code.py"
    code.write_text("print(hooked)")
    plans = {"a": Plan((Replica("r", ("python", str(code)), {}, forkable=forked),))}

    async def story() -> None:
        async with engine(tmp_path / "engine", Cloud(**plans), hook=hook) as here:
            here.submit("cloud", "a", 1)
            await until(here, "a")
            assert here.log("a", "r").read_text() == f"{hook}\n"

    run(story())


def test_a_job_that_installs_is_started_not_forked_and_all_replicas_see_it(
    tmp_path: Path, cache: dict[str, str]
) -> None:
    code = tmp_path / "code.py"
    code.write_text(f"import sys, {OTHER}; print('numpy' in sys.modules, {OTHER}.version)")
    lines: list[list[str]] = []

    def staged(context: JobContext) -> Plan:
        lines.extend(context.install([f"{OTHER}==0.1"]) for _ in range(2))
        words = (sys.executable, str(code))
        return Plan(tuple(Replica(f"r{n}", words, {}, forkable=True) for n in range(2)))

    async def story() -> None:
        async with engine(tmp_path / "engine", Cloud(a=staged)) as here:
            here.submit("cloud", "a", 2)
            await until(here, "a")
            assert {path.read_text() for path in here.logs("a").values()} == {"False 0.1\n"}

    run(story())
    assert lines == [[f"Installed {OTHER}==0.1 for this job"], []]


def test_replicas_that_install_at_once_wait_for_each_other(
    tmp_path: Path, cache: dict[str, str]
) -> None:
    words = script("pip install lctop")
    plans = {"a": Plan(tuple(Replica(f"r{n}", words, {}) for n in range(3)))}

    async def story() -> None:
        async with engine(tmp_path / "engine", Cloud(**plans)) as here:
            here.submit("cloud", "a", 3)
            assert (await until(here, "a")).state is State.SUCCEEDED
            said = "".join(path.read_text() for path in here.logs("a").values())
            assert said.count("Installed lctop") == 1

    run(story())


def test_commands_of_packages_run_in_the_jobs_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = tmp_path / "bin"
    installed.mkdir()
    code = "import sys; print(sys.executable, *sys.argv[1:])\n"
    (installed / "short").write_text(f"#!{sys.executable}\n{code}")
    (installed / "long").write_text(
        f"#!/bin/sh\n'''exec' '{sys.executable}' \"$0\" \"$@\"\n' '''\n{code}"
    )
    (installed / "other").write_text("#!/bin/sh\necho other\n")
    (installed / "binary").write_bytes(b"\x7fELF")
    monkeypatch.setattr(job_environment, "INSTALLED", installed)
    said, _ = logs(tmp_path / "engine", a=script("short 1", "long 2"))
    python = tmp_path / "engine/jobs/a/.python/bin/python"
    assert said["a"] == f"{python} 1\n{python} 2\n"
    assert {path.name for path in (tmp_path / "engine/jobs/.bin").iterdir()} == {"short", "long"}
