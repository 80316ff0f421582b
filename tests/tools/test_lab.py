"""JupyterLab opens on the start page, shown as a page, in any environment."""

from __future__ import annotations

import json
import stat
import tempfile
from pathlib import Path

import pytest

from local_cloud import Status
from tools.lab import start_page
from tools.lab.__main__ import command, console, runtime_folder, use_settings
from tools.pages.folder import ROOT


def test_it_opens_the_start_page_in_the_lessons_folder() -> None:
    line = command(["--no-browser"])
    assert line[1:3] == ["-m", "jupyterlab"] and line[-1] == "--no-browser"
    assert f"--LabApp.default_url=/lab/tree/{Path('work', start_page.NAME)}" in line
    assert f"--ServerApp.root_dir={ROOT}" in line


def test_its_kernels_use_socket_files() -> None:
    assert "--KernelManager.transport=ipc" in command([])


def test_only_the_owner_may_open_the_folder_of_the_socket_files(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    usual = Path(tempfile.mkdtemp(dir="/tmp"))
    usual.chmod(0o755)
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(usual))
    assert runtime_folder() == usual
    assert stat.S_IMODE(usual.stat().st_mode) == 0o700
    assert not list(usual.iterdir())
    usual.rmdir()


def test_where_a_path_is_too_long_for_socket_files_they_are_in_another_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / ("long" * 20)))
    folder = runtime_folder()
    assert folder.parent == Path("/tmp")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    folder.rmdir()


def test_it_links_the_local_clouds_pages(cloud: Status, monkeypatch: pytest.MonkeyPatch) -> None:
    assert console() == f"http://127.0.0.1:{cloud.port}/console/"
    monkeypatch.setenv("LESSON_TARGET", "cloud")
    assert console() == ""


def test_it_shows_markdown_as_a_page_and_lands_on_linked_sections(tmp_path: Path) -> None:
    use_settings(tmp_path)
    settings = json.loads((tmp_path / "share/jupyter/lab/settings/overrides.json").read_text())
    viewers = settings["@jupyterlab/docmanager-extension:plugin"]["defaultViewers"]
    assert viewers == {"markdown": "Markdown Preview"}
    # With the default, a section further down is still without its size when a link leads there.
    assert settings["@jupyterlab/notebook-extension:tracker"] == {"windowingMode": "defer"}


def test_the_set_up_page_names_it_for_conda() -> None:
    assert "`python -m tools.lab`" in (ROOT / "learners" / "setup.md").read_text(encoding="utf-8")
