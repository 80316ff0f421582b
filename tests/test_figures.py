"""The diagrams in episodes/fig: alike, described, legible everywhere, true to code and SDKs."""

from __future__ import annotations

import csv
import functools
import re
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import boto3
import pytest
from google.cloud.aiplatform_v1.types import PipelineState
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextPath
from matplotlib.transforms import Bbox

from lesson.show.run_table import FIRST
from tools.copies import files
from tools.pages.folder import ROOT

FOLDER = ROOT / "episodes" / "fig"
FILES = sorted(FOLDER.glob("*.svg"))
PLOTS = sorted((ROOT / "lesson").rglob("*plots.py"))

WIDTH = 640  # of every picture: a line has about fifty letters
TYPE = 20  # in a picture at full width larger than a page's text, and 11 px on a screen of 360 px
HALF_STROKE = 1
INK, PAPER = "#1c242c", "#ffffff"


class Area(NamedTuple):
    left: float
    top: float
    right: float
    bottom: float

    def holds(self, other: Area) -> bool:
        return (
            self.left <= other.left
            and self.top <= other.top
            and other.right <= self.right
            and other.bottom <= self.bottom
        )

    def meets(self, other: Area) -> bool:
        return (
            self.left < other.right
            and other.left < self.right
            and self.top < other.bottom
            and other.top < self.bottom
        )


def tree(text: str) -> ElementTree.Element:
    return ElementTree.fromstring(text.replace(' xmlns="http://www.w3.org/2000/svg"', ""))


def picture(name: str) -> ElementTree.Element:
    return tree((FOLDER / name).read_text(encoding="utf-8"))


def shapes(drawn: ElementTree.Element) -> list[ElementTree.Element]:
    """All that is drawn, from the bottom to the top."""
    parts = [part for part in drawn if part.tag not in ("title", "desc", "style", "defs")]
    return [shape for part in parts for shape in part.iter() if shape.tag != "g"]


def classes(shape: ElementTree.Element) -> list[str]:
    return shape.get("class", "").split()


def style(drawn: ElementTree.Element) -> str:
    return drawn.findtext("style") or ""


def fill(shape: ElementTree.Element, drawn: ElementTree.Element) -> str:
    """The colour that the picture's style gives a text or a box."""
    colours = dict(re.findall(r"\.([\w-]+) \{ fill: (.*?)[;}]", style(drawn)))
    named = [colours[name] for name in classes(shape) if name in colours]
    return named[0] if named else {"text": INK, "rect": PAPER}[shape.tag]


def rectangle(element: ElementTree.Element) -> Area:
    x, y, width, height = (float(element.get(name, 0)) for name in ("x", "y", "width", "height"))
    return Area(x, y, x + width, y + height)


@functools.cache
def measure(words: str, weight: str) -> Bbox:
    font = FontProperties(family="DejaVu Sans", weight=weight)  # comes with matplotlib
    return TextPath((0, 0), words, size=TYPE, prop=font).get_extents()


def ink(text: ElementTree.Element) -> Area:
    """What a text covers in DejaVu Sans, the widest of the common sans-serif fonts."""
    extent = measure(text.text or "", "bold" if "bold" in classes(text) else "normal")
    x, y = float(text.get("x", 0)), float(text.get("y", 0))
    start = x - extent.width / 2
    if "left" in classes(text):
        start = x
    if "right" in classes(text):
        start = x - extent.width
    return Area(start, y - extent.y1, start + extent.width, y - extent.y0)


def lines(path: ElementTree.Element) -> list[Area]:
    """The pieces of a path, all of which run along x or y."""
    (start, *steps) = (path.get("d") or "").split()
    x, y = (float(number) for number in start.removeprefix("M").split(","))
    points = [(x, y)]
    for step in steps:
        if step[0] == "H":
            x = float(step[1:])
        else:
            assert step[0] == "V", f"{step} in {path.get('d')} is neither H nor V"
            y = float(step[1:])
        points.append((x, y))
    return [
        Area(
            min(a, c) - HALF_STROKE,
            min(b, d) - HALF_STROKE,
            max(a, c) + HALF_STROKE,
            max(b, d) + HALF_STROKE,
        )
        for (a, b), (c, d) in pairwise(points)
    ]


def illegible(drawn: ElementTree.Element) -> list[str]:
    """Every text that sticks out of its box, meets another text or a line, or is too pale."""
    faults = []
    boxes: list[tuple[Area, str]] = []
    texts = [(each, ink(each)) for each in shapes(drawn) if each.tag == "text"]
    strokes = [line for each in shapes(drawn) if each.tag == "path" for line in lines(each)]
    for shape in shapes(drawn):
        if shape.tag == "rect":
            boxes.append((rectangle(shape), fill(shape, drawn)))
        if shape.tag != "text":
            continue
        area = ink(shape)
        middle = Area(*[(area.left + area.right) / 2, (area.top + area.bottom) / 2] * 2)
        box, ground = [each for each in boxes if each[0].holds(middle)][-1]
        inside = Area(box.left + 2, box.top + 2, box.right - 2, box.bottom - 2)
        others = [other for text, other in texts if text is not shape]
        if not inside.holds(area):
            faults.append(f"{shape.text} sticks out")
        if any(area.meets(other) for other in [*others, *strokes]):
            faults.append(f"{shape.text} is crossed")
        if ground.startswith("url"):
            faults.append(f"{shape.text} is on a pattern")
        elif contrast(fill(shape, drawn), ground) < 4.5:
            faults.append(f"{shape.text} is too pale")
    return faults


def contrast(one: str, other: str) -> float:
    """The ratio of the Web Content Accessibility Guidelines, 2.2."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def words(drawn: ElementTree.Element) -> list[str]:
    return [each.text or "" for each in drawn.iter("text")]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_picture_is_described_and_every_text_of_it_can_be_read(path: Path) -> None:
    drawn = picture(path.name)
    assert drawn.get("role") == "img"
    assert drawn.get("aria-labelledby") == "title desc"
    assert len(drawn.findtext("title") or "") > 10
    assert len(drawn.findtext("desc") or "") > 200
    assert drawn.get("viewBox") == f"0 0 {WIDTH} {drawn.get('height')}"
    assert len(words(drawn)) > 15
    assert illegible(drawn) == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_all_pictures_have_one_style_and_nothing_beside_it(path: Path) -> None:
    drawn = picture(path.name)
    assert style(drawn) == style(picture(FILES[0].name))
    known = set(re.findall(r"\.([\w-]+)", style(drawn)))
    drawn_classes = {name for each in drawn.iter() for name in classes(each)}
    assert drawn_classes <= known
    attributes = {name for each in shapes(drawn) for name in each.attrib}
    assert attributes <= {"class", "d", "x", "y", "width", "height", "rx", "ry", "cx", "cy"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_picture_looks_the_same_on_a_light_page_and_on_a_dark_one(path: Path) -> None:
    drawn = picture(path.name)
    ground = shapes(drawn)[0]
    assert classes(ground) == ["paper"] and fill(ground, drawn) == PAPER
    assert rectangle(ground) == (0, 0, WIDTH, float(drawn.get("height", 0)))
    assert "@media" not in style(drawn)


def test_the_type_of_a_picture_is_large_enough_on_a_page_and_on_a_telephone() -> None:
    assert f"font: {TYPE}px sans-serif" in style(picture(FILES[0].name))
    assert TYPE * 700 / WIDTH > 17  # of a page's text
    assert TYPE * 360 / WIDTH > 11


@pytest.mark.parametrize("path", PLOTS, ids=lambda path: path.stem)
def test_what_the_lesson_plots_can_be_seen_on_white(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    # Pale fills are only those of bars, which have a black edge and, to tell them apart, a hatch.
    plain = [line for line in source.split("\n") if "hatch" not in line]
    colours = re.findall(r"#[0-9a-f]{6}", "\n".join(plain))
    assert colours and all(contrast(colour, PAPER) >= 4.5 for colour in colours)


def test_a_text_that_cannot_be_read_is_found() -> None:
    bad = tree(
        """<svg>
          <style>.dark { fill: #0b5394; } .hatched { fill: url(#hatched); }</style>
          <rect width="640" height="200"/>
          <rect x="20" y="20" width="100" height="40"/>
          <text x="70" y="47">far too long for it</text>
          <text x="300" y="67">crossed</text>
          <path d="M280,60 H400"/>
          <rect class="dark" x="200" y="100" width="200" height="40"/>
          <text x="300" y="127">too dark</text>
          <text x="630" y="167">outside</text>
          <rect class="hatched" x="20" y="150" width="200" height="40"/>
          <text x="120" y="177">hatched</text>
        </svg>"""
    )
    assert illegible(bad) == [
        "far too long for it sticks out",
        "crossed is crossed",
        "too dark is too pale",
        "outside sticks out",
        "hatched is on a pattern",
    ]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_page_shows_each_picture_and_says_what_can_be_seen(path: Path) -> None:
    texts = _descriptions("episodes", f"fig/{path.name}")
    others = _descriptions("instructors", f"../episodes/fig/{path.name}")
    assert texts or others
    assert all(len(text) > 200 for text in texts + others)
    for name in ("notebooks", "notebooks/instructor"):
        notebooks = [page.read_text("utf-8") for page in (ROOT / name).glob("*.ipynb")]
        up = "../" * len(Path(name).parts)
        assert sum(f"]({up}episodes/fig/{path.name})" in each for each in notebooks) == len(texts)


def _descriptions(folder: str, address: str) -> list[str]:
    """What the pages of this folder say of the picture, each time that they show it."""
    image = re.compile(rf'^!\[.+\]\({re.escape(address)}\)\{{alt="([^"]+)"\}}$', re.MULTILINE)
    pages = [page.read_text("utf-8") for page in (ROOT / folder).glob("*.md")]
    return image.findall("\n".join(pages))


def test_the_python_files_that_a_picture_names_exist() -> None:
    existing = {f"/{name}" for name in files(ROOT)}
    named = {
        (path.name, file)
        for path in FILES
        for file in re.findall(r"[\w/]+\.py\b", path.read_text(encoding="utf-8"))
    }
    assert len(named) > 5
    missing = [
        (shown, file)
        for shown, file in named
        if not any(name.endswith(f"/{file}") for name in existing)
    ]
    assert missing == []


@pytest.mark.parametrize(
    ("part", "elsewhere"), [("google", {"definitions"}), ("amazon", set()), ("engine", set())]
)
def test_the_picture_of_the_local_cloud_has_the_folders_of_each_part(
    part: str, elsewhere: set[str]
) -> None:
    groups = {group.get("id"): words(group) for group in picture("architecture.svg").iter("g")}
    title, *names = groups[part]
    assert title == part
    paths = {
        path.name
        for path in (ROOT / "local-cloud/src/local_cloud" / part).iterdir()
        if any(path.glob("*.py"))
    }
    folders = {name for name in paths if not Path(name).suffix}
    assert {name for line in names for name in line.rstrip(",").split(", ")} == folders - elsewhere


def test_the_rows_in_the_picture_of_the_split_are_those_of_the_tables() -> None:
    drawn = picture("data-split.svg")
    assert f"titanic_train.csv: {_rows('titanic_train.csv')} rows" in words(drawn)
    assert f"titanic_test.csv: {_rows('titanic_test.csv')} other rows" in words(drawn)
    training, validation = (
        int(text.split()[0]) for text in words(drawn) if re.fullmatch(r"\d+ rows:.*", text)
    )
    assert training + validation == _rows("titanic_train.csv")
    bar = next(each for each in shapes(drawn) if classes(each) == ["hatched"])
    both = WIDTH - 2 * rectangle(bar).left
    assert rectangle(bar).right - rectangle(bar).left == round(
        both * training / (training + validation)
    )


def _rows(table: str) -> int:
    with (ROOT / "data" / table).open(newline="", encoding="utf-8") as file:
        return sum(1 for _ in csv.DictReader(file))


def test_the_words_for_a_jobs_states_are_the_services_own() -> None:
    vertex = {state.name.removeprefix("PIPELINE_STATE_") for state in PipelineState}
    client = boto3.client("sagemaker", region_name="us-east-1")
    shape = client.meta.service_model.shape_for
    sagemaker = {*shape("SecondaryStatus").enum, *shape("TrainingJobStatus").enum}
    columns = {group.get("id"): set(words(group)) for group in picture("job-states.svg").iter("g")}
    google, amazon = columns["vertex-ai"], columns["sagemaker"]
    assert google - vertex == {"Vertex AI"}
    assert amazon - sagemaker == {"SageMaker"}
    assert {"RUNNING", "FAILED"} < google and {"Training", "Failed"} < amazon
    seconds = columns["run-table"] - {"Run table", "counts as"}
    assert seconds == {"queued", "starting", "training"} and seconds < set(FIRST)
