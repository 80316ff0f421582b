"""The twin beside the real list: same counts, no row of it, and what a model learns from each.

Skipped where the real list is not at hand. ``TITANIC_REAL`` names the folder with
``titanic_train.csv`` and ``titanic_test.csv``.
"""

import statistics
from pathlib import Path

import pandas as pd
import pytest
import torch

from lesson.preparation import apply_json, prepare
from tests.training.support import inside, train_nn

ROOT = Path(__file__).parents[2]
TWIN = ROOT / "data"
SEEDS = range(5)


def both_parts(folder: Path) -> pd.DataFrame:
    parts = [pd.read_csv(folder / f"titanic_{part}.csv") for part in ("train", "test")]
    return pd.concat(parts, ignore_index=True)


@pytest.fixture(scope="module")
def real(real_folder: Path) -> pd.DataFrame:
    return both_parts(real_folder)


@pytest.fixture(scope="module")
def real_891(real: pd.DataFrame) -> pd.DataFrame:
    if len(real) != 891:
        pytest.skip(f"the counts are those of the 891-passenger list; here are {len(real)}")
    return real


@pytest.fixture(scope="module")
def twin() -> pd.DataFrame:
    return both_parts(TWIN)


def with_groups(table: pd.DataFrame) -> pd.DataFrame:
    """The table with what the counts are grouped by; nothing missing, so nothing is left out."""
    relatives = table["SibSp"] + table["Parch"]
    return pd.DataFrame(
        {
            "class": table["Pclass"],
            "sex": table["Sex"],
            "survived": table["Survived"],
            "port": table["Embarked"].fillna("?"),
            "SibSp": table["SibSp"],
            "Parch": table["Parch"],
            "family": pd.cut(relatives, [-1, 0, 3, 99], labels=["alone", "1 to 3", "4 or more"]),
            "child": table["Age"] < 10,
            "age missing": table["Age"].isna(),
            "cabin missing": table["Cabin"].isna(),
            "free": table["Fare"] == 0,
        }
    )


@pytest.mark.parametrize(
    "groups",
    [
        ["class", "sex", "port", "survived"],
        ["class", "SibSp", "Parch"],
        ["class", "sex", "survived", "family"],
        ["class", "sex", "survived", "family", "child"],
        ["class", "sex", "survived", "age missing"],
        ["class", "sex", "survived", "cabin missing"],
        ["class", "sex", "survived", "free"],
    ],
    ids=" by ".join,
)
def test_counts_are_those_of_the_real_list(
    groups: list[str], real_891: pd.DataFrame, twin: pd.DataFrame
) -> None:
    counts = [with_groups(table).value_counts(groups, sort=False) for table in (real_891, twin)]
    assert counts[1].to_dict() == counts[0].to_dict()


def furthest(column: str, groups: list[str], real: pd.DataFrame, twin: pd.DataFrame) -> pd.Series:
    """The largest distance of the quartiles of ``column``, in each group of 20 or more."""
    size = real.groupby(groups)[column].count()
    quartiles = [
        table.groupby(groups)[column].quantile([0.25, 0.5, 0.75]).unstack()[size >= 20]
        for table in (real, twin)
    ]
    distance = (quartiles[1] - quartiles[0]).abs()
    return (distance / quartiles[0] if column == "Fare" else distance).max()


@pytest.mark.parametrize(
    ("column", "groups", "limit"),
    [
        ("Age", ["Pclass"], 2.0),
        ("Age", ["Pclass", "Sex"], 2.0),
        ("Age", ["Pclass", "Sex", "Survived"], 3.5),
        ("Fare", ["Pclass"], 0.12),
    ],
)
def test_quartiles_are_as_close_as_the_readme_says(
    column: str, groups: list[str], limit: float, real_891: pd.DataFrame, twin: pd.DataFrame
) -> None:
    assert furthest(column, groups, real_891, twin).max() <= limit


def test_means_of_age_and_fare_are_within_two_percent(
    real_891: pd.DataFrame, twin: pd.DataFrame
) -> None:
    for column in ("Age", "Fare"):
        assert twin[column].mean() == pytest.approx(real_891[column].mean(), rel=0.02)


def test_no_row_is_a_real_one(real: pd.DataFrame, twin: pd.DataFrame) -> None:
    columns = [column for column in twin.columns if column != "PassengerId"]
    # Compared as text, so that a missing value equals a missing value.
    rows = [set(map(tuple, table[columns].astype(str).to_numpy())) for table in (real, twin)]
    assert not rows[0] & rows[1]


@pytest.mark.parametrize("column", ["Name", "Ticket", "Cabin"])
def test_no_name_ticket_or_cabin_is_a_real_one(
    column: str, real: pd.DataFrame, twin: pd.DataFrame
) -> None:
    assert not set(real[column].dropna()) & set(twin[column].dropna())


def train_and_score(train_csv: Path, test_csv: Path, seed: int, folder: Path) -> float:
    """The share of ``test_csv`` that train_nn.py's model of ``train_csv`` gets right."""
    made = prepare(train_csv, folder)
    flags = ("--train", made.train, "--val", made.val, "--seed", seed, "--model_dir", folder)
    assert inside(*flags).code == 0
    saved = torch.load(folder / "model.pt", weights_only=True)
    model = train_nn.build_model(saved["features"], saved["hidden"], seed)
    model.load_state_dict(saved["model"])
    test = pd.read_csv(test_csv)
    X = torch.from_numpy(apply_json(saved["preparation"], test.to_dict("records")))
    with torch.no_grad():
        survived = (model(X)[:, 0] > 0).numpy()
    return float((survived == test["Survived"].to_numpy()).mean())


@pytest.mark.parametrize("trained_on", ["twin", "real"])
def test_what_the_twin_teaches_holds_for_real_passengers(
    trained_on: str, real_folder: Path, tmp_path: Path
) -> None:
    train = {"twin": TWIN, "real": real_folder}[trained_on] / "titanic_train.csv"
    test = real_folder / "titanic_test.csv"
    scores = [train_and_score(train, test, seed, tmp_path) for seed in SEEDS]
    print(f"{trained_on} to real, accuracy by seed:", [round(score, 3) for score in scores])
    assert statistics.median(scores) >= 0.76
