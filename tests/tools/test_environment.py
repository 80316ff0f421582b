"""Environments are made with uv, or with pip where uv cannot be had."""

from __future__ import annotations

import ast
import hashlib
import json
import os
import platform
import shutil
import site
import subprocess
import sys
import tarfile
import zipfile
from collections import namedtuple
from pathlib import Path

import pytest

from tools.environment import make as environment
from tools.environment.make import PACKAGE_INDEX, SetupError, Wanted, package_index

TINY = Wanted((), ("tiny-package==1.0",))


@pytest.fixture
def offered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one package, which pip is configured to install from, and from nowhere else."""
    folder = tmp_path / "offered"
    folder.mkdir()
    with zipfile.ZipFile(folder / "tiny_package-1.0-py3-none-any.whl", "w") as wheel:
        about = "tiny_package-1.0.dist-info"
        wheel.writestr("tiny_package.py", "print('tiny')\n")
        wheel.writestr(
            f"{about}/METADATA", "Metadata-Version: 2.1\nName: tiny-package\nVersion: 1.0\n"
        )
        wheel.writestr(
            f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{about}/RECORD", "")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "cache"))
    return folder


def imports_it(folder: Path) -> bool:
    done = subprocess.run([folder / "bin/python", "-c", "import tiny_package"])
    return done.returncode == 0


@pytest.mark.usefixtures("offered")
def test_an_environment_is_made_with_uv_from_where_pip_is_configured_to_look(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "new"
    environment.make(folder, TINY)
    assert list(folder.rglob("tiny_package*.pyc")), "it is compiled, as pip would do"
    assert imports_it(folder)
    assert "pip tries" not in capfd.readouterr().out

    mark = folder / "mark"
    mark.touch()
    environment.make(folder, TINY)
    assert mark.exists(), "a finished environment is kept"

    environment.make(folder, Wanted((), ("tiny-package",)))
    assert not mark.exists() and imports_it(folder), "for other packages it is made from scratch"

    (folder / "installed.txt").unlink()  # the last thing that is written
    mark.touch()
    environment.make(folder, TINY)
    assert not mark.exists() and imports_it(folder), "and so is one that was not finished"


@pytest.mark.usefixtures("offered")
def test_pip_installs_where_uv_cannot_be_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environment, "find_uv", lambda: None)  # nor does the folder offer it
    environment.make(tmp_path / "new", TINY)
    assert imports_it(tmp_path / "new")


@pytest.mark.parametrize(
    ("free", "small", "said"),
    [(20.0, False, "It fills 2.6 GB of the disk of"), (4.9, True, "packages for BigQuery and for")],
)
def test_how_much_of_which_disk_it_fills_is_said_before(
    free: float,
    small: bool,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(os, "environ", {})  # which it changes
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(10**11, 0, int(free * 1e9)))
    fit = environment.fit(tmp_path / "new/.venv", Wanted((environment.LOCK,)))
    assert fit.small is small
    printed = capsys.readouterr().out
    assert said in printed and f"of {tmp_path}, where {free} GB are free" in printed
    assert ("UV_NO_CACHE" in os.environ) is small, "no cache is left where there is little room"


def test_a_disk_that_is_too_small_is_named_before_anything_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(10**11, 0, 10**9))
    with pytest.raises(SetupError, match=r"1\.0 GB are free at .*, and the lesson needs 2\.0 GB"):
        environment.make(tmp_path / "new", Wanted((environment.LOCK,)))
    assert not (tmp_path / "new").exists()


# ---- where this machine's Python is older than the lesson's --------------------------------------
RUN_BY_OLD_PYTHONS = (
    "tools/__init__.py",
    "tools/environment/__init__.py",
    "tools/environment/__main__.py",
    "tools/environment/compiled.py",
    "tools/environment/kernel.py",
    "tools/environment/make.py",
    "tools/environment/packages.py",
    "tools/lab/__init__.py",
    "tools/lab/hub.py",
    "tools/times.py",
    PACKAGE_INDEX,
)


@pytest.mark.parametrize("file", RUN_BY_OLD_PYTHONS)
def test_what_makes_an_environment_is_python_3_8(file: str | Path) -> None:
    ast.parse((environment.ROOT / file).read_text(), feature_version=(3, 8))


def test_an_old_python_has_uv_find_a_newer_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(Path(sys.executable).resolve().parent))
    environment.make_with_newer_python(tmp_path / "new")
    told = "import sys; print(sys.version_info >= (3, 11))"
    assert package_index.output(tmp_path / "new/bin/python", "-c", told) == "True\n"


def test_where_no_newer_python_can_be_had_one_sentence_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environment, "OLDEST", (3, 99))
    with pytest.raises(SetupError, match=r"install Python 3.99 or newer, and name it: make setup"):
        environment.make_with_newer_python(tmp_path / "new")


def old_pythons() -> list[Path]:
    """The Pythons from 3.8 to 3.10 that this machine has: its own, and those of pyenv."""
    names = ("3.8", "3.9", "3.10")
    own = [shutil.which(f"python{name}", path="/usr/bin:/usr/local/bin") for name in names]
    kept = Path.home() / ".pyenv/versions"
    of_pyenv = [path for name in names for path in kept.glob(f"{name}.*/bin/python3")]
    return [*(Path(path) for path in own if path), *of_pyenv]


@pytest.fixture(scope="session")
def downloads(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A list from which uv installs a Python: this one's files, packed as those that it knows."""
    folder = tmp_path_factory.mktemp("downloads")
    library = f"lib/python{sys.version_info.major}.{sys.version_info.minor}"

    def without_packages(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
        left_out = ("site-packages", "test", "__pycache__")
        return None if any(name in member.name.split("/") for name in left_out) else member

    with tarfile.open(folder / "python.tar.gz", "w:gz", compresslevel=1) as archive:
        for part in ("bin", library, "include"):
            place = Path(sys.base_prefix, part)
            archive.add(place, f"python/{part}", filter=without_packages)
    version = dict(zip(("major", "minor", "patch"), sys.version_info[:3], strict=True))
    machine, system = platform.machine(), sys.platform
    entry = {
        "name": "cpython",
        "arch": {"family": machine, "variant": None},
        "os": system,
        "libc": "gnu" if system == "linux" else "none",
        **version,
        "prerelease": "",
        "url": (folder / "python.tar.gz").as_uri(),
        "sha256": None,
        "variant": None,
        "build": "20260101",
    }
    name = f"cpython-{platform.python_version()}-{system}-{machine}-{entry['libc']}"
    (folder / "downloads.json").write_text(json.dumps({name: entry}))
    return folder / "downloads.json"


@pytest.mark.slow
@pytest.mark.parametrize("old", old_pythons(), ids=str)
def test_on_a_machine_with_only_an_old_python_uv_installs_another(
    old: Path, offered: Path, downloads: Path, tmp_path: Path
) -> None:
    said = subprocess.run(
        [old, "-m", "tools.environment", tmp_path / "new", "tiny-package==1.0"],
        cwd=environment.ROOT,
        env={
            "HOME": str(tmp_path / "home"),
            "PATH": str(old.parent),
            "PIP_FIND_LINKS": str(offered),
            "PIP_NO_INDEX": "1",
            "UV_PYTHON_DOWNLOADS_JSON_URL": str(downloads),
        },
        capture_output=True,
        text=True,
    )
    assert said.returncode == 0, said.stdout + said.stderr
    assert imports_it(tmp_path / "new")
    assert (tmp_path / "home/.local/share/uv/python").is_dir()


@pytest.mark.usefixtures("offered")
def test_what_cannot_be_installed_leaves_no_finished_environment(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="run the same command again"):
        environment.make(tmp_path / "new", Wanted((), ("tiny-package==2.0",)))
    assert not (tmp_path / "new/installed.txt").exists()


def test_pip_s_configuration_in_the_words_of_uv() -> None:
    listed = "\n".join(
        [
            ":env:.find-links='/mine'",
            "global.disable-pip-version-check='1'",
            "global.extra-index-url='file:///one\\nfile:///two'",
            "global.find-links='/theirs'",
            "install.cert='/a.crt'",
        ]
    )
    assert package_index.pip_configuration(listed) == {
        "UV_FIND_LINKS": "/mine",
        "UV_INDEX": "file:///one file:///two",
        "UV_INDEX_STRATEGY": "unsafe-best-match",
        "SSL_CERT_FILE": "/a.crt",
    }
    assert package_index.pip_configuration("ERROR: unknown command") == {}


@pytest.mark.parametrize(
    ("offers", "card", "reachable", "options"),
    [
        ("2.13.0+cpu", False, True, []),  # the reader has seen to it
        ("2.13.0", False, True, ["--torch-backend", "cpu"]),
        ("2.13.0", True, True, ["--torch-backend", "auto"]),
        ("2.13.0", False, False, []),
    ],
)
def test_the_build_of_torch_suits_the_machine(
    offers: str,
    card: bool,
    reachable: bool,
    options: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    uv = tmp_path / "uv"  # a stand-in: it answers as uv does
    uv.write_text(
        f'#!/bin/sh\ncase "$*" in *--torch-backend*) exit {int(not reachable)};; esac\n'
        f'echo " + torch=={offers}" >&2\n'
    )
    uv.chmod(0o755)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(package_index, "has_nvidia_card", lambda: card)
    pinned = "torch==2.13.0"
    assert package_index.torch_build([str(uv)], pinned, {}) == options
    assert package_index.torch_build([str(uv)], None, {}) == []
    monkeypatch.setattr(sys, "platform", "darwin")
    assert package_index.torch_build([str(uv)], pinned, {}) == []


@pytest.mark.parametrize(("word", "options"), [("1", ["--no-index"]), ("no", [])])
def test_uv_asks_no_index_where_pip_asks_none(word: str, options: list[str]) -> None:
    told = package_index.pip_configuration(f"global.no-index='{word}'\n")
    assert package_index.options(told) == options
    assert package_index.options({}) == []


def test_a_file_that_is_not_the_locked_one_is_refused(
    tmp_path: Path, offered: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By uv, and by pip, which tries when uv has refused."""
    lock, hashes = tmp_path / "requirements.txt", tmp_path / "hashes.txt"
    lock.write_text("tiny-package==1.0\n")
    hashes.write_text(f"tiny-package==1.0 --hash=sha256:{'0' * 64}\n")
    monkeypatch.setattr(environment, "LOCK", lock)
    monkeypatch.setattr(environment, "HASHES", hashes)
    # It needs setuptools, which this lock does not have.
    monkeypatch.setattr(environment, "install_local_cloud", lambda python: None)
    with pytest.raises(SetupError):
        environment.make(tmp_path / "new", Wanted((lock,)))
    (wheel,) = offered.iterdir()
    right = hashlib.sha256(wheel.read_bytes()).hexdigest()
    hashes.write_text(f"tiny-package==1.0 --hash=sha256:{right}\n")
    environment.make(tmp_path / "new", Wanted((lock,)))
    assert imports_it(tmp_path / "new")
    command = [tmp_path / "new/bin/python", "-c", "import lesson"]
    assert subprocess.run(command, cwd=tmp_path, env=without_path()).returncode == 0


# ---- a script of one's own -----------------------------------------------------------------------
SCRIPT = """
import importlib.util
import GCP_helpers, AWS_helpers, lesson
from lesson.preparation import Prepared
for name in ("tools", "training", "data"):
    assert importlib.util.find_spec(name) is None, name
print(lesson.ROOT)
"""


def test_a_script_in_any_folder_finds_the_lessons_packages_and_no_others(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    script = tmp_path / "mine/my.py"
    script.write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, script], cwd=tmp_path, capture_output=True, text=True, env=without_path()
    )
    assert (done.stdout, done.stderr) == (f"{environment.ROOT}\n", "")


def test_a_module_of_the_same_name_beside_a_script_comes_first(tmp_path: Path) -> None:
    (tmp_path / "lesson.py").write_text("print('mine')")
    (tmp_path / "my.py").write_text("import lesson")
    done = subprocess.run(
        [sys.executable, tmp_path / "my.py"], capture_output=True, text=True, env=without_path()
    )
    assert done.stdout == "mine\n", done.stderr


def without_path() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def test_another_environment_that_reads_this_one_does_not_find_them(tmp_path: Path) -> None:
    """As a job's does, which has the packages of this one and none of the lesson's."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "job"], check=True)
    python = tmp_path / "job/bin/python"
    look = (
        f"import site, importlib.util as util; site.addsitedir({site.getsitepackages()[0]!r});"
        "print([name for name in ('torch', 'lesson', 'GCP_helpers', 'AWS_helpers')"
        " if util.find_spec(name)])"
    )
    done = subprocess.run([python, "-c", look], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == "['torch']\n", done.stderr
