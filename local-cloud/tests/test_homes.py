"""What an earlier version has acknowledged, every later one reads: homes of several are kept."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from local_cloud.client import control
from local_cloud.client.home import CHECKOUT, Home
from tests.homes.make_home import days, noted, pack, run_kept, unpack


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "a home"
    yield folder
    control.stop(Home(folder))


@pytest.mark.parametrize("day", days())
def test_what_an_earlier_version_has_acknowledged_is_read(day: str, home: Path) -> None:
    unpack(day, home)
    content = json.loads(run_kept("read", day, checkout=CHECKOUT, home=home))
    acknowledged = noted(day)
    for part in acknowledged:
        assert content[part] == acknowledged[part], part
    assert content.keys() == acknowledged.keys()


@pytest.mark.slow  # every change of the SDKs or of a record shows in the homes that are kept
def test_a_home_of_this_version_can_be_made_and_packed(home: Path, tmp_path: Path) -> None:
    latest = max(days())
    run_kept("make", latest, checkout=CHECKOUT, home=home)
    control.stop(Home(home))
    pack(home, tmp_path / "packed.tar.xz")
    assert (tmp_path / "packed.tar.xz").stat().st_size < 64 << 10  # for good in the repository
    content = json.loads(run_kept("read", latest, checkout=CHECKOUT, home=home))
    assert content.keys() == noted(latest).keys()
    assert all(content.values())


def test_every_release_but_the_newest_has_left_its_home() -> None:
    """A release leaves it when the next one begins: docs/contributing.md says how."""
    text = (CHECKOUT.parent / "CHANGELOG.md").read_text()
    headings = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert headings
    dates = [re.fullmatch(r"\S+ \((\d{4}-\d\d-\d\d)\)|Unreleased", each) for each in headings]
    assert all(dates), headings
    released = sorted(date[1] for date in dates if date and date[1])
    for day, following in itertools.pairwise(released):
        assert any(day <= kept < following for kept in days()), f"no home of {day}"
