"""The target has two names: LOCAL_CLOUD_TARGET, and an alias for course material."""

from __future__ import annotations

import pytest

from local_cloud.client import target
from local_cloud.errors import LocalCloudError

OWN, ALIAS = target.NAMES


@pytest.fixture(autouse=True)
def unset(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in target.NAMES:
        monkeypatch.delenv(name, raising=False)


def test_it_is_local_unless_one_of_the_names_says_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert target.target() == "local" and target.is_local()
    for name in target.NAMES:
        with monkeypatch.context() as changed:
            changed.setenv(name, "cloud")
            assert target.target() == "cloud" and not target.is_local()


@pytest.mark.parametrize("values", [("local", "cloud"), ("cloud", "local"), ("cloud", "")])
def test_of_two_that_differ_nothing_leaves_the_machine_and_a_sentence_says_so(
    monkeypatch: pytest.MonkeyPatch, values: tuple[str, str]
) -> None:
    for name, value in zip(target.NAMES, values, strict=True):
        monkeypatch.setenv(name, value)
    assert target.is_local()
    for refuses in (target.target, lambda: target.require_local("so nothing is sent")):
        with pytest.raises(LocalCloudError) as caught:
            refuses()
        assert str(caught.value) == (
            f"{OWN} is {values[0]!r} and {ALIAS} is {values[1]!r}: they mean the same, so unset one"
            " of them"
        )


def test_messages_use_the_name_that_the_user_has_set(monkeypatch: pytest.MonkeyPatch) -> None:
    assert target.real_service().startswith(f"restart the kernel with {OWN}=cloud")
    monkeypatch.setenv(ALIAS, "local")
    assert target.real_service().startswith(f"restart the kernel with {ALIAS}=cloud")
    monkeypatch.setenv(OWN, "local")
    assert target.real_service().startswith(f"restart the kernel with {OWN}=cloud")
