"""A job's own Python environment: what it may install, and that nobody else's changes."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from local_cloud.engine import system
from local_cloud.engine.base import server_base
from local_cloud.engine.environments import job_environment
from local_cloud.engine.spec import Job, Plan, Replica
from local_cloud.engine.warm import fork_server
from tests.engine.support import Cloud, engine, run, until
from tests.engine.wheels import index, run_line, wheel

# A package that the tests' own environment has in another version, and one that it has not.
OTHER = "iniconfig"
HERE = metadata.version(OTHER)


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
    with index(folder) as index_variables:
        variables |= index_variables
        job = made(tmp_path_factory.mktemp("first"), variables)
        for wanted in (f"{OTHER}==0.1", "lctop"):
            said = refused(job, wanted)
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


def made(folder: Path, variables: dict[str, str]) -> job_environment.JobEnvironment:
    """An environment of a server whose user has these variables."""
    job = job_environment.JobEnvironment(folder / "environment", server_base(folder))
    before = dict(os.environ)
    os.environ.update(variables)
    try:
        job.make()
    finally:
        os.environ.clear()
        os.environ.update(before)
    return job


def refused(job: job_environment.JobEnvironment, *words: str) -> str:
    """What a job is told that installs what cannot be had."""
    done = subprocess.run([job.scripts / "pip", "install", *words], capture_output=True, text=True)
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


SAYS = f"python -c \"import {OTHER} as x; print(getattr(x, 'version', None))\""
WAYS = {
    "command": f"pip install {OTHER}==0.1",
    "isolated": f"python -I -m pip install {OTHER}==0.1",
    "function": f"python -c \"import pip; pip.main(['install', '{OTHER}==0.1'])\"",
}
MORE_WAYS = {
    "pip3": f"pip3 install --user -q {OTHER}==0.1",
    "module": f"python3 -m pip install {OTHER}==0.1",
    "subprocess": 'python -c "import subprocess, sys;'
    f"subprocess.run([sys.executable, '-m', 'pip', 'install', '{OTHER}==0.1'], check=True)\"",
    "internal": 'python -c "from pip._internal.cli.main import main as m;'
    f"m(['install', '{OTHER}==0.1'])\"",
}


@pytest.mark.parametrize("ways", [WAYS, pytest.param(MORE_WAYS, marks=pytest.mark.slow)])
def test_however_pip_is_called_a_pin_holds_in_its_job_only(
    tmp_path: Path, cache: dict[str, str], ways: dict[str, str]
) -> None:
    jobs = {name: script(way, SAYS) for name, way in ways.items()}
    said, _ = logs(tmp_path, **jobs, after=script(SAYS))
    last = {name: log.splitlines()[-1:] for name, log in said.items()}
    assert last == {
        **{name: ["0.1"] for name in ways},
        "after": ["None"],
    }
    installed = f"Installed {OTHER}==0.1 for this job"
    assert said.get("command", installed).startswith(installed)


@pytest.mark.parametrize("words", [("pip",), ("pip3",), ("python", "-m", "pip")])
def test_to_update_pip_itself_starts_nothing(tmp_path: Path, words: tuple[str, ...]) -> None:
    job = made(tmp_path, {})
    (job.folder / job_environment.BASE).unlink()  # without it nothing can be installed
    command = [job.scripts / words[0], *words[1:], "install", "--upgrade", "pip"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "Requirements already satisfied\n"
    assert subprocess.run([*command, OTHER], capture_output=True, check=False).returncode == 1


@pytest.fixture(scope="module")
def without_cache(tmp_path_factory: pytest.TempPathFactory) -> job_environment.JobEnvironment:
    """An environment for which nothing was ever fetched."""
    folder = tmp_path_factory.mktemp("without-cache")
    return made(folder, {"UV_CACHE_DIR": str(folder / "cache")})


def test_requirements_that_contradict_each_other_are_refused_as_a_whole(tmp_path: Path) -> None:
    job = made(tmp_path, {})
    folder = tmp_path / "wheels"
    wheel(folder, "lcone", "1.0", "lclow<2")
    wheel(folder, "lctwo", "1.0", "lclow>=2")
    for version in ("1.0", "2.0"):
        wheel(folder, "lclow", version)
    said = refused(job, "--no-index", "--find-links", str(folder), "lcone", "lctwo")
    assert said.startswith("ERROR: lcone, lctwo cannot be installed: No solution found")
    assert "all versions of lctwo depend on lclow>=2 and all versions of lcone depend on" in said
    assert "\n" not in said and "network" not in said
    assert not job.list_installed()


def test_what_contradicts_the_packages_that_are_here_is_said(tmp_path: Path) -> None:
    job = made(tmp_path, {})
    folder = tmp_path / "wheels"
    wheel(folder, "lcold", "1.0", f"{OTHER}<0.2")
    links = ("--find-links", str(folder))
    assert f"you require {OTHER}<0.2" in refused(job, *links, f"{OTHER}<0.2")
    assert f"all versions of lcold depend on {OTHER}<0.2" in refused(job, *links, "lcold")
    wheel(folder, OTHER, "0.1")  # the job's pin counts, and the log names whom it breaks
    done = subprocess.run(
        [job.scripts / "pip", "install", *links, "lcold"], capture_output=True, text=True
    )
    installed, also, *warnings = done.stdout.splitlines()
    assert [installed, also] == [
        f"Installed {OTHER}==0.1 for this job",
        "Installed lcold==1.0 for this job",
    ]
    (warning,) = [line for line in warnings if line.startswith("pytest ")]
    assert f"requires {OTHER}>=" in warning and warning.endswith(f"this job gets {OTHER} 0.1")
    assert metadata.version(OTHER) == HERE


def test_what_is_fetched_is_what_the_jobs_lack(cache: dict[str, str]) -> None:
    names = {path.name for path in Path(cache["UV_CACHE_DIR"]).rglob("*.py")}
    assert {"lctop.py", "lclow.py"} <= names and "numpy.py" not in names


@pytest.mark.slow
def test_a_folder_is_built_with_what_is_here(
    without_cache: job_environment.JobEnvironment, tmp_path: Path
) -> None:
    project = '[project]\nname = "lcproject"\nversion = "1.0"\ndependencies = ["numpy"]\n'
    (tmp_path / "pyproject.toml").write_text(project)
    (tmp_path / "lcproject.py").write_text("version = 'first'\n")
    for words, after in (("",), "first"), (("-e",), "second"):
        install = [without_cache.scripts / "pip", "install", *filter(None, words), f"{tmp_path}"]
        done = subprocess.run(install, capture_output=True, text=True, check=True)
        assert "Installed lcproject==1.0" in done.stdout
        (tmp_path / "lcproject.py").write_text("version = 'second'\n")
        look = [without_cache.python, "-c", "import lcproject; print(lcproject.version)"]
        assert subprocess.check_output(look, text=True).strip() == after


@pytest.mark.parametrize(
    ("wanted", "sentence"),
    [
        ("no-such-thing>=2", "no-such-thing was not found in the cache"),
        (f"{OTHER}>99", f"you require {OTHER}>99"),
        (
            f"{OTHER} @ https://127.0.0.1:1/{OTHER}-1-py3-none-any.whl",
            "the requested data wasn't found",
        ),
        ("git+https://127.0.0.1:1/x", "Remote Git fetches are not allowed"),
        (f"{OTHER} >>> 1", "no such comparison operator"),
        ("./lost.tar.gz", "Distribution not found at: file:///"),
        ("-rlost.txt", "lost.txt cannot be read"),
    ],
)
def test_one_sentence_says_what_cannot_be_had(
    without_cache: job_environment.JobEnvironment, wanted: str, sentence: str
) -> None:
    said = refused(without_cache, wanted)
    assert said.startswith("ERROR: ") and sentence in said
    assert "\n" not in said


FORKED = pytest.param(
    True, marks=pytest.mark.skipif(not system.LINUX, reason="forks on Linux only")
)


@pytest.mark.parametrize("forked", [False, FORKED])
def test_every_python_of_a_job_first_runs_the_engines_hook(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forked: bool
) -> None:
    monkeypatch.setattr(fork_server, "IMPORTED", ("numpy",))  # is ready sooner than torch
    monkeypatch.setattr(fork_server, "FREE", 0)  # whatever else this machine does
    hook = tmp_path / "hook.py"
    hook.write_text("import builtins; builtins.hooked = __file__")
    code = tmp_path / "code.py"
    imports = "\nif False:\n    import torch\n"  # for which it is forked
    code.write_text(f"print(hooked){imports if forked else ''}")
    plans = {"a": Plan((Replica("r", ("python", str(code)), {}),))}

    async def story() -> None:
        async with engine(tmp_path / "engine", Cloud(**plans), hook=hook) as here:
            here.submit("cloud", "a", 1)
            await until(here, "a")
            *note, said = here.log("a", "r").read_text().splitlines()
            assert said == str(hook) and bool(note) is forked

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
