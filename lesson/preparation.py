"""From a table to the two npz archives that train_nn.py reads.

The order is what keeps it honest: split first, then fit every statistic (fill-in values,
categories, means, scales) on the training part alone. The fitted preparation travels inside the
archives as JSON, so that a raw passenger can be scored later without unpickling anything.

Most of this file prepares the passengers, whose columns it knows. For any other table,
lesson/own_table/ finds out what the columns hold.
"""

from __future__ import annotations

import csv as csv_files
import json
import math
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from lesson import LessonError

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from sklearn.pipeline import Pipeline

LABEL = "Survived"
FEATURES = ("Pclass", "Sex", "Age", "SibSp", "Parch", "Fare", "Embarked")
CATEGORIES = ("Sex", "Embarked")
SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars"}  # of files that only end in .csv
UNSEEN = -1  # the code of a word that only rows outside the training part have


class Prepared(NamedTuple):
    """Where the two archives lie, and how many rows each holds."""

    train: Path
    val: Path
    train_rows: int
    val_rows: int


def read_passengers(csv: str | Path) -> pd.DataFrame:
    """Read a table with at least the seven features and the label.

    csv: a file, or `bq://project.dataset.table` for a table of BigQuery. Raises LessonError if the
    file is missing or no table, lacks a column or has it twice, or holds something that could not
    be prepared: a label other than 0 and 1, or only one of them; a word or an infinite number where
    a number belongs; a column without a single value, or with words and numbers.
    """
    table = read_table(csv) if str(csv).startswith("bq://") else read_file(csv)
    missing = [name for name in (LABEL, *FEATURES) if name not in table.columns]
    if missing:
        raise LessonError(
            f"{csv} has no column {', '.join(missing)}; name the columns as in data/. If this is a"
            ' table of your own, name the column to predict: prepare(..., label="its name")'
        )
    if len(table) < 10:
        raise LessonError(f"{csv} has {len(table)} rows; give at least 10, to split them")
    passengers = table.assign(**{LABEL: _read_label(table[LABEL], csv)})
    for name in FEATURES:
        column = passengers[name]
        if column.isna().all():
            raise LessonError(f"{csv}: column {name} has no values; fill it or use another table")
        if name in CATEGORIES:
            _check_category(column, csv)
        else:
            passengers[name] = _read_numbers(column, csv)
    return passengers


def read_file(csv: str | Path, *, as_text: bool = False) -> pd.DataFrame:
    """Read a CSV file whose first line names the columns. Raises LessonError.

    as_text: every value as the file has it, and no column twice, whatever its name.
    """
    import pandas as pd

    options: dict[str, Any] = {"dtype": str, "index_col": False} if as_text else {}
    try:
        names = _read_header(csv)
        _require_commas(names, csv)
        with warnings.catch_warnings(action="error", category=pd.errors.ParserWarning):
            table: pd.DataFrame = pd.read_csv(csv, **options)
    except FileNotFoundError:
        here = Path.cwd()
        raise LessonError(f"{csv}: no such file; name one that exists, seen from {here}") from None
    except pd.errors.ParserWarning:
        raise LessonError(f"{csv} has longer lines than its first; name every column") from None
    except (OSError, ValueError) as problem:
        raise LessonError(f"{csv} cannot be read as a CSV table: {problem}") from None
    used = set(filter(None, names)) if as_text else {LABEL, *FEATURES}
    twice = sorted(name for name in used if names.count(name) > 1)
    if twice:
        raise LessonError(f"{csv} has column {', '.join(twice)} twice; remove or rename one")
    return table


def _read_header(csv: str | Path) -> list[str]:
    """Return the names as the file has them: pandas renames a second column of the same name."""
    with Path(csv).open(encoding="utf-8-sig", newline="") as file:
        return next(csv_files.reader(line for line in file if line.strip()), [])


def _require_commas(names: Sequence[str], csv: str | Path) -> None:
    """Raise LessonError if a file's only name holds another separator."""
    for separator, called in SEPARATORS.items():
        if len(names) == 1 and separator in names[0]:
            raise LessonError(f"{csv} separates its columns with {called}; save it with commas")


def read_table(csv: str | Path) -> pd.DataFrame:
    """Read a table of BigQuery, `bq://project.dataset.table`. Raises LessonError."""
    import pandas as pd

    from lesson.services import sessions

    uri = str(csv)
    parts = uri.removeprefix("bq://").split(".")
    if len(parts) != 3 or not all(parts):
        raise LessonError(f"{uri}: name a table as bq://project.dataset.table")
    sessions.activate("BIGQUERY_EMULATOR_HOST")
    from google.api_core.exceptions import GoogleAPIError
    from google.auth.exceptions import GoogleAuthError
    from google.cloud import bigquery

    try:
        client = bigquery.Client(project=parts[0])
        rows = client.list_rows(client.get_table(".".join(parts)))
        names = [field.name for field in rows.schema]
        return pd.DataFrame([tuple(row.values()) for row in rows], columns=names)
    except (GoogleAPIError, GoogleAuthError, OSError) as problem:
        raise LessonError(f"{uri} cannot be read: {problem}") from None


def _read_label(column: pd.Series, csv: str | Path) -> pd.Series:
    """Return the label as 0 and 1, both of which have to be there."""
    import pandas as pd

    label = pd.to_numeric(column, errors="coerce")
    if not label.isin([0, 1]).all():
        raise LessonError(f"{csv}: {LABEL} has values other than 0 and 1; code no as 0, yes as 1")
    if label.nunique() == 1:
        raise LessonError(
            f"{csv}: {LABEL} is {label.iloc[0]:.0f} in every row; there is nothing to tell apart"
        )
    return label.astype("int64")


def _read_numbers(column: pd.Series, csv: str | Path) -> pd.Series:
    """Return a column of numbers as numbers, whatever pandas made of them."""
    import numpy as np
    import pandas as pd

    if pd.api.types.is_datetime64_any_dtype(column) or pd.api.types.is_timedelta64_dtype(column):
        raise LessonError(f"{csv}: column {column.name} holds times; only numbers belong there")
    numbers = pd.to_numeric(column, errors="coerce")
    unusable = column[numbers.isna() & column.notna()]
    if len(unusable):
        word = unusable.iloc[0]
        raise LessonError(f"{csv}: column {column.name} holds {word!r}; only numbers belong there")
    if pd.api.types.is_bool_dtype(numbers) or not pd.api.types.is_numeric_dtype(numbers):
        numbers = numbers.astype("float64")
    if np.isinf(numbers).any():
        raise LessonError(f"{csv}: column {column.name} holds an infinite number; leave gaps empty")
    return numbers


def _check_category(column: pd.Series, csv: str | Path) -> None:
    """Raise LessonError for a column whose values cannot be put in one order and coded."""
    values = column.dropna()
    words = values.map(lambda value: isinstance(value, str))
    numbers = values.map(lambda value: isinstance(value, (int, float)))  # true and false, too
    other = values[~words & ~numbers]
    if len(other):
        raise LessonError(
            f"{csv}: column {column.name} holds {other.iloc[0]!r}; write its values as words"
        )
    if words.any() and numbers.any():
        both = f"{values[words].iloc[0]!r} and {values[numbers].iloc[0]!r}"
        raise LessonError(f"{csv}: column {column.name} holds {both}; write all values as words")


def split(
    passengers: pd.DataFrame, val_share: float = 0.2, seed: int = 42
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Deal the rows into a training part and a validation part, by chance but always alike."""
    from sklearn.model_selection import train_test_split

    train, val = train_test_split(passengers, test_size=val_share, random_state=seed)
    return train, val


def make_preparation() -> Pipeline:
    """Return the unfitted preparation: fill gaps, code words, bring columns to one scale.

    Its output has one column per feature, in the order of FEATURES, with mean 0 and standard
    deviation 1 over the rows it is fitted on.
    """
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OrdinalEncoder, StandardScaler

    def column(name: str) -> Any:
        if name in CATEGORIES:
            coder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=UNSEEN)
            return make_pipeline(SimpleImputer(strategy="most_frequent"), coder)
        return SimpleImputer(strategy="median")

    columns = ColumnTransformer([(name, column(name), [name]) for name in FEATURES])
    return make_pipeline(columns, StandardScaler())


def inputs(passengers: pd.DataFrame) -> pd.DataFrame:
    """Return the feature columns, with gaps in the form that scikit-learn's imputers look for."""
    import numpy as np

    words = passengers[list(CATEGORIES)].astype(object)
    return passengers[list(FEATURES)].assign(**words.where(words.notna(), np.nan))


def to_json(preparation: Pipeline) -> str:
    """Return a fitted preparation as JSON: each feature's fill-in value, codes and scale."""
    columns, scaler = (step for _, step in preparation.steps)
    features: list[dict[str, Any]] = []
    for position, name in enumerate(FEATURES):
        step = columns.named_transformers_[name]
        imputer = step[0] if name in CATEGORIES else step
        feature = {"name": name, "fill": imputer.statistics_[0]}
        if name in CATEGORIES:
            feature["categories"] = list(step[1].categories_[0])
        else:
            feature["fill"] = float(feature["fill"])
        feature["mean"] = float(scaler.mean_[position])
        feature["scale"] = float(scaler.scale_[position])
        features.append(feature)
    return json.dumps({"features": features}, indent=1)


def apply_json(preparation: str, passengers: Sequence[Mapping[str, Any]]) -> np.ndarray:
    """Prepare raw passengers for a trained model, from the JSON text alone.

    `passengers` are mappings from feature name to value; a missing, None or NaN value is filled
    in as it was in training, other keys do no harm. Returns float32 (passengers, features).
    Raises LessonError for a text that is no preparation, for a passenger without any of the
    features, for a word that training never saw, and for a number that is none.
    """
    import numpy as np

    try:
        features = json.loads(preparation)["features"]
    except (ValueError, LookupError, TypeError):
        raise LessonError("this is no preparation; train on an archive that carries one") from None
    names = [feature["name"] for feature in features]
    for passenger in passengers:
        if not set(names) & set(passenger):
            raise LessonError(f"{dict(passenger)} has none of the features {', '.join(names)}")
    rows = [[_prepare_one(feature, passenger) for feature in features] for passenger in passengers]
    return np.array(rows, dtype=np.float32).reshape(len(passengers), len(features))


def _prepare_one(feature: Mapping[str, Any], passenger: Mapping[str, Any]) -> float:
    """Return one value of one passenger: filled in, coded and scaled."""
    import pandas as pd

    value: Any = passenger.get(feature["name"])
    if pd.api.types.is_scalar(value) and (pd.isna(value) or value == ""):
        value = feature["fill"]
    if "categories" in feature:
        if value not in feature["categories"]:
            known = ", ".join(map(str, feature["categories"]))
            raise LessonError(f"{feature['name']} is {value!r}; training saw only {known}")
        code = float(feature["categories"].index(value))
    else:
        try:
            code = float(value)
        except (TypeError, ValueError):
            code = math.nan
        if not math.isfinite(code):
            raise LessonError(f"{feature['name']} is {value!r}; give a number")
    return (code - float(feature["mean"])) / float(feature["scale"])


def prepare(
    csv: str | Path, folder: str | Path, label: str | None = None, *, classes: bool | None = None
) -> Prepared:
    """Do the whole preparation: read, split, fit on the training part, write both archives.

    csv: a file or a table, as for read_passengers. label: the column to predict, for any table but
    the passengers'; then a report says what was found in each column. classes: whether the label's
    values are classes (True) or numbers (False), if the report shows that the guess is wrong.
    Writes train_data.npz (X_train, y_train) and val_data.npz (X_val, y_val) into `folder`, both
    with the fitted `preparation` as JSON text. Raises LessonError for a table that cannot be
    prepared; then nothing is written.
    """
    if label is not None:
        return _prepare_own(csv, Path(folder), label, classes=classes)
    train, val = split(read_passengers(csv))
    preparation = make_preparation().fit(inputs(train))
    arrays = {
        part: (preparation.transform(inputs(passengers)), passengers[LABEL].to_numpy(dtype="int64"))
        for part, passengers in (("train", train), ("val", val))
    }
    return _write_archives(Path(folder), arrays, to_json(preparation))


def _prepare_own(csv: str | Path, folder: Path, label: str, *, classes: bool | None) -> Prepared:
    """Prepare any table, and print what was done to it."""
    from lesson.own_table.arrays import make_arrays
    from lesson.own_table.report import describe

    table = read_table(csv) if str(csv).startswith("bq://") else read_file(csv, as_text=True)
    try:
        made = make_arrays(table, label, classes)
    except LessonError as problem:
        raise LessonError(f"{csv}: {problem}") from None
    train, val = made.is_training, ~made.is_training
    arrays = {"train": (made.X[train], made.y[train]), "val": (made.X[val], made.y[val])}
    prepared = _write_archives(folder, arrays, made.preparation)
    print(describe(made))
    return prepared


def _write_archives(
    folder: Path, arrays: Mapping[str, tuple[np.ndarray, np.ndarray]], preparation: str
) -> Prepared:
    """Write X and y of each part elsewhere first, then move both: whole, and fitting together."""
    import numpy as np

    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as elsewhere:
            for part, (X, y) in arrays.items():
                named: dict[str, Any] = {f"X_{part}": X, f"y_{part}": y, "preparation": preparation}
                np.savez(Path(elsewhere, f"{part}_data.npz"), allow_pickle=False, **named)
            for part in arrays:
                Path(elsewhere, f"{part}_data.npz").replace(folder / f"{part}_data.npz")
    except OSError as problem:
        reason = f"cannot be written ({problem.strerror})"
        raise LessonError(f"{folder} {reason}; make room, or name another folder") from None
    rows = {part: len(y) for part, (_, y) in arrays.items()}
    paths = folder / "train_data.npz", folder / "val_data.npz"
    return Prepared(*paths, rows["train"], rows["val"])
