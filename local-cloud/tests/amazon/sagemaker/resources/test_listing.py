"""Pages of a list: so many items, and so many bytes."""

from __future__ import annotations

import pytest

from local_cloud.amazon.sagemaker.resources import listing

SIZES = {"x": 40, "y": 40, "z": 40, "w": 400, "v": 1}


def test_a_page_has_so_many_bytes_at_most_and_one_item_at_least(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(listing, "PAGE_BYTES", 150)
    items = [{"Name": name * count} for name, count in SIZES.items()]
    pages, token = [], {}
    while True:
        answer = listing.page(items, {"MaxResults": 100} | token, "Things")
        pages.append([item["Name"][0] for item in answer["Things"]])
        if "NextToken" not in answer:
            break
        token = {"NextToken": answer["NextToken"]}
    assert pages == [["x", "y"], ["z"], ["w"], ["v"]]
