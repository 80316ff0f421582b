"""Pulling: whole or not at all, once, from the index that uv is told of."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from local_cloud.client.home import Home
from local_cloud.engine.base import server_base
from local_cloud.errors import LocalCloudError
from local_cloud.images import command, package_index
from local_cloud.images import pull as pulling
from local_cloud.images.pull import PullError, pull
from local_cloud.images.pulled_images import PulledImages
from local_cloud.images.table import BY_NAME, Image
from tests.engine.wheels import wheel
from tests.images.small_packages import variables

URI = "us-docker.pkg.dev/vertex-ai/prediction/xgboost-cpu.1-7:latest"
XGBOOST = BY_NAME["prediction/xgboost-cpu.1-7"]
ROOT = Path(__file__).parents[2]
DIES = """
import os, signal, sys
from pathlib import Path
from local_cloud.images.pull import pull
from local_cloud.images.pulled_images import PulledImages
from local_cloud.images.table import BY_NAME
def say(line):
    if "packages:" in line:
        os.kill(os.getpid(), signal.SIGKILL)
pull(BY_NAME[sys.argv[1]], PulledImages(Path(sys.argv[2])), say)
"""


@pytest.fixture(scope="module")
def offered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """An index with small packages under the names of real ones; the variables for it."""
    folder = tmp_path_factory.mktemp("index")
    wheel(folder, "xgboost", "1.7.6", "lclow")
    wheel(folder, "xgboost", "2.0.0", "nvidia-nccl-cu12")
    wheel(folder, "torch", "2.4.1+cpu", "nvidia-nccl-cu12")
    wheel(folder, "nvidia_nccl_cu12", "2.20")
    low = wheel(folder, "lclow", "1.2")
    shutil.copy(low, low.with_name("lclow-1.2-1-py3-none-any.whl"))  # a package may have two
    wheel(folder, "google_cloud_storage", "2.19.0")
    (folder / "broken-1.0-py3-none-any.whl").write_bytes(b"not an archive")
    with variables(folder) as variables_of_index:
        yield variables_of_index


@pytest.fixture(autouse=True)
def configured(offered: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Only this index is configured, and nothing is in the cache."""
    for name, text in (offered | {"UV_CACHE_DIR": str(tmp_path / "cache")}).items():
        monkeypatch.setenv(name, text)


@pytest.fixture
def images(tmp_path: Path) -> PulledImages:
    return PulledImages(tmp_path / "images")


def left(images: PulledImages) -> list[str]:
    """What is in the folder, but for locks."""
    return sorted(path.name for path in images.folder.iterdir() if path.suffix != ".lock")


def test_a_pulled_image_has_its_own_packages_and_says_so(images: PulledImages) -> None:
    said: list[str] = []
    made = pull(XGBOOST, images, said.append)
    assert made.versions == {"xgboost": "1.7.6", "google-cloud-storage": "2.19.0"}
    assert any(line.startswith("3 packages: ") for line in said)
    assert f"Pulled {XGBOOST.name} in " in said[-2]

    base = images.base_of(URI, server_base(images.folder))
    assert (base.has("xgboost"), base.has("numpy"), base.is_servers) == (True, False, False)
    assert base.note.startswith(f"{URI} was pulled as an environment: Python 3.")
    assert "xgboost 1.7.6" in base.note
    words = [base.python, "-c", "import xgboost; print(xgboost.version)"]
    assert subprocess.run(words, capture_output=True, text=True).stdout == "1.7.6\n"

    assert pull(XGBOOST, images, said.append) == made
    assert said[-1].startswith(f"{XGBOOST.name} was pulled already: Python 3.")

    assert images.remove(XGBOOST) and not images.remove(XGBOOST)
    assert left(images) == []
    note = images.base_of(URI, server_base(images.folder)).note
    assert "is named, not pulled; this is Python 3." in note
    assert f"`python -m local_cloud images pull {XGBOOST.name}`" in note


def test_a_killed_pull_leaves_nothing_that_counts(images: PulledImages) -> None:
    words = [sys.executable, "-c", DIES, XGBOOST.name, str(images.folder)]
    assert subprocess.run(words, cwd=ROOT).returncode == -9
    assert images.get(XGBOOST) is None
    assert [name for name in left(images) if ".building-" in name]
    pull(XGBOOST, images, lambda line: None)
    assert left(images) == [XGBOOST.folder]


def test_two_pulls_at_once_make_one_environment(images: PulledImages) -> None:
    said: list[str] = []
    both = [threading.Thread(target=pull, args=(XGBOOST, images, said.append)) for _ in range(2)]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()
    assert sum(line.startswith("Pulled ") for line in said) == 1
    assert sum("was pulled already" in line for line in said) == 1


@pytest.mark.parametrize(
    ("packages", "sentence"),
    [
        (("lclow==9.9",), "its packages cannot be had"),
        (("broken",), "cannot be pulled"),
    ],
)
def test_what_cannot_be_had_leaves_nothing(
    images: PulledImages, packages: tuple[str, ...], sentence: str
) -> None:
    with pytest.raises(PullError, match=sentence):
        pull(Image("some", "3.11", packages), images, lambda line: None)
    assert left(images) == []


def test_what_only_nvidias_cards_need_comes_with_pytorch_alone(
    images: PulledImages, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(package_index, "has_nvidia_card", lambda: False)
    for name, is_there in (("xgboost==2.0.0", False), ("torch==2.4.1+cpu", True)):
        image = Image(name.partition("=")[0], "3.11", (name,))
        pull(image, images, lambda line: None)
        lock = images.folder / image.folder / "pylock.toml"
        assert ('name = "nvidia-nccl-cu12"' in lock.read_text()) == is_there


def test_a_python_that_is_not_here_is_replaced_and_named(images: PulledImages) -> None:
    said: list[str] = []
    made = pull(Image("some", "3.99", ("lclow",)), images, said.append)
    assert "Python 3.99 is not on this machine" in said[1]
    assert made.python.startswith(".".join(map(str, sys.version_info[:2])))


def test_nothing_is_installed_that_the_disk_cannot_hold(
    images: PulledImages, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pulling, "_sizes", lambda lock: [10**15, None])
    with pytest.raises(PullError, match=r"needs about \d+ MB .* are free"):
        pull(XGBOOST, images, lambda line: None)
    assert left(images) == []


def test_the_command_lists_pulls_and_removes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = Home(tmp_path / "home")
    for words in (["pull", URI], [], ["remove", XGBOOST.name], ["remove", URI]):
        command.run(words, home)
    said = capsys.readouterr().out
    (row,) = [line for line in said.splitlines() if line.startswith(XGBOOST.name + " ")]
    assert "Python 3.10" in row and "xgboost 1.7" in row and "pulled: Python 3." in row
    assert said.endswith(f"Removed {XGBOOST.name}\nNot pulled, so not removed: {XGBOOST.name}\n")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["pull"], "give `list`, `pull NAME`"),
        (["pull", "me/own:1"], "no environment is known for the image me/own:1"),
        (["pull", "xgboost-cpu.1-7"], "Near it: .*prediction/xgboost-cpu.1-7"),
    ],
)
def test_the_command_says_what_to_give(tmp_path: Path, words: list[str], sentence: str) -> None:
    with pytest.raises(LocalCloudError, match=sentence):
        command.run(words, Home(tmp_path / "home"))
