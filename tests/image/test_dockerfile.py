"""The Dockerfile's rules: versions from the lock, a user of its own, nothing but what it needs."""

from __future__ import annotations

import json
import re
import shlex
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "Dockerfile").read_text(encoding="utf-8")
IGNORED = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()


def instructions() -> list[tuple[str, str]]:
    """Each instruction with its words, continued lines joined."""
    whole = re.sub(r"\\\n", " ", re.sub(r"^#.*\n", "", TEXT, flags=re.MULTILINE))
    lines = [line.split(maxsplit=1) for line in whole.splitlines() if line.strip()]
    return [(name, words) for name, words in lines]


def words_of(name: str) -> list[str]:
    return [words for each, words in instructions() if each == name]


def installed() -> list[str]:
    """The packages of pip's command."""
    (command,) = [line for line in words_of("RUN") if "pip install" in line]
    words = shlex.split(command)
    values = {
        words[at + 1]
        for at, word in enumerate(words)
        if word in ("--constraint", "--extra-index-url")
    }
    return [word for word in words[2:] if not word.startswith("-") and word not in values]


def test_the_base_is_one_version_of_a_python_that_the_lock_serves() -> None:
    (base,) = words_of("FROM")
    found = re.fullmatch(r"python:3\.(\d+)\.\d+-slim-[a-z]+", base)
    assert found and int(found[1]) >= 11


def test_every_version_is_that_of_the_lock() -> None:
    pins = dict(re.findall(r"^([\w.-]+)==(\S+)", (ROOT / "requirements.txt").read_text(), re.M))
    assert "COPY requirements.txt /opt/lesson/constraints.txt" in TEXT
    assert "--constraint /opt/lesson/constraints.txt" in TEXT
    assert {"torch", "numpy", "boto3", "google-cloud-storage"} <= set(installed())
    assert [name for name in installed() if name not in pins] == []  # and none has its own version


def test_it_holds_what_the_script_imports() -> None:
    """What training/ imports anywhere, of the packages that a job may need."""
    imports = re.compile(r"^\s*(?:import|from) (\w+(?:\.\w+)*)", re.MULTILINE)
    found = {
        name
        for path in (ROOT / "training").glob("*.py")
        for name in imports.findall(path.read_text(encoding="utf-8"))
    }
    packages = {
        "torch": "torch",
        "numpy": "numpy",
        "boto3": "boto3",
        "hypertune": "cloudml-hypertune",
        "google.cloud.storage": "google-cloud-storage",
        "tensorboard": "tensorboard",
    }
    for module, package in packages.items():
        if any(name == module or name.startswith(f"{module}.") for name in found):
            assert package in installed()


def test_it_runs_as_a_user_of_its_own() -> None:
    (user,) = words_of("USER")
    assert user == "${RUN_AS}" and "RUN_AS=lesson" in words_of("ARG")
    assert "useradd --create-home --uid 1000 lesson" in TEXT


def test_the_entry_point_gets_signals_and_words() -> None:
    (entry,) = words_of("ENTRYPOINT")
    assert json.loads(entry) == ["python", "/opt/lesson/entrypoint.py"]
    assert not words_of("CMD") and not words_of("ADD")


def test_what_is_copied_is_there_and_nothing_else_is_sent_to_docker() -> None:
    assert IGNORED[1] == "*"
    sent = [line[1:] for line in IGNORED if line.startswith("!")]
    for source in (words.split()[0] for words in words_of("COPY")):
        assert (ROOT / source).exists()
        some = "train_nn.py" if source.endswith("/") else ""
        assert any(fnmatch(source + some, pattern) for pattern in sent), source
    assert len(sent) == len(words_of("COPY"))
