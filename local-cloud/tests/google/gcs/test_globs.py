"""Lists of the names that match a glob, by the client's own call and by the rules said again."""

from __future__ import annotations

import itertools

import pytest
from google.api_core.exceptions import BadRequest
from google.cloud import storage
from hypothesis import example, given
from hypothesis import strategies as st

from local_cloud.google.gcs import globs

IMAGES = [
    "img/brand.jpg",
    "img/empty-dir/readme.txt",
    "img/hi-res/deep/party-09.jpg",
    "img/hi-res/party-01.jpg",
    "img/hi-res/party-02.jpg",
    "img/low-res/party-01.jpg",
]


def put(bucket: storage.Bucket, names: list[str]) -> None:
    for name in names:
        bucket.blob(name).upload_from_string("")


# The right values are the service's, as a public report lists them (fake-gcs-server, 2328).
@pytest.mark.parametrize(
    ("glob", "expected"),
    [
        ("img/*.jpg", ["img/brand.jpg"]),
        ("img/**.jpg", [name for name in IMAGES if name.endswith("jpg")]),
        ("img/**/party-0[^2-9].jpg", ["img/hi-res/party-01.jpg", "img/low-res/party-01.jpg"]),
        ("img/**/b*.jpg", ["img/brand.jpg"]),  # **/ is also no folder at all
        ("img/??-res/party-0[12].jpg", ["img/hi-res/party-01.jpg", "img/hi-res/party-02.jpg"]),
        ("img/{hi,low}-res/*1.jpg", ["img/hi-res/party-01.jpg", "img/low-res/party-01.jpg"]),
        ("{img,x}/{b*,{empty-dir/*,y}}", ["img/brand.jpg", "img/empty-dir/readme.txt"]),
        ("brand.jpg", []),  # the whole name must match
    ],
)
def test_a_glob_selects_names(bucket: storage.Bucket, glob: str, expected: list[str]) -> None:
    put(bucket, IMAGES)
    assert [blob.name for blob in bucket.list_blobs(match_glob=glob)] == expected


@pytest.mark.parametrize(
    ("glob", "names", "prefixes"),
    [
        ("img/**.jpg", ["img/brand.jpg"], set()),
        ("img/*/", [], {"img/empty-dir/", "img/hi-res/", "img/low-res/"}),
    ],
)
def test_with_a_delimiter_the_common_beginnings_themselves_must_match(
    bucket: storage.Bucket, glob: str, names: list[str], prefixes: set[str]
) -> None:
    put(bucket, IMAGES)
    blobs = bucket.list_blobs(prefix="img/", delimiter="/", match_glob=glob)
    assert ([blob.name for blob in blobs], blobs.prefixes) == (names, prefixes)
    with pytest.raises(BadRequest, match="delimiter must be '/'"):
        list(bucket.list_blobs(delimiter="-", match_glob=glob))


def test_pages_of_a_glob_have_each_name_once(bucket: storage.Bucket) -> None:
    put(bucket, [f"{number}.{kind}" for number in range(7) for kind in ("csv", "txt")])
    pages = bucket.list_blobs(match_glob="*.csv", page_size=3).pages
    assert [[blob.name[0] for blob in page] for page in pages] == [
        ["0", "1", "2"],
        ["3", "4", "5"],
        ["6"],
    ]


@pytest.mark.parametrize(
    ("glob", "words"),
    [
        ("a/[bc", "no closing ']' for opening '\\[' at index 2"),
        ("a/{b,c", "opening '{' at index 2 has no closing '}'"),
        ("a/[]", "class at index 2 must have at least one character"),
        ("a/[!]", "class at index 2 must have at least one character"),
        ("a/b]", "closing character class '\\]' at index 3 without any previous opening"),
        ("a/b}", "closing '}' at index 3 has no previous opening '{'"),
    ],
)
def test_a_glob_that_cannot_be_read_is_refused_in_the_service_s_words(
    bucket: storage.Bucket, glob: str, words: str
) -> None:
    with pytest.raises(BadRequest, match=words):
        list(bucket.list_blobs(match_glob=glob))


# The rules said again: braces are written out first, then each rule takes the front of the pattern
# and tries every way.

SIMPLE = st.sampled_from(
    ["a", "b", "/", "*", "**", "**/", "/**/", "?", "[ab]", "[!a]", "[a-b]", "\\*", ","]
)
PATTERNS = st.recursive(
    st.lists(SIMPLE, max_size=4).map("".join),
    lambda inner: st.builds("{{{},{}}}{}".format, inner, inner, inner),
    max_leaves=4,
)
NAMES = st.text("ab/*,", max_size=6)


def spell_out(pattern: str) -> list[str]:
    """All patterns without braces that one with braces stands for."""
    start = pattern.find("{")
    if start < 0:
        return [pattern]
    depth, cuts = 0, [start]
    for at in range(start, len(pattern)):
        depth += {"{": 1, "}": -1}.get(pattern[at], 0)
        if depth == 0 or (depth == 1 and pattern[at] == ","):
            cuts.append(at)
        if depth == 0:
            break
    branches = [pattern[a + 1 : b] for a, b in itertools.pairwise(cuts)]
    return [
        one
        for each in branches
        for one in spell_out(pattern[:start] + each + pattern[cuts[-1] + 1 :])
    ]


def fits(pattern: str, name: str, before: str = "/") -> bool:
    """Whether a name fits a pattern without braces; before: the pattern's character before it."""
    if not pattern:
        return not name
    if pattern.startswith("**"):
        rest = pattern.lstrip("*")
        if before == "/" and rest.startswith("/"):
            beginnings = [0, *(at + 1 for at, letter in enumerate(name) if letter == "/")]
            return any(fits(rest[1:], name[at:]) for at in beginnings)
        return any(fits(rest, name[at:], "*") for at in range(len(name) + 1))
    if pattern[0] == "*":
        segment = len(name.split("/")[0])
        return any(fits(pattern[1:], name[at:], "*") for at in range(segment + 1))
    one, rest = pattern[0], pattern[1:]
    allowed = {one}
    if one == "?":
        allowed = set("ab*,")
    elif one == "\\":
        allowed, rest = {rest[0]}, rest[1:]
    elif one == "[":
        inside, _, rest = rest.partition("]")
        allowed = {"ab": set("ab"), "a-b": set("ab"), "!a": set("b*,")}[inside]
    return bool(name) and name[0] in allowed and fits(rest, name[1:], pattern[-len(rest) - 1])


@given(pattern=PATTERNS, name=NAMES)
@example("a/**/b", "a/b")
@example("{a,b/**/}a", "b/a")
@example("{,}**/", "")  # braces are written out before anything else
@example("{a/,b}**/a", "a/a")
@example("{a/,b}**/a", "ba")
@example("{**/,b}a", "a")
@example("a{**/,b}a", "aa")
@example("{**,b}/a", "a")
@example("{*,b}*/a", "a")
def test_every_name_matches_as_the_rules_say(pattern: str, name: str) -> None:
    expected = any(fits(one, name) for one in spell_out(pattern))
    assert globs.read(pattern).matches(name) == expected


def test_no_pattern_takes_long() -> None:
    assert not globs.read("*a" * 400 + "b").matches("a" * 1000)
    assert not globs.read("{a,aa,*}" * 100 + "b").matches("a" * 1000)
