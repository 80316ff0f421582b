"""Every object's name has a file of its own, and every such file leads back to the name."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from local_cloud.store import names
from local_cloud.store.errors import BadName

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1)
AWKWARD = st.lists(
    st.sampled_from(["a", "/", ".", "\n", "n", "e", "c", "f", "é", "漢", "x" * 250, "😀" * 64]),
    min_size=1,
).map("".join)
NAMES = (TEXT | AWKWARD).filter(lambda name: len(name.encode()) <= names.NAME)


def back(path: str) -> str:
    *folders, file = path.split("/")
    return "".join(map(names.from_folder, folders)) + names.from_file(file)


@given(NAMES)
@example("x" * 253 + ".")
@example("x" * 253 + "/..")
@example("/" * 1024)
@example("\n" * 1024)
def test_a_name_survives_the_way_to_a_path_and_back(name: str) -> None:
    path = names.to_path(name)
    assert back(path) == name
    assert back(names.beside_folder(path)) == name
    assert names.leads_back(name, path)
    assert names.leads_back(name, names.beside_folder(path))


@given(NAMES)
@example("../../etc/passwd")
@example("/etc/passwd")
def test_a_path_stays_in_its_folder_and_each_component_fits_a_file_name(name: str) -> None:
    path = names.beside_folder(names.to_path(name))
    assert not PurePosixPath(path).is_absolute()
    for component in path.split("/"):
        assert component not in ("", ".", "..")
        assert len(component.encode()) <= 255


@given(NAMES, NAMES)
def test_two_names_never_share_a_file(one: str, other: str) -> None:
    paths = {names.to_path(name) for name in (one, other)}
    paths |= {names.beside_folder(path) for path in paths}
    assert len(paths) == 2 * len({one, other})


@pytest.mark.parametrize("name", ["a", "models/1/model.pt", "a b:c", "é/漢", "x" * 253])
def test_an_ordinary_name_is_its_own_path(name: str) -> None:
    assert names.to_path(name) == name


@pytest.mark.parametrize("name", ["", "x" * 1025, "é" * 513, "a\0b", "\ud800"])
def test_what_no_object_can_be_called_is_refused(name: str) -> None:
    with pytest.raises(BadName):
        names.check(name)


def test_a_component_of_more_than_253_bytes_goes_on_in_a_folder() -> None:
    assert names.to_path("x" * 253) == "x" * 253
    assert names.to_path("x" * 254) == "x" * 253 + "\nc/x"


@pytest.mark.parametrize("path", ["a\nx", "x\nc/a", "\ne\nc/a", "x" * 254, "\nd\nn"])
def test_a_file_that_no_name_leads_to_is_no_object(path: str) -> None:
    assert not names.leads_back(back(path), path)


def test_the_longest_path_can_be_made(tmp_path: Path) -> None:
    path = tmp_path / names.to_path("\n/" * 512)
    current = tmp_path
    for part in path.relative_to(tmp_path).parts[:-1]:
        current /= part
        current.mkdir()
    path.touch()
    assert os.path.exists(path)
