"""FARM_FINGERPRINT gives the service's numbers, so a split by it gives the service's rows."""

from __future__ import annotations

import pytest
from google.api_core.exceptions import BadRequest

from local_cloud.google.bigquery.duckdb.farmhash import fingerprint
from tests.google.bigquery.support import Run


# By the authors' own C++ (PyPI's cityhash 0.4.10), of the bytes 0, 1, 2, …: one length for each way
# through the function, and those beside.
@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (0, -7286425919675154353),
        (17, -4920561954712641764),
        (32, 1917831512995979081),
        (33, -1696327906013916594),
        (64, -755192159902184373),
        (65, -4133415862504178242),
        (128, 2037963038260878803),
        (129, -3563574961234704322),
        (1000, 8032585197585415396),
    ],
)
def test_bytes_of_any_length(size: int, expected: int) -> None:
    assert fingerprint(bytes(number % 256 for number in range(size))) == expected


def test_the_documented_example_and_others(run: Run) -> None:
    """The first three are the reference's own; the others are from public pages about it."""
    values = ["1footrue", "2applefalse", "3true", "alphabet", "foo", "bar", "baz"]
    assert run(f"SELECT FARM_FINGERPRINT(x) FROM UNNEST({values}) x WITH OFFSET i ORDER BY i") == [
        (-1541654101129638711,),
        (2794438866806483259,),
        (-4880158226897771312,),
        (-2427165924636348523,),
        (6150913649986995171,),
        (-98778129085727977,),
        (3758908700204700005,),
    ]
    assert run("SELECT FARM_FINGERPRINT(b'foo'), FARM_FINGERPRINT(CAST(NULL AS STRING))") == [
        (6150913649986995171, None)
    ]
    with pytest.raises(BadRequest):
        run("SELECT FARM_FINGERPRINT(12)")


def test_the_usual_split_of_a_table(run: Run) -> None:
    run(
        "CREATE TABLE rides AS"
        " SELECT CAST(i AS STRING) AS id FROM UNNEST(GENERATE_ARRAY(1, 1000)) i"
    )
    split = "MOD(ABS(FARM_FINGERPRINT(id)), 10)"
    train = run(f"SELECT id FROM rides WHERE {split} < 8")
    test = run(f"SELECT id FROM rides WHERE {split} >= 8")
    expected = [str(i) for i in range(1, 1001) if abs(fingerprint(str(i).encode())) % 10 < 8]
    assert sorted(one for (one,) in train) == sorted(expected)
    assert len(train) + len(test) == 1000
    assert 150 < len(test) < 250
