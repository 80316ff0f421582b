"""The runner of mutants: small bugs in the right places, and each is counted as it ended."""

from __future__ import annotations

import ast
import random
from pathlib import Path

import pytest

from tests import mutants
from tests.mutants import PACKAGES, ROOT, Package, mirrors, mutants_of, of_make_test, run

CODE = '''"""ü < 1"""
LIMIT: int = 3


def small(number: int, words: list[str]) -> bool:
    if not words:
        raise ValueError(f"{number + 1}")
    if number > 9:
        return False
    return "ü" in words and number < LIMIT
'''


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A file, tests that mirror it, and others, which fail."""
    (tmp_path / "pyproject.toml").write_text("[tool.pytest.ini_options]\npythonpath = ['.']\n")
    (tmp_path / "code_").mkdir()
    (tmp_path / "code_/small.py").write_text(CODE)
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/test_other.py").write_text("def test():\n    assert False\n")
    return tmp_path


def test_each_mutant_has_one_change_and_is_code(project: Path) -> None:
    mutants = mutants_of(project, Path("code_/small.py"))
    assert [(each.line, each.after) for each in mutants] == [
        (2, "4"),
        (6, "words"),
        (7, "pass"),
        (8, "number >= 9"),
        (8, "10"),
        (9, "True"),  # and not "return None", which is as false
        (10, "return None"),
        (10, "'ü' in words or number < LIMIT"),
        (10, "'ü' not in words"),
        (10, "number <= LIMIT"),
    ]
    for each in mutants:
        ast.parse(each.text)
        assert (
            sum(a != b for a, b in zip(each.text.split("\n"), CODE.split("\n"), strict=True)) == 1
        )


def test_functions_can_be_chosen(project: Path) -> None:
    assert not mutants_of(project, Path("code_/small.py"), ("large",))
    assert len(mutants_of(project, Path("code_/small.py"), ("sm",))) == 9


def test_a_continue_that_changes_nothing_is_left_alone(project: Path) -> None:
    (project / "code_/loop.py").write_text(
        "for each in ():\n"
        "    if each:\n"
        "        continue\n"  # passes what follows
        "    try:\n"
        "        each()\n"
        "    except OSError:\n"
        "        continue\n"
    )
    mutants = mutants_of(project, Path("code_/loop.py"))
    assert [(each.line, each.after) for each in mutants] == [(3, "pass"), (5, "pass")]


@pytest.mark.slow
def test_what_survives_is_named_and_the_rest_counted(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "code_/small.py").write_text("def small(n):\n    return not n\n")
    (project / "tests/test_small.py").write_text(
        "from code_.small import small\n\n\ndef test():\n    assert not small(1)\n"
    )
    count = run(project, Package("code_/*.py", "tests"), random.Random(0), 600)
    assert count == {"killed": 1, "survived": 1}
    assert "code_/small.py:2: return not n -> return None" in capsys.readouterr().out
    assert (project / "code_/small.py").read_text() == "def small(n):\n    return not n\n"


@pytest.mark.slow
def test_a_mutant_that_never_ends_is_killed(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mutants, "PATIENCE", 1.0)
    (project / "code_/small.py").write_text("def small(a, b):\n    while not a:\n        pass\n")
    (project / "tests/test_small.py").write_text(
        "from code_.small import small\n\n\ndef test():\n    small(1, [])\n"
    )
    assert run(project, Package("code_/*.py", "tests"), random.Random(0), 600) == {"killed": 1}


def test_tests_that_fail_without_a_mutant_say_nothing(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "tests/test_small.py").write_text("import code_.small\nassert False\n")
    assert not run(project, Package("code_/*.py", "tests"), random.Random(0), 600)
    assert "left out: tests/test_small.py" in capsys.readouterr().out


def test_of_the_tests_of_a_file_those_of_make_test_can_be_taken_alone(project: Path) -> None:
    (project / "tests/__init__.py").touch()
    (project / "tests/groups.py").write_text(
        "print('tests/deep/test_a.py', 'tests/deep/test_b.py', 'tests/test_c.py', 'a.ipynb')"
    )
    in_part = ["tests/deep/../deep/test_a.py", "tests/deep/test_slow.py"]
    assert of_make_test(project, in_part) == ["tests/deep/test_a.py"]
    assert of_make_test(project, ["tests/deep"]) == ["tests/deep/test_a.py", "tests/deep/test_b.py"]
    # None of them: those nearest to them.
    assert of_make_test(project, in_part[1:]) == of_make_test(project, ["tests/deep"])
    assert len(of_make_test(project, ["tests/other/test_d.py"])) == 3


@pytest.mark.parametrize("package", PACKAGES.values(), ids=list(PACKAGES))
def test_each_package_has_files_and_tests(package: Package) -> None:
    files = [path.relative_to(ROOT) for path in ROOT.glob(package.files)]
    assert files
    for file in files:
        tests = mirrors(ROOT, file, package)
        assert all((ROOT / test).exists() for test in tests)
        assert of_make_test(ROOT, tests)
    assert any(mutants_of(ROOT, file, package.functions) for file in files)
