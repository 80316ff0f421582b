"""The diagrams: up to date, well-formed, described, legible everywhere, true to the SDKs' words."""

from __future__ import annotations

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

from lesson.runs import COLUMNS
from tools.figures import drawing, job_states
from tools.figures.__main__ import FIGURES, FOLDER, main
from tools.folder import ROOT

FILES = sorted((ROOT / FOLDER).glob("*.svg"))
PLOTS = sorted((ROOT / "lesson").glob("*plots.py"))
COLOURS = {
    drawing.INK,
    drawing.PAPER,
    drawing.GROUND,
    drawing.STORE,
    drawing.MIDDLE,
    drawing.DARK,
    drawing.DOTS,
    drawing.LINES,
    "none",
}


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


def rectangle(element: ElementTree.Element) -> Area:
    x, y, width, height = (float(element.get(name, 0)) for name in ("x", "y", "width", "height"))
    return Area(x, y, x + width, y + height)


def ink(element: ElementTree.Element) -> Area:
    """What a text covers in DejaVu Sans, the widest of the common sans-serif fonts."""
    weight = element.get("font-weight", "normal")
    font = FontProperties(family="DejaVu Sans", weight=weight)  # comes with matplotlib
    path = TextPath((0, 0), element.text or "", size=drawing.TYPE, prop=font)
    extent = path.get_extents()
    x, y = float(element.get("x", 0)), float(element.get("y", 0))
    left = {"start": x, "middle": x - extent.width / 2, "end": x - extent.width}
    start = left[element.get("text-anchor", "")]
    return Area(start, y - extent.y1, start + extent.width, y - extent.y0)


def lines(element: ElementTree.Element) -> list[Area]:
    """The straight pieces of a path of M and L."""
    if "A" in element.get("d", "") or "V" in element.get("d", ""):
        return []
    points = [
        (float(x), float(y)) for x, y in re.findall(r"([\d.]+),([\d.]+)", element.get("d", ""))
    ]
    half = drawing.STROKE / 2
    return [
        Area(min(a, c) - half, min(b, d) - half, max(a, c) + half, max(b, d) + half)
        for (a, b), (c, d) in pairwise(points)
    ]


def illegible(picture: ElementTree.Element) -> list[str]:
    """Every text that sticks out of its box, meets another text or a line, or is too pale."""
    found = []
    boxes: list[tuple[Area, str]] = []
    shapes = [each for each in picture if each.tag in ("rect", "path", "text")]
    texts = [(each, ink(each)) for each in shapes if each.tag == "text"]
    strokes = [line for each in shapes if each.tag == "path" for line in lines(each)]
    for shape in shapes:
        if shape.tag == "rect":
            boxes.append((rectangle(shape), shape.get("fill", "")))
        if shape.tag != "text":
            continue
        area = ink(shape)
        middle = Area(*[(area.left + area.right) / 2, (area.top + area.bottom) / 2] * 2)
        box, ground = [each for each in boxes if each[0].holds(middle)][-1]
        inside = Area(box.left + 2, box.top + 2, box.right - 2, box.bottom - 2)
        others = [other for text, other in texts if text is not shape]
        if not inside.holds(area):
            found.append(f"{shape.text} sticks out")
        if any(area.meets(other) for other in [*others, *strokes]):
            found.append(f"{shape.text} is crossed")
        if contrast(shape.get("fill", ""), ground) < 4.5:
            found.append(f"{shape.text} is too pale")
    return found


def contrast(one: str, other: str) -> float:
    """The ratio of the Web Content Accessibility Guidelines, 2.2."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def words(picture: ElementTree.Element) -> list[str]:
    return [each.text or "" for each in picture.iter("text")]


def test_the_pictures_in_git_are_what_the_source_draws() -> None:
    assert {path.name for path in FILES} == set(FIGURES)
    assert main(["--check"]) == 0


def test_a_stale_and_a_missing_picture_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path)]) == 0
    assert main(["--check", str(tmp_path)]) == 0
    first, second, *_ = sorted((tmp_path / FOLDER).glob("*.svg"))
    first.write_text("<svg/>")
    second.unlink()
    capsys.readouterr()
    assert main(["--check", str(tmp_path)]) == 1
    said = capsys.readouterr().out
    assert said.count("make notebooks") == 2
    assert first.name in said and second.name in said


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_picture_is_described_and_every_text_of_it_can_be_read(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    picture = tree(text)
    assert picture.get("role") == "img"
    assert picture.get("aria-labelledby") == "title desc"
    assert len(picture.findtext("title") or "") > 10
    assert len(picture.findtext("desc") or "") > 200
    assert picture.get("viewBox") == f"0 0 {drawing.WIDTH} {picture.get('height')}"
    assert len(words(picture)) > 15
    assert illegible(picture) == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_picture_has_few_colours_one_font_and_one_size_of_type(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    picture = tree(text)
    found = {each.get(kind) for each in picture.iter() for kind in ("fill", "stroke")} - {None}
    assert found <= COLOURS
    assert re.findall(r'font-family="(.*?)"', text) == ["sans-serif"]
    assert re.findall(r'font-size="(.*?)"', text) == [str(drawing.TYPE)]
    assert "<style" not in text  # a picture does not know the colours of the page
    ground = next(iter(picture.iterfind("rect")))
    assert (ground.get("fill"), rectangle(ground)[2:]) == (
        drawing.PAPER,
        (drawing.WIDTH, float(picture.get("height", 0))),
    )
    assert drawing.TYPE * 700 / drawing.WIDTH > 17  # of a page's text
    assert drawing.TYPE * 360 / drawing.WIDTH > 11


@pytest.mark.parametrize("path", PLOTS, ids=lambda path: path.stem)
def test_what_the_lesson_plots_can_be_seen_on_white(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    # Pale fills are only those of bars, which have a black edge and, to tell them apart, a hatch.
    plain = [line for line in source.split("\n") if "hatch" not in line]
    colours = re.findall(r"#[0-9a-f]{6}", "\n".join(plain))
    assert colours and all(contrast(colour, drawing.PAPER) >= 4.5 for colour in colours)


def test_a_text_that_cannot_be_read_is_found() -> None:
    bad = drawing.Drawing("A title", "A description", height=200)
    bad.label(20, 20, 100, 40, "far too long for it")
    bad.text(300, 60, "crossed")
    bad.arrow((280, 60), (400, 60))
    bad.text(300, 120, "pale", fill=drawing.MIDDLE)
    bad.text(630, 160, "outside")
    assert illegible(tree(bad.svg())) == [
        "far too long for it sticks out",
        "crossed is crossed",
        "pale is too pale",
        "outside sticks out",
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


def test_the_words_for_a_jobs_states_are_the_services_own() -> None:
    vertex = {state.name.removeprefix("PIPELINE_STATE_") for state in PipelineState}
    client = boto3.client("sagemaker", region_name="us-east-1")
    shape = client.meta.service_model.shape_for
    sagemaker = {*shape("SecondaryStatus").enum, *shape("TrainingJobStatus").enum}
    columns: dict[str, set[str]] = {}
    for text in tree(job_states.draw().svg()).iter("text"):
        columns.setdefault(text.get("x", ""), set()).add(text.text or "")
    middles = (f"{x + job_states.WORDS / 2:g}" for x in (job_states.VERTEX, job_states.SAGEMAKER))
    google, amazon = (columns[middle] for middle in middles)
    assert google - vertex == {"Vertex AI"}
    assert amazon - sagemaker == {"SageMaker"}
    assert {"RUNNING", "FAILED"} < google and {"Training", "Failed"} < amazon
    seconds = columns[f"{job_states.SECONDS:g}"]
    assert seconds == {"queued", "starting", "training"} and seconds < set(COLUMNS)
