"""What predict() sends, as JSON can hold it, and what an endpoint costs."""

from __future__ import annotations

import numpy as np
import pandas as pd

from lesson.money.costs import Estimate, Price, PriceUnknown, estimate
from lesson.services.serving import as_list, billing, whole_classes


def test_rows_of_a_table_become_lists_and_every_kind_of_gap_none() -> None:
    ages = pd.DataFrame({"Age": [22.0, None], "Sex": ["male", "female"]})
    expected = [{"Age": 22, "Sex": "male"}, {"Age": None, "Sex": "female"}]
    assert as_list(ages.to_dict("records")) == expected
    assert as_list(ages.convert_dtypes().to_dict("records")) == expected
    assert as_list(np.array([[1.5, np.nan]])) == [[1.5, None]]
    assert as_list([None, pd.NaT, pd.NA, "NA"]) == [None, None, None, "NA"]


def test_classes_become_whole_numbers_where_there_are_classes() -> None:
    assert whole_classes([{"probability": 0.9, "class": 1.0}, {"value": 2.5}, 0.9]) == [
        {"probability": 0.9, "class": 1},
        {"value": 2.5},
        0.9,
    ]


def test_what_bills_says_its_price_a_day_if_it_is_known() -> None:
    def unknown() -> Estimate:
        raise PriceUnknown("no price")

    box = Price(0.25, "https://example.org/prices", "2026-10-07", "as on the page")
    assert billing(lambda: estimate(("box", box))) == "bills about $6.00 a day"
    assert billing(unknown) == "bills by the hour"
