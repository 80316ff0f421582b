"""What the maker of the twin promises, as far as it shows without the real list."""

import csv
import subprocess
import sys
from pathlib import Path
from random import Random

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from data import make_twin

DATA = Path(make_twin.__file__).parent


@pytest.fixture(scope="module")
def twin() -> pd.DataFrame:
    parts = [pd.read_csv(DATA / f"titanic_{part}.csv") for part in ("train", "test")]
    return pd.concat(parts, ignore_index=True)


@pytest.mark.parametrize("command", [["-m", "data.make_twin"], ["data/make_twin.py"]])
def test_either_command_writes_the_committed_bytes(command: list[str], tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    copy = tmp_path / "data" / "make_twin.py"
    copy.write_bytes((DATA / "make_twin.py").read_bytes())
    subprocess.run([sys.executable, *command], cwd=tmp_path, check=True, capture_output=True)
    for name in ("titanic_train.csv", "titanic_test.csv"):
        assert (copy.parent / name).read_bytes() == (DATA / name).read_bytes()


def test_712_passengers_train_and_179_test_in_the_familiar_columns() -> None:
    for name, rows in (("train", 712), ("test", 179)):
        with (DATA / f"titanic_{name}.csv").open(newline="", encoding="utf-8") as file:
            header, *body = csv.reader(file)
        assert ",".join(header) == (
            "PassengerId,Survived,Pclass,Name,Sex,Age,SibSp,Parch,Ticket,Fare,Cabin,Embarked"
        )
        assert len(body) == rows


def test_each_cell_has_the_counts_of_the_table_in_the_maker(twin: pd.DataFrame) -> None:
    cells = twin.groupby(["Pclass", "Sex", "Survived"])
    for cell in make_twin.CELLS:
        people = cells.get_group((cell.pclass, cell.sex, cell.survived))
        ports = people["Embarked"].fillna("?")
        relatives = people["SibSp"] + people["Parch"]
        assert tuple((ports == port).sum() for port in "SCQ?") == cell.ports
        for size, (low, high) in enumerate(((0, 0), (1, 3), (4, 99))):
            family = people[relatives.between(low, high)]
            assert len(family) == cell.family[size]
            assert (family["Age"] < 10).sum() == cell.children[size]
        assert people["Age"].isna().sum() == cell.no_age
        assert people["Cabin"].notna().sum() == cell.cabins


def test_each_class_has_the_relatives_of_the_table_in_the_maker(twin: pd.DataFrame) -> None:
    for pclass, people in twin.groupby("Pclass"):
        relatives = people.groupby(["SibSp", "Parch"]).size().to_dict()
        assert relatives == make_twin.RELATIVES[pclass]


def test_test_passengers_are_a_fair_fifth_of_every_cell(twin: pd.DataFrame) -> None:
    test = pd.read_csv(DATA / "titanic_test.csv")
    cells = ["Pclass", "Sex", "Survived"]
    whole, part = (table.groupby(cells).size() for table in (twin, test))
    expected = whole * make_twin.TEST_ROWS / len(twin)
    assert (part.reindex(whole.index, fill_value=0) - expected).abs().max() < 1


def test_numbers_run_from_1_to_891_in_no_order_a_model_could_use(twin: pd.DataFrame) -> None:
    assert sorted(twin["PassengerId"]) == list(range(1, 892))
    assert abs(twin["PassengerId"].corr(twin["Survived"])) < 0.1
    assert abs(twin["PassengerId"].corr(twin["Pclass"])) < 0.1


def test_most_small_children_have_a_parent_aboard(twin: pd.DataFrame) -> None:
    children = twin[twin["Age"] < 10]
    assert (children["Parch"] > 0).mean() > 0.95


def test_who_shares_a_ticket_shares_surname_fare_class_and_port(twin: pd.DataFrame) -> None:
    surname = twin["Name"].str.split(",").str[0]
    shared = twin.assign(Surname=surname).groupby("Ticket")
    for column in ("Surname", "Fare", "Pclass", "Embarked"):
        assert shared[column].nunique(dropna=False).max() == 1
    assert (shared.size() > 1).sum() > 100


def test_each_name_is_unique_and_its_title_fits(twin: pd.DataFrame) -> None:
    assert twin["Name"].is_unique
    title = twin["Name"].str.extract(r"^[A-Z][a-z]+, (\w+)\. [A-Z]")[0]
    assert set(title[twin["Sex"] == "female"]) == {"Miss", "Mrs"}
    assert set(title[twin["Sex"] == "male"]) == {"Mr", "Master", "Dr"}
    assert twin["Age"][title == "Master"].max() < 13
    assert twin["Age"][title.isin(["Mr", "Dr"])].min() >= 13
    assert twin["Age"][title == "Mrs"].min() >= 18


def test_ages_and_fares_have_the_familiar_form(twin: pd.DataFrame) -> None:
    ages = twin["Age"].dropna()
    months = ages[ages < 1] * 12
    assert (months - months.round()).abs().max() < 0.1
    assert (ages[ages >= 1] * 2 % 1 == 0).all()
    assert (ages % 1 != 0).mean() < 0.05
    assert (twin["Fare"] == twin["Fare"].round(4)).all()
    assert (twin["Fare"] >= 0).all()
    free = twin[twin["Fare"] == 0]
    assert free.groupby(["Pclass", "Survived"]).size().to_dict() == make_twin.FREE


figures = st.lists(st.integers(0, 500), min_size=8, max_size=8).map(lambda f: tuple(sorted(f)))


@given(figures, st.integers(min_value=1, max_value=300))
def test_spread_gives_ascending_values_within_the_figures(
    wanted: tuple[int, ...], count: int
) -> None:
    values = make_twin.spread(wanted, count)
    assert len(values) == count
    assert values == sorted(values)
    assert wanted[0] - 1e-9 <= values[0] and values[-1] <= wanted[-1] + 1e-9


@given(figures)
def test_spread_meets_the_median(wanted: tuple[int, ...]) -> None:
    assert make_twin.spread(wanted, 201)[100] == pytest.approx(wanted[3])


@given(st.floats(min_value=4, max_value=600))
def test_a_fare_moves_by_three_percent_at_most(fare: float) -> None:
    assert make_twin.familiar(fare) == pytest.approx(fare, rel=0.0301)


@given(st.integers(), st.lists(st.integers(), min_size=1))
def test_shuffling_keeps_what_is_there(seed: int, values: list[int]) -> None:
    assert sorted(make_twin.shuffle(Random(seed), values)) == sorted(values)
    assert make_twin.pick(Random(seed), values) in values


@given(st.integers(min_value=0, max_value=3))
def test_any_seed_gives_a_whole_table(seed: int) -> None:
    train, test = make_twin.split(make_twin.make_twin(seed))
    assert (len(train), len(test)) == (712, 179)
