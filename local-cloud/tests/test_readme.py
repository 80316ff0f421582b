"""README.md names the tests of the most important behaviours, and each of them exists."""

from __future__ import annotations

from pathlib import Path

from testing.table import Row, missing, rows

PAGE = Path(__file__).with_name("README.md")
HOUSE = Path(__file__).parents[1]


def test_each_home_and_each_witness_is_a_test() -> None:
    assert len(rows(PAGE)) >= 20
    assert missing(PAGE, HOUSE) == []


def test_a_name_of_no_test_is_found(tmp_path: Path) -> None:
    (tmp_path / "test_a.py").write_text("class TestA:\n    def test_b(self): ...\n")
    (tmp_path / "notebook.ipynb").write_text("{}")
    page = tmp_path / "README.md"
    page.write_text(
        "| behaviour | home | witness |\n| --- | --- | --- |\n"
        "| it works | `test_a.py::TestA::test_b` | `notebook.ipynb` |\n"
        "| it ends | `test_a.py::test_b` | `lost.ipynb` |\n"
    )
    assert rows(page)[0] == Row("it works", "test_a.py::TestA::test_b", "notebook.ipynb")
    assert missing(page, tmp_path) == ["test_a.py::test_b", "lost.ipynb"]
