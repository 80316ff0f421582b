"""Archives for a replica's PYTHONPATH."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from local_cloud.engine.environments.archives import ArchiveError
from local_cloud.engine.environments.packages import requirements_of, unpack
from tests.engine.archives import file, tar


@pytest.fixture(params=["flat", "src"])
def sdist(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A source distribution as setuptools makes it, with the package at its root or in src/."""
    return make_sdist(tmp_path_factory.mktemp("project"), request.param)


def make_sdist(project: Path, layout: str = "flat", requires: str = "'numpy'") -> Path:
    code = project / ("src" if layout == "src" else ".") / "trainer_x"
    code.mkdir(parents=True)
    (code / "__init__.py").write_text("")
    (code / "task.py").write_text("import sys; print('trained', *sys.argv[1:])\n")
    where = "where='src'" if layout == "src" else ""
    folders = "package_dir={'': 'src'}, " if layout == "src" else ""
    (project / "setup.py").write_text(
        "from setuptools import find_packages, setup\n"
        f"setup(name='trainer_x', version='0.1', packages=find_packages({where}), {folders}"
        f"install_requires=({requires}), extras_require={{'more': ['no-such-thing']}})\n"
    )
    command = [sys.executable, "setup.py", "-q", "sdist", "--formats=gztar"]
    subprocess.run(command, cwd=project, capture_output=True, check=True)
    (archive,) = (project / "dist").iterdir()
    return archive


class TestUnpack:
    def test_an_sdists_code_can_be_imported(self, sdist: Path, tmp_path: Path) -> None:
        code = unpack(sdist, tmp_path)
        assert tmp_path in code.parents
        assert (code / "trainer_x/task.py").exists()
        assert [one for one in requirements_of(code) if "extra" not in one] == ["numpy"]

    def test_an_sdist_that_only_has_pkg_info(self, tmp_path: Path) -> None:
        described = b"Metadata-Version: 2.1\nName: x\nVersion: 1\nRequires-Dist: numpy>=1\n"
        archive = tar(tmp_path / "x-1.tar.gz", file("x-1/x.py"), file("x-1/PKG-INFO", described))
        assert requirements_of(unpack(archive, tmp_path / "into")) == ["numpy>=1"]

    def test_a_wheel(self, tmp_path: Path) -> None:
        archive = tmp_path / "x-1-py3-none-any.whl"
        with zipfile.ZipFile(archive, "w") as wheel:
            wheel.writestr("x/__init__.py", "")
            wheel.writestr("x-1.dist-info/METADATA", "Name: x\nRequires-Dist: numpy<1\n")
        code = unpack(archive, tmp_path / "into")
        assert (code / "x/__init__.py").exists()
        assert requirements_of(code) == ["numpy<1"]

    def test_two_archives_of_a_name_do_not_mix(self, tmp_path: Path) -> None:
        archive = tar(tmp_path / "x.tar.gz", file("x/a.py"), file("x/b.py"))
        assert unpack(archive, tmp_path / "into") != unpack(archive, tmp_path / "into")

    def test_what_it_needs_is_said_in_utf_8(self, tmp_path: Path) -> None:
        described = b"Metadata-Version: 2.1\nName: x\nAuthor: caf\xe9\nRequires-Dist: numpy\n"
        archive = tar(tmp_path / "x-1.tar.gz", file("x-1/x.py"), file("x-1/PKG-INFO", described))
        with pytest.raises(ArchiveError, match="does not say in UTF-8 what it needs"):
            requirements_of(unpack(archive, tmp_path / "into"))
