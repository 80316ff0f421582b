"""What `make bench` of the lesson writes where, and what its numbers are made of."""

from testing.sections import replace
from tools.benchmarks.__main__ import README, SECTIONS
from tools.benchmarks.script import operations_per_row


def test_each_section_has_its_place_on_the_page_in_their_order() -> None:
    page = README.read_text(encoding="utf-8")
    places = [page.index(f"<!-- section {name},") for name in SECTIONS]
    assert places == sorted(places)
    assert all("### New" in replace(page, name, "### New\n") for name in SECTIONS)


def test_operations_of_a_row_count_three_products_for_each_layer_but_two_for_the_first() -> None:
    assert operations_per_row([64, 32]) == 4 * 7 * 64 + 6 * (64 * 32 + 32)
