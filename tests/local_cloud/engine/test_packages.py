"""Archives for a replica's PYTHONPATH, and the pip that a replica meets."""

from __future__ import annotations

import io
import subprocess
import sys
import tarfile
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from local_cloud.engine.packages import PackageError, missing, requirements_of, unpack
from local_cloud.engine.pip_stand_in import install, parsed
from local_cloud.engine.spec import Plan, Replica, State, Workplace
from tests.local_cloud.engine.support import Cloud, engine, run, until

NUMPY = metadata.version("numpy")


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


def tar(path: Path, *members: tuple[tarfile.TarInfo, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as file:
        for member, body in members:
            member.size = len(body)
            file.addfile(member, io.BytesIO(body))
    return path


def file(name: str, body: bytes = b"x") -> tuple[tarfile.TarInfo, bytes]:
    return tarfile.TarInfo(name), body


def link(name: str, to: str, kind: bytes = tarfile.SYMTYPE) -> tuple[tarfile.TarInfo, bytes]:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, to
    return member, b""


class TestUnpack:
    def test_an_sdists_code_can_be_imported(self, sdist: Path, tmp_path: Path) -> None:
        code = unpack(sdist, tmp_path)
        assert tmp_path in code.parents
        assert (code / "trainer_x/task.py").exists()
        assert [one for one in requirements_of(code) if "extra" not in one] == ["numpy"]
        assert missing(requirements_of(code)) == []

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
        assert missing(requirements_of(code)) == [
            f"numpy<1 is required, and numpy {NUMPY} is installed here."
        ]

    def test_two_archives_of_a_name_do_not_mix(self, tmp_path: Path) -> None:
        archive = tar(tmp_path / "x.tar.gz", file("x/a.py"), file("x/b.py"))
        assert unpack(archive, tmp_path / "into") != unpack(archive, tmp_path / "into")

    @pytest.mark.parametrize(
        "members",
        [
            [file("../evil")],
            [file("x/../../evil")],
            [link("out", "../.."), file("out/evil")],
            [link("out", "/etc/passwd")],
            [link("out", "../../evil", tarfile.LNKTYPE)],
        ],
    )
    def test_what_would_land_outside_is_refused(
        self, tmp_path: Path, members: list[tuple[tarfile.TarInfo, bytes]]
    ) -> None:
        archive = tar(tmp_path / "bad.tar.gz", *members)
        with pytest.raises(PackageError, match=r"^bad\.tar\.gz cannot be unpacked .*(out|abs)"):
            unpack(archive, tmp_path / "into")
        assert {path.name for path in tmp_path.rglob("*")} == {"bad.tar.gz", "into"}

    @pytest.mark.parametrize("name", ["../evil", "/etc/evil", "x/../../evil", "..\\evil"])
    def test_so_is_a_wheels_member(self, tmp_path: Path, name: str) -> None:
        with zipfile.ZipFile(tmp_path / "bad.whl", "w") as wheel:
            wheel.writestr(name, "x")
        with pytest.raises(PackageError, match="outside"):
            unpack(tmp_path / "bad.whl", tmp_path / "into")
        assert list((tmp_path / "into").iterdir()) == []

    @settings(max_examples=60)
    @given(st.data())
    def test_a_damaged_archive_is_refused_or_still_whole(
        self, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
    ) -> None:
        folder = tmp_path_factory.mktemp("damaged")
        kind = data.draw(st.sampled_from(["x.tar.gz", "x.whl"]))
        if kind == "x.whl":
            with zipfile.ZipFile(folder / kind, "w", zipfile.ZIP_DEFLATED) as wheel:
                wheel.writestr("x/a.py", "print('hello')" * 9)
        else:
            tar(folder / kind, file("x/a.py", b"print('hello')" * 9), file("x/b.py"))
        whole = (folder / kind).read_bytes()
        cut = data.draw(st.integers(0, len(whole)))
        change = data.draw(st.binary(max_size=4))
        (folder / kind).write_bytes(whole[:cut] + change + whole[cut + 2 * len(change) :])
        try:
            code = unpack(folder / kind, folder / "into")
        except PackageError as refused:
            assert "\n" not in str(refused)
            assert list((folder / "into").iterdir()) == []
        else:
            assert folder / "into" in code.parents


class TestMissing:
    def test_what_is_there_is_not_missing(self) -> None:
        assert missing(["numpy", f"numpy=={NUMPY}", "NumPy>=1", 'x; python_version < "3"']) == []

    @pytest.mark.parametrize(
        ("requirement", "sentence"),
        [
            ("no-such-thing>=2", "no-such-thing is not installed here"),
            ("numpy>99", f"numpy {NUMPY} is installed here"),
            ("numpy @ https://example.org/n.whl", "would have to be fetched"),
            ("numpy >>> 1", "is not a requirement that can be read"),
        ],
    )
    def test_a_sentence_says_what_is(self, requirement: str, sentence: str) -> None:
        (said,) = missing([requirement])
        assert requirement in said
        assert sentence in said

    @given(st.text())
    def test_any_text_gets_at_most_a_sentence(self, text: str) -> None:
        assert len(missing([text])) <= 1


class TestPip:
    def test_the_sdks_line_for_a_script_in_a_foreign_image(self, tmp_path: Path) -> None:
        bucket = tmp_path / "objects/bucket"
        bucket.mkdir(parents=True)
        archive = make_sdist(tmp_path / "project").rename(bucket / "x.tar.gz")

        def staged(place: Workplace) -> Plan:
            line = f"pip install --upgrade pip && pip3 install -q --user /gcs/bucket/{archive.name}"
            line += " && python3 -m trainer_x.task --epochs=3"
            return Plan(
                (Replica("r0", ("sh", "-c", line), {}, mounts={"/gcs": tmp_path / "objects"}),)
            )

        async def story() -> None:
            async with engine(tmp_path, Cloud(a=staged)) as here:
                here.submit("cloud", "a", 1)
                job = await until(here, "a")
                lines = here.log("a", "r0").read_text().splitlines()
                assert job.state is State.SUCCEEDED, lines
                assert lines[-1] == "trained --epochs=3"
                assert lines[0].startswith("Requirement already satisfied: pip")
                assert len(lines) == 2

        run(story())

    def test_what_is_not_here_is_named_and_nothing_is_unpacked(self, tmp_path: Path) -> None:
        archive = make_sdist(tmp_path / "project", requires="'no-such-thing'")
        with pytest.raises(PackageError, match="no-such-thing is not installed here"):
            install([str(archive)], tmp_path / "packages")
        with pytest.raises(PackageError, match="numpy>99"):
            install(["-q", "numpy>99"], tmp_path / "packages")
        with pytest.raises(PackageError, match="no network"):
            install(["git+https://example.org/x"], tmp_path / "packages")
        with pytest.raises(PackageError, match=r"lost\.tar\.gz"):
            install(["lost.tar.gz"], tmp_path / "packages")
        assert not (tmp_path / "packages").exists()

    def test_a_folder_and_a_second_version_over_the_first(self, tmp_path: Path) -> None:
        for text in ("first", "second"):
            (tmp_path / "project/x").mkdir(parents=True, exist_ok=True)
            (tmp_path / "project/x/__init__.py").write_text(text)
            (tmp_path / "project/setup.py").write_text("")
            install(["--upgrade", f"{tmp_path}/project"], tmp_path / "packages")
            assert (tmp_path / "packages/x/__init__.py").read_text() == text

    def test_files_of_requirements_and_options(self, tmp_path: Path) -> None:
        wanted = tmp_path / "requirements.txt"
        wanted.write_text(
            "# what it needs\n--index-url https://example.org\nnumpy>=1  # arrays\n\n"
        )
        words = ["-q", "--no-cache-dir", "-i", "https://example.org", "torch", "-r", str(wanted)]
        assert parsed(words) == (True, ["torch", "numpy>=1"])
        with pytest.raises(PackageError, match="cannot be read"):
            parsed(["-r", str(tmp_path / "none.txt")])

    def test_all_else_is_the_real_pips(self, tmp_path: Path) -> None:
        def staged(place: Workplace) -> Plan:
            return Plan((Replica("r0", ("pip", "--version"), {}),))

        async def story() -> None:
            async with engine(tmp_path, Cloud(a=staged)) as here:
                here.submit("cloud", "a", 1)
                await until(here, "a")
                said = here.log("a", "r0").read_text()
                assert said.startswith("pip ") or "No module named pip" in said

        run(story())
