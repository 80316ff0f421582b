"""What the maker of taxi rides promises."""

import hashlib
from pathlib import Path

import pandas as pd
import pytest

from data import make_rides


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return make_rides.write(tmp_path_factory.mktemp("rides"), train=3000, valid=500, shards=3)


def test_the_same_bytes_come_out_everywhere(shards: list[Path]) -> None:
    written = b"".join(path.read_bytes() for path in shards)
    assert hashlib.sha256(written).hexdigest() == (
        "393a443f7683ec82c1b1306126afda03a317f0ebcfee7e17a4e1fbae88170ea3"
    )


def test_each_ride_is_in_one_shard(shards: list[Path]) -> None:
    tables = [pd.read_csv(path, header=None) for path in shards]
    assert [len(table) for table in tables] == [1000] * 3 + [167, 167, 166]
    assert sorted(pd.concat(tables)[7]) == [*range(3500)]


def test_the_columns_are_those_of_new_yorks_rides(shards: list[Path]) -> None:
    rides = pd.concat(
        pd.read_csv(path, names=make_rides.COLUMNS.split(","), parse_dates=["pickup_datetime"])
        for path in shards
    )
    assert rides["pickup_datetime"].dt.year.unique().tolist() == [2014]
    assert rides["fare_amount"].min() >= 2.5
    assert (rides["fare_amount"] == 52.0).sum() > 20  # to or from the airport
    assert rides["passenger_count"].between(1, 6).all()
    for end in ("pickup", "dropoff"):
        assert rides[f"{end}_longitude"].between(-74.1, -73.7).all()
        assert rides[f"{end}_latitude"].between(40.6, 40.95).all()
