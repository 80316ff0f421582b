"""Custom images: what a Dockerfile says of files, variables and command."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from local_cloud.client.home import Home
from local_cloud.engine.base import server_base
from local_cloud.errors import LocalCloudError
from local_cloud.images import command, dockerfile
from local_cloud.images.build import build
from local_cloud.images.dockerfile import DockerfileError
from local_cloud.images.pulled_images import PulledImages
from tests.lesson_code import LESSON, SERVING_IMAGE, TRAINING_IMAGE

URI = "us-central1-docker.pkg.dev/p/r/own:1"
TEXT = """\
# a comment
ARG VERSION=3.11
FROM python:${VERSION}-slim
ENV WHERE=/srv/app NAME="two words" PATH=/x:$PATH
ENV OLDER a value
WORKDIR $WHERE
COPY requirements.txt \\
     ./
COPY --chown=me src/ src/
RUN pip install \\
    -r requirements.txt
EXPOSE 8080
CMD ["python", "old.py"]
ENTRYPOINT ["python", "src/main.py"]
CMD ["--epochs", "3"]
"""


def written(folder: Path, text: str) -> Path:
    (folder / "src/deep").mkdir(parents=True, exist_ok=True)
    (folder / "src/main.py").write_text("print('main')")
    (folder / "src/deep/one.py").write_text("")
    (folder / "requirements.txt").write_text("numpy\n")
    path = folder / "Dockerfile"
    path.write_text(text)
    return path


def test_a_dockerfile_is_read_as_docker_reads_it(tmp_path: Path) -> None:
    file = dockerfile.read(written(tmp_path, TEXT))
    assert file.base == "python:3.11-slim"
    assert file.variables == {"WHERE": "/srv/app", "NAME": "two words", "OLDER": "a value"}
    assert file.copies == [(["requirements.txt"], "/srv/app/"), (["src/"], "/srv/app/src/")]
    assert file.entrypoint == ("python", "src/main.py")
    assert file.arguments == ("--epochs", "3")
    assert file.not_run == ["RUN pip install -r requirements.txt"]


def test_a_line_for_the_shell_is_run_by_the_shell(tmp_path: Path) -> None:
    file = dockerfile.read(written(tmp_path, "FROM x\nCMD echo $HOME"))
    assert file.arguments == ("/bin/sh", "-c", "echo $HOME")


def test_flags_of_from_and_a_command_before_the_entrypoint(tmp_path: Path) -> None:
    """As made on a machine with another processor; an ENTRYPOINT resets the base's CMD only."""
    text = 'FROM --platform=linux/amd64 x:1\nCMD ["--epochs", "3"]\nENTRYPOINT ["python", "t.py"]'
    file = dockerfile.read(written(tmp_path, text))
    assert file.base == "x:1"
    assert (*file.entrypoint, *file.arguments) == ("python", "t.py", "--epochs", "3")


def test_a_copy_into_the_working_folder_goes_into_it(tmp_path: Path) -> None:
    text = 'ARG BASE="x:1"\nFROM\t${BASE}\nWORKDIR /opt/app\nCOPY src/main.py /opt/app\n'
    file = dockerfile.read(written(tmp_path, text + 'CMD ["python", "-c", "print(\'a  b\')"]'))
    assert file.base == "x:1"
    assert file.copies == [(["src/main.py"], "/opt/app/")]
    assert file.arguments == ("python", "-c", "print('a  b')")


@pytest.mark.parametrize("line", ["COPY", 'COPY ["a"', 'COPY "a b', 'ENV A="b', "ENV"])
def test_a_line_that_cannot_be_read_is_named(tmp_path: Path, line: str) -> None:
    with pytest.raises(
        DockerfileError, match=f"Dockerfile: {re.escape(repr(line))} cannot be read"
    ):
        dockerfile.read(written(tmp_path, f"FROM x\n{line}\n"))


def test_a_built_image_has_its_files_and_its_command(tmp_path: Path) -> None:
    images, said = PulledImages(tmp_path / "images"), list[str]()
    build(URI, written(tmp_path, TEXT), images=images, say=said.append)
    assert said == [
        "Not run: RUN pip install -r requirements.txt",
        f"Jobs of {URI} start: python src/main.py --epochs 3",
    ]
    base = images.base_of(URI, server_base(tmp_path))
    assert base.is_servers and base.contents
    assert base.command((), ()) == ("python", "src/main.py", "--epochs", "3")
    assert base.command((), ("--lr", "1")) == ("python", "src/main.py", "--lr", "1")
    assert base.command(("sh",), ()) == ("sh",)
    root = base.contents.mounts["/srv/app"]
    assert sorted(path.name for path in root.iterdir()) == ["requirements.txt", "src"]
    assert (root / "src/deep/one.py").is_file() and base.contents.folder == "/srv/app"
    assert f"{URI} was built here" in base.note and "python:3.11-slim is named" in base.note

    build(
        URI,
        written(tmp_path, "FROM x\nCOPY src/main.py /srv/b/\nCMD date"),
        images=images,
        say=said.append,
    )
    again = images.base_of(URI, server_base(tmp_path)).contents
    assert again and [path.name for path in again.mounts["/srv/b"].iterdir()] == ["main.py"]
    assert sorted(path.suffix for path in images.folder.iterdir()) == ["", ".lock"]


@pytest.mark.parametrize(
    ("copy", "mount", "file"),
    [
        ("src /trainer", "/trainer", "deep/one.py"),
        ("src/ /srv/a/b", "/srv/a/b", "main.py"),
        (". /app", "/app", "src/main.py"),
        ("src/main.py /srv/app/run.py", "/srv/app", "run.py"),
        ("src/*.py requirements.txt /srv/app/", "/srv/app", "main.py"),
        ('["src/main.py", "/srv/app/"]', "/srv/app", "main.py"),
    ],
)
def test_files_and_folders_are_copied_as_docker_does(
    copy: str, mount: str, file: str, tmp_path: Path
) -> None:
    images = PulledImages(tmp_path / "images")
    (tmp_path / "context").mkdir()
    path = written(tmp_path / "context", f"FROM x\nCOPY {copy}\nCMD date")
    built = build(URI, path, images=images, say=lambda line: None)
    assert list(built.mounts) == [mount]
    contents = images.base_of(URI, server_base(tmp_path)).contents
    assert contents and (contents.mounts[mount] / file).is_file()


def test_a_custom_image_begins_with_a_prebuilt_one_alone(tmp_path: Path) -> None:
    """Two that begin with each other would have no end."""
    images = PulledImages(tmp_path / "images")
    for uri, base in (("me/a:1", "me/b:1"), ("me/b:1", "me/a:1")):
        build(
            uri, written(tmp_path, f"FROM {base}\nCMD date"), images=images, say=lambda line: None
        )
    note = images.base_of("me/a:1", server_base(tmp_path)).note
    assert "me/a:1 was built here" in note and "me/b:1 is named, not pulled" in note


@pytest.mark.parametrize("file", [TRAINING_IMAGE, SERVING_IMAGE], ids=lambda file: file.name)
def test_the_lessons_own_dockerfiles_can_be_built(file: Path, tmp_path: Path) -> None:
    built = build(URI, file, images=PulledImages(tmp_path), say=lambda line: None, context=LESSON)
    assert list(built.mounts) == ["/opt/lesson"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("CMD date", "has no FROM"),
        ("FROM x", "says nothing of what to start"),
        ("FROM x\nFROM y\nCMD date", "several stages"),
        ("FROM x\nCOPY --from=y /a /b\nCMD date", "only files beside the Dockerfile"),
        ("FROM x\nADD https://example.com/x /b\nCMD date", "only files beside the Dockerfile"),
        ("FROM x\nCOPY lost.py /srv/app/\nCMD date", "there is no such file"),
        ("FROM x\nCOPY ../outside.py /srv/app/\nCMD date", "there is no such file"),
        ("FROM x\nCOPY src/main.py /\nCMD date", "would hide this machine's own"),
        ("FROM x\nCOPY src/ /usr\nCMD date", "would hide this machine's own"),
    ],
)
def test_what_cannot_be_followed_is_said_and_leaves_nothing(
    text: str, sentence: str, tmp_path: Path
) -> None:
    (tmp_path / "outside.py").write_text("")
    (tmp_path / "context").mkdir()
    images = PulledImages(tmp_path / "images")
    with pytest.raises(DockerfileError, match=sentence):
        build(URI, written(tmp_path / "context", text), images=images, say=lambda line: None)
    assert images.find_built(URI) is None


def test_the_command_builds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, TEXT)
    command.run(["build", URI, str(path)], Home(tmp_path / "home"))
    for words in (["list"], ["remove", URI], ["list"]):
        command.run(words, Home(tmp_path / "home"))
    said = capsys.readouterr().out
    assert f"Jobs of {URI} start: " in said and f"Removed {URI}\n" in said
    assert said.count(f"\n{URI}\n") == 1
    with pytest.raises(LocalCloudError, match="No such file"):
        command.run(["build", URI, str(tmp_path / "lost")], Home(tmp_path / "home"))
