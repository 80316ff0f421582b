"""Scripts that were not written for this project run wherever a job can run, and end as they say.

tests/strangers/scripts/ holds them; each says in its header what is expected of it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from local_cloud.client.control import Status
from tests.strangers.script import PLACES, Script, all_scripts, read
from tests.strangers.suite import Places, run

QUICK = "mlp_plain"  # in the ordinary suite this one stands for all
SCRIPTS = {script.name: script for script in all_scripts()}
PAIRS = [
    (name, place) for name, script in SCRIPTS.items() if name != QUICK for place in script.places
]
# The SDK leaves its temporary folders to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore:Implicitly cleaning up:ResourceWarning")


@pytest.fixture(scope="module")
def places(cloud: Status, tmp_path_factory: pytest.TempPathFactory) -> Places:
    return Places(cloud, tmp_path_factory.mktemp("strangers"))


@pytest.fixture(scope="module")
def verdicts(places: Places, request: pytest.FixtureRequest) -> dict[tuple[str, str], str]:
    """What is wrong with each script that was selected, in each place: all run before the first
    test, several at a time."""
    params = [getattr(item, "callspec", None) for item in request.session.items]
    named = [one.params for one in params if one and {"script", "place"} <= one.params.keys()]
    return run(places, [(SCRIPTS[one["script"]], one["place"]) for one in named])


@pytest.mark.parametrize(
    "place", ["sagemaker-trial", *(pytest.param(one, marks=pytest.mark.slow) for one in PLACES[:3])]
)
def test_an_ordinary_script_runs_in_every_place(places: Places, place: str) -> None:
    assert run(places, [(SCRIPTS[QUICK], place)]) == {(QUICK, place): ""}


@pytest.mark.slow
@pytest.mark.parametrize(("script", "place"), PAIRS)
def test_it_ends_as_it_says(verdicts: dict[tuple[str, str], str], script: str, place: str) -> None:
    assert not verdicts[script, place], verdicts[script, place]


def test_there_are_many_and_each_says_how_it_ends() -> None:
    assert len(SCRIPTS) >= 40
    assert all(script.about.endswith(".") for script in SCRIPTS.values())
    # A place that is left out is left out for a reason.
    assert all(":" in script.one("only", ":") for script in SCRIPTS.values())


@pytest.mark.parametrize(
    ("header", "problem"),
    [("# About.\n# exit 0\n", "is none of"), ("# About.\n# log: x\n", "does not say how it ends")],
)
def test_a_header_that_says_nothing_is_refused(tmp_path: Path, header: str, problem: str) -> None:
    path = tmp_path / "script.py"
    path.write_text(header)
    with pytest.raises(ValueError, match=problem):
        read(path)


def test_a_script_of_several_files_is_a_folder() -> None:
    script: Script = SCRIPTS["package_data"]
    assert {"task.py", "config.json", "assets/vocab.txt"} <= script.files.keys()
