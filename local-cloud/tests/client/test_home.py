"""Whose home is it: environments are told apart by what they are, and no home is lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_cloud.client import control
from local_cloud.client.home import CHECKOUT, Home, difference, identity

Patch = pytest.MonkeyPatch
Printed = pytest.CaptureFixture[str]
PRINT = "import json; from local_cloud.client.home import identity; print(json.dumps(identity()))"
ENVIRONMENT = Path(sys.prefix)


def identity_of(python: Path) -> dict[str, str]:
    """The identity of a server that this interpreter would start."""
    done = subprocess.run(
        [python, "-c", PRINT], cwd=CHECKOUT, capture_output=True, text=True, check=True
    )
    content: dict[str, str] = json.loads(done.stdout)
    return content


def used(home: Home, who: dict[str, Any]) -> Home:
    """A home in which a server of this identity has run."""
    home.make()
    home.write_address({"port": 1, "pid": 1, **who})
    return home


def test_all_names_of_an_interpreter_are_one(tmp_path: Path) -> None:
    link = tmp_path / "a link"
    link.symlink_to(ENVIRONMENT)
    names = [
        f"python{sys.version_info.major}",
        f"python{sys.version_info.major}.{sys.version_info.minor}",
    ]
    names = [name for name in names if (ENVIRONMENT / "bin" / name).exists()]
    pythons = [ENVIRONMENT / "bin" / name for name in names] + [link / "bin/python"]
    for python in pythons:
        assert difference(identity_of(python), identity()) == ""
        assert Home(tmp_path).own_for(identity_of(python)) == Home(tmp_path).own_for(identity())


def test_another_environment_of_the_same_interpreter_is_another(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "env"], check=True)
    other = identity_of(tmp_path / "env/bin/python")
    assert "another environment" in difference(other, identity())
    assert Home(tmp_path).own_for(other) != Home(tmp_path).own_for(identity())


IDENTITIES = st.fixed_dictionaries(
    {
        "checkout": st.sampled_from(["/a", "/b"]),
        "environment": st.sampled_from(["/a/.venv", "/usr"]),
        "python": st.sampled_from(["3.11", "3.12", "3.13t"]),
        "interpreter": st.text(max_size=9),
    }
)


@given(IDENTITIES, IDENTITIES)
def test_two_identities_share_a_home_or_the_difference_is_said(
    one: dict[str, str], other: dict[str, str]
) -> None:
    same = all(one[name] == other[name] for name in ("checkout", "environment", "python"))
    assert (difference(one, other) == "") == same
    assert (Home(Path("/x")).own_for(one) == Home(Path("/x")).own_for(other)) == same


@given(st.lists(st.sampled_from(["/", "/.", "/bin/..", "/lib/.."])), st.sampled_from(["3", ""]))
def test_of_an_earlier_local_cloud_the_path_says_the_environment(
    detours: list[str], version: str
) -> None:
    path = f"{ENVIRONMENT}{''.join(detours)}/bin/python{version}"
    assert difference({"checkout": str(CHECKOUT), "interpreter": path}, identity()) == ""
    assert difference({"checkout": str(CHECKOUT), "interpreter": "/bare/bin/python"}, identity())


def test_a_home_of_another_environment_is_left_while_its_server_runs(
    tmp_path: Path, monkeypatch: Patch, capsys: Printed
) -> None:
    """And afterwards, too: each environment finds again what it has kept."""
    home = used(Home(tmp_path / "x"), identity() | {"environment": "/other"})
    assert control.own(home) == home  # nobody runs there, and we have no other
    with monkeypatch.context() as patched:
        patched.setattr(Home, "server", lambda home: 4711)
        ours = used(control.own(home), identity())
    assert ours.folder.name.startswith("x-")
    said = capsys.readouterr().err
    assert f"Using the folder {ours.folder}" in said
    assert "process 4711" in said and "belong to another environment" in said
    assert control.own(home) == ours
    assert "not running" in capsys.readouterr().err


def test_a_home_that_an_earlier_local_cloud_has_split_is_found(
    tmp_path: Path, capsys: Printed
) -> None:
    """It named a home after the path of the interpreter: each of these was another one."""
    home = used(Home(tmp_path / "x"), {"checkout": "/elsewhere", "interpreter": "/bin/python"})
    old = [
        used(
            Home(tmp_path / name),
            {"checkout": str(CHECKOUT), "interpreter": str(ENVIRONMENT / "bin" / python)},
        )
        for name, python in (("x-67b0", "python"), ("x-29a7", "python3"))
    ]
    os.utime(old[0].folder / "address.json", (1, 1))
    assert control.own(home) == old[1]  # the one that was used last
    shown = str(control.Status(home))
    assert all(str(each.folder) in shown for each in old)


def test_status_and_stop_are_about_the_home_that_activate_uses(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    used(Home(tmp_path / "x"), identity() | {"checkout": "/elsewhere"})
    ours = used(Home(tmp_path / "x-1"), identity())
    monkeypatch.setenv("LOCAL_CLOUD_HOME", str(tmp_path / "x"))
    assert control.status().home == ours
    assert control.stop().home == ours


def test_a_new_home_is_used_although_one_is_kept_beside_it(tmp_path: Path) -> None:
    used(Home(tmp_path / "x-1"), identity())
    assert control.own(Home(tmp_path / "x")) == Home(tmp_path / "x")


def test_a_link_to_a_home_and_signs_of_patterns_in_its_name_make_no_difference(
    tmp_path: Path,
) -> None:
    home = used(Home(tmp_path / "x[1]*"), identity() | {"checkout": "/elsewhere"})
    ours = used(Home(tmp_path / "x[1]*-1"), identity())
    (tmp_path / "link").symlink_to(home.folder)
    assert control.own(home) == control.own(Home(tmp_path / "link")) == ours


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a folder another user's")
def test_what_another_user_puts_beside_a_home_is_not_taken_for_ours(tmp_path: Path) -> None:
    home = used(Home(tmp_path / "x"), identity() | {"checkout": "/elsewhere"})
    theirs = used(Home(tmp_path / "x-1"), identity())
    os.chown(theirs.folder, 65_534, 65_534)
    assert control.own(home) == home
