"""multipart/related bodies, however they are cut into pieces on the way."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_cloud.google.multipart import BadBody, Related

TYPE = 'multipart/related; boundary="==1=="'


def body(metadata: bytes, media: bytes) -> bytes:
    return (
        b"--==1==\r\ncontent-type: application/json; charset=UTF-8\r\n\r\n"
        + metadata
        + b"\r\n--==1==\r\ncontent-type: text/csv\r\n\r\n"
        + media
        + b"\r\n--==1==--"
    )


MEDIA = st.binary(max_size=200) | st.lists(
    st.sampled_from([b"\r", b"\n", b"\r\n", b"--", b"\r\n--==1=", b"==1==", b"x"])
).map(b"".join).filter(lambda media: b"\r\n--==1==" not in b"\r\n" + media)


@given(MEDIA, st.integers(1, 60), st.sampled_from([b"", b"\r\n", b"\r\nepilogue"]))
def test_the_media_comes_out_as_it_went_in(media: bytes, size: int, epilogue: bytes) -> None:
    whole = body(b'{"name": "a"}', media) + epilogue
    related = Related(TYPE)
    pieces = [whole[at : at + size] for at in range(0, len(whole), size)]
    assert b"".join(map(related.feed, pieces)) == media
    related.finish()
    assert (related.metadata, related.content_type) == (b'{"name": "a"}', "text/csv")


@given(st.integers(1, 60))
def test_lines_may_end_as_gcloud_ends_them(size: int) -> None:
    """With LF alone, and the boundary in single quotes."""
    whole = body(b'{"name": "a"}', b"a,b\n1,2\n").replace(b"\r\n", b"\n")
    related = Related("multipart/related; boundary='==1=='")
    pieces = [whole[at : at + size] for at in range(0, len(whole), size)]
    assert b"".join(map(related.feed, pieces)) == b"a,b\n1,2\n"
    related.finish()
    assert (related.metadata, related.content_type) == (b'{"name": "a"}', "text/csv")


@given(st.integers(0, len(body(b"{}", b"media")) - 3))
def test_a_body_that_ends_early_is_refused(end: int) -> None:
    related = Related(TYPE)
    related.feed(body(b"{}", b"media")[:end])
    with pytest.raises(BadBody, match="ends before"):
        related.finish()


@pytest.mark.parametrize(
    "content_type",
    ["", "text/plain", "multipart/related", "multipart/mixed", 'multipart/related; boundary=""'],
)
def test_another_type_is_refused(content_type: str) -> None:
    with pytest.raises(BadBody):
        Related(content_type)


def test_endless_metadata_are_refused() -> None:
    related = Related(TYPE)
    with pytest.raises(BadBody, match="exceeds"):
        for _ in range(100):
            related.feed(b"x" * 100_000)
