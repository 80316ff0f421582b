"""The Dockerfiles' rules: versions from the lock, a separate user, nothing but what they need."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = ("Dockerfile", "Dockerfile.serving")
IMAGE = ROOT / "tools/image"
TEXTS = {name: (IMAGE / name).read_text(encoding="utf-8") for name in FILES}


def instructions(file: str) -> list[tuple[str, str]]:
    """Each instruction with its words, continued lines joined."""
    whole = re.sub(r"\\\n", " ", re.sub(r"^#.*\n", "", TEXTS[file], flags=re.MULTILINE))
    lines = [line.split(maxsplit=1) for line in whole.splitlines() if line.strip()]
    return [(name, words) for name, words in lines]


def ignored(file: str) -> list[str]:
    """The lines of the file that BuildKit reads beside a Dockerfile."""
    return (IMAGE / f"{file}.dockerignore").read_text(encoding="utf-8").splitlines()


def sent(file: str) -> list[str]:
    """The patterns of what is sent to Docker."""
    return [line[1:] for line in ignored(file) if line.startswith("!")]


def words_of(name: str, file: str) -> list[str]:
    return [words for each, words in instructions(file) if each == name]


def installed(file: str) -> list[str]:
    """The packages of pip's command."""
    (command,) = [line for line in words_of("RUN", file) if "pip install" in line]
    words = shlex.split(command)
    values = {
        words[at + 1]
        for at, word in enumerate(words)
        if word in ("--constraint", "--extra-index-url")
    }
    return [word for word in words[2:] if not word.startswith("-") and word not in values]


@pytest.mark.parametrize("file", FILES)
def test_the_base_is_one_version_of_a_python_that_the_lock_serves(file: str) -> None:
    (base,) = words_of("FROM", file)
    match = re.fullmatch(r"python:3\.(\d+)\.\d+-slim-[a-z]+", base)
    assert match and int(match[1]) >= 11


@pytest.mark.parametrize("file", FILES)
def test_every_version_is_that_of_the_lock(file: str) -> None:
    pins = dict(
        re.findall(r"^([\w.-]+)==(\S+)", (ROOT / "tools/lock/requirements.txt").read_text(), re.M)
    )
    assert "COPY tools/lock/requirements.txt /opt/lesson/constraints.txt" in TEXTS[file]
    assert "--constraint /opt/lesson/constraints.txt" in TEXTS[file]
    assert {"torch", "numpy", "google-cloud-storage"} <= set(installed(file))
    # None has its own version.
    assert [name for name in installed(file) if name not in pins] == []


PACKAGES = {
    "torch": "torch",
    "numpy": "numpy",
    "boto3": "boto3",
    "hypertune": "cloudml-hypertune",
    "google.cloud.storage": "google-cloud-storage",
    "tensorboard": "tensorboard",
    "starlette": "starlette",
    "uvicorn": "uvicorn",
}


@pytest.mark.parametrize(
    ("file", "programs"), list(zip(FILES, ("*.py", "serve_nn.py"), strict=True))
)
def test_it_holds_what_its_programs_import(file: str, programs: str) -> None:
    """What they import anywhere, of the packages that a job may need."""
    imports = re.compile(r"^\s*(?:import|from) (\w+(?:\.\w+)*)", re.MULTILINE)
    modules = {
        name
        for path in (ROOT / "training").glob(programs)
        for name in imports.findall(path.read_text(encoding="utf-8"))
    }
    needed = {
        package
        for module, package in PACKAGES.items()
        if any(name == module or name.startswith(f"{module}.") for name in modules)
    }
    assert needed <= set(installed(file))


def test_the_serving_image_holds_nothing_else() -> None:
    http = {"starlette", "uvicorn", "httptools"}  # uvicorn reads requests with httptools if it can
    assert set(installed("Dockerfile.serving")) == {"torch", "numpy", "google-cloud-storage"} | http


def test_the_training_image_runs_as_a_user_that_can_be_chosen() -> None:
    (user,) = words_of("USER", "Dockerfile")
    assert user == "${RUN_AS}" and "RUN_AS=lesson" in words_of("ARG", "Dockerfile")
    assert words_of("USER", "Dockerfile.serving") == ["1000"]
    for text in TEXTS.values():
        assert "useradd --create-home --uid 1000 lesson" in text


ENTRY_POINTS = ("/opt/lesson/entrypoint.py", "/opt/lesson/serve_nn.py")


@pytest.mark.parametrize(("file", "program"), list(zip(FILES, ENTRY_POINTS, strict=True)))
def test_the_entry_point_gets_signals_and_words(file: str, program: str) -> None:
    (entry,) = words_of("ENTRYPOINT", file)
    assert json.loads(entry) == ["python", program]
    assert not words_of("CMD", file) and not words_of("ADD", file)
    copied = [words.split() for words in words_of("COPY", file)]
    assert program in [target for _, target in copied]


@pytest.mark.parametrize("file", FILES)
def test_what_is_copied_is_there_and_is_sent_to_docker(file: str) -> None:
    assert ignored(file)[1] == "*"
    for source in (words.split()[0] for words in words_of("COPY", file)):
        assert (ROOT / source).exists()
        some = "train_nn.py" if source.endswith("/") else ""
        assert any(fnmatch(source + some, pattern) for pattern in sent(file)), source


@pytest.mark.parametrize("file", FILES)
def test_nothing_else_is_sent_to_docker(file: str) -> None:
    assert len(sent(file)) == len(words_of("COPY", file))


HADOLINT = ROOT / ".venv-hadolint/bin/hadolint"


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES)
def test_hadolint_finds_nothing(file: str) -> None:
    if not HADOLINT.exists():
        pytest.skip("make test-all makes .venv-hadolint")
    done = subprocess.run([HADOLINT, file], cwd=IMAGE, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")
