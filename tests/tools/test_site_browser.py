"""The site in a real browser, opened as files: search, switches, contrast, keyboard, links, phones.

Needs Chromium or Chrome, found by name or named by the variable CHROMIUM.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from testing.axe import VIOLATIONS
from testing.browser import Browser
from tools.pages.folder import ROOT
from tools.site.build import write

pytestmark = pytest.mark.slow

TYPE = 20  # of every diagram: tests/test_figures.py

SETTLED = "new Promise((done) => setTimeout(done, 100))"  # frames have the size of the screen
OPEN_ALL = "document.querySelectorAll('details').forEach(box => { box.open = true; })"

# Every text whose contrast with what is behind it is below 4.5.
CONTRAST = """(() => {
  const context = new OffscreenCanvas(1, 1).getContext("2d", {willReadFrequently: true});
  const known = new Map();
  const rgba = (colour) => {  // any CSS colour as [red, green, blue, alpha]
    if (!known.has(colour)) {
      context.clearRect(0, 0, 1, 1);
      context.fillStyle = colour;
      context.fillRect(0, 0, 1, 1);
      const data = context.getImageData(0, 0, 1, 1).data;
      known.set(colour, [data[0], data[1], data[2], data[3] / 255]);
    }
    return known.get(colour);
  };
  const over = (top, below) =>
    [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
  const behind = (element) => {
    const layers = [];
    for (let each = element; each; each = each.parentElement) {
      const colour = rgba(getComputedStyle(each).backgroundColor);
      layers.push(colour);
      if (colour[3] === 1) break;
    }
    const dark = matchMedia("(prefers-color-scheme: dark)").matches;
    return layers.reverse().reduce((below, top) => over(top, below),
                                   dark ? [0, 0, 0, 1] : [255, 255, 255, 1]);
  };
  const light = (colour) => {
    const [r, g, b] = colour.map((v) => v / 255)
      .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ratio = (a, b) => {
    const [high, low] = [light(a), light(b)].sort((x, y) => y - x);
    return (high + 0.05) / (low + 0.05);
  };
  const found = [];
  let looked = 0;
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement;
    const words = texts.currentNode.data.trim();
    if (!words || element.matches("script, style") || !element.checkVisibility()) continue;
    const back = behind(element);
    const value = ratio(over(rgba(getComputedStyle(element).color), back), back);
    looked += 1;
    if (value < 4.5) found.push(`${value.toFixed(2)}: <${element.tagName}> ${words}`);
  }
  return {looked, found};
})()"""

# What sticks out of a page that is too wide for the screen.
TOO_WIDE = """(() => {
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= width) return [];
  return [...document.querySelectorAll("body *")]
    .filter((e) => e.getBoundingClientRect().right > width && !e.closest("pre, .table-wrapper"))
    .map((e) => `${e.tagName}.${e.className}: ${e.textContent.slice(0, 60)}`)
    .concat(`${document.documentElement.scrollWidth} px`);
})()"""

# Headings that leave a level out.
JUMPS = """(() => {
  const levels = [...document.querySelectorAll("h1, article :is(h2, h3, h4, h5, h6)")]
    .map((e) => [Number(e.tagName[1]), e.textContent]);
  return levels.filter(([level], i) => level > (levels[i - 1]?.[0] ?? 0) + 1);
})()"""

# What is cut at its edge, though it has room to be read whole.
CUT = """[...document.querySelectorAll(".table-wrapper, .wrapped pre")]
  .filter((e) => e.scrollWidth > e.clientWidth).map((e) => e.textContent.slice(0, 60))"""

# The pixels that a unit of each diagram takes.
SCALES = """[...document.querySelectorAll("figure img[src$='.svg']")].map(async (image) => {
  await image.decode();
  return image.getBoundingClientRect().width / image.naturalWidth;
})"""

# Whether a frame scrolls, and whether it can have the focus under a name.
FRAMES = """[...document.querySelectorAll("pre, .table-wrapper, .picture")].map((e) =>
  [e.scrollWidth > e.clientWidth, e.tabIndex === 0 && e.role === "group" && !!e.ariaLabel])"""

LINKS = """({
  ids: [...document.querySelectorAll("[id]")].map((e) => e.id),
  fetched: performance.getEntriesByType("resource").map((each) => each.name),
  links: [...document.links].filter((a) => a.protocol === "file:")
    .map((a) => [a.pathname, decodeURIComponent(a.hash.slice(1))]),
  broken: [...document.images].filter((i) => !i.naturalWidth && !i.src.endsWith(".svg"))
    .map((i) => i.src),
})"""

# A name for what the keyboard can reach, in order.
STOPS = """(() => {
  const name = (e) => `${e.tagName} ${e.className} ${e.textContent.trim().slice(0, 60)}`;
  window.nameOf = name;
  return [...document.querySelectorAll(
    "a[href], button, summary, input:not([type='hidden']), [tabindex='0']"
  )].filter((e) => e.checkVisibility({visibilityProperty: true})).map(name);
})()"""
FOCUSED = """(() => {
  const style = getComputedStyle(document.activeElement);
  return [nameOf(document.activeElement), style.outlineStyle, parseFloat(style.outlineWidth)];
})()"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("the site")  # blanks are met in real paths
    write(ROOT, folder)
    return folder


@pytest.fixture
def episode(site: Path) -> Path:
    """An episode with all that an episode can have."""
    return next(site.glob("04-*.html"))


def pages(site: Path) -> list[Path]:
    pages_there = sorted([*site.glob("*.html"), *(site / "instructor").glob("*.html")])
    assert len(pages_there) > 20
    return pages_there


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_every_text_has_enough_contrast(browser: Browser, site: Path, dark: bool) -> None:
    browser.look(dark=dark)
    for page in pages(site):
        browser.open(page.as_uri())
        browser.js(OPEN_ALL)
        result = browser.js(CONTRAST)
        assert result["looked"] > 30
        assert result["found"] == [], page.name


def test_too_little_contrast_is_noticed(browser: Browser, episode: Path) -> None:
    browser.open(episode.as_uri())
    browser.js("document.querySelector('h1').style.color = 'oklch(70% 0.1 200)'")
    browser.js("document.querySelector('.times').style.backgroundColor = '#8888'")
    assert len(browser.js(CONTRAST)["found"]) >= 2


@pytest.mark.parametrize("width", [390, 1280])
def test_axe_core_finds_nothing(browser: Browser, site: Path, axe: str, width: int) -> None:
    for dark in (False, True):
        browser.look(dark=dark, width=width)
        for page in pages(site):
            browser.open(page.as_uri())
            browser.js(OPEN_ALL)
            browser.js(SETTLED)
            browser.js(axe)
            assert browser.js(VIOLATIONS) == [], page.name


def test_a_picture_without_words_is_noticed(browser: Browser, episode: Path, axe: str) -> None:
    browser.open(episode.as_uri())
    browser.js("document.querySelector('figure img').removeAttribute('alt')")
    browser.js(SETTLED)
    browser.js(axe)
    assert [each[0] for each in browser.js(VIOLATIONS)] == ["image-alt"]


@pytest.mark.parametrize("width", [360, 800, 1280])
def test_no_page_is_wider_than_the_screen(browser: Browser, site: Path, width: int) -> None:
    browser.look(width=width)
    for page in pages(site):
        browser.open(page.as_uri())
        browser.js(OPEN_ALL)
        assert browser.js(TOO_WIDE) == [], page.name


def test_headings_are_in_order_and_nothing_is_cut(browser: Browser, site: Path) -> None:
    for page in pages(site):
        browser.open(page.as_uri())
        browser.js(OPEN_ALL)
        assert browser.js(JUMPS) == [], page.name
        assert browser.js(CUT) == [], page.name


def test_type_in_diagrams_can_be_read_on_a_telephone(browser: Browser, site: Path) -> None:
    browser.look(width=360)
    scales = []
    for page in pages(site):
        browser.open(page.as_uri())
        scales += browser.js(f"Promise.all({SCALES})")
    assert len(scales) > 10
    assert min(scales) * TYPE >= 14


def test_what_scrolls_is_reached_by_the_keyboard_and_has_a_name(
    browser: Browser, episode: Path
) -> None:
    """Also what was folded away, and after the screen has been turned."""
    browser.open(episode.as_uri())
    browser.js(OPEN_ALL)
    for width in (360, 1280, 360):
        browser.look(width=width)
        browser.js(SETTLED)
        frames = browser.js(FRAMES)
        assert all(scrolls == named for scrolls, named in frames)
        assert any(scrolls for scrolls, _ in frames)


def test_links_anchors_and_pictures_are_found_and_nothing_is_wrong_on_the_console(
    browser: Browser, site: Path
) -> None:
    by_page: dict[str, dict[str, Any]] = {}
    for page in pages(site):
        browser.open(page.as_uri())
        by_page[page.as_uri().removeprefix("file://")] = browser.js(LINKS)
        assert browser.said == [], page.name
    for name, page_found in by_page.items():
        assert page_found["broken"] == []
        assert all(url.startswith(("file:", "data:")) for url in page_found["fetched"]), name
        assert len(page_found["links"]) > 15
        for path, fragment in page_found["links"]:
            copied = "/files/" in path and Path(unquote(path)).is_file()  # of the episodes
            assert copied or path in by_page, f"{name}: {path}"
            if copied:
                continue
            assert not fragment or fragment in by_page[path]["ids"], f"{name}: {path}#{fragment}"


def test_an_error_on_the_console_is_noticed(browser: Browser, site: Path) -> None:
    browser.open((site / "index.html").as_uri())
    browser.js("setTimeout(() => { throw new Error('on purpose'); }, 0)")
    browser.js("new Promise((done) => setTimeout(done, 50))")
    assert len(browser.said) == 1


def test_the_keyboard_reaches_everything_in_order_and_shows_where_it_is(
    browser: Browser, episode: Path
) -> None:
    browser.open(episode.as_uri())
    stops = browser.js(STOPS)
    reached = []
    for _ in stops:
        browser.press("Tab", 9)
        name, style, width = browser.js(FOCUSED)
        reached.append(name)
        assert style != "none" and width >= 2, f"{name} does not show that it has the focus"
    assert reached == stops
    assert stops[0].startswith("A skip")
    assert sum("copybtn" in stop for stop in stops) > 10
    assert sum(stop.startswith("SUMMARY") for stop in stops) > 4


def test_enter_skips_to_the_page_and_opens_a_solution(browser: Browser, episode: Path) -> None:
    browser.open(episode.as_uri())
    browser.press("Tab", 9)
    browser.press("Enter", 13)
    browser.press("Tab", 9)
    assert browser.js("!!document.activeElement.closest('article')") is True
    browser.js("document.querySelector('details.solution > summary').focus()")
    assert browser.js("document.querySelector('details.solution').open") is False
    browser.press("Enter", 13)
    assert browser.js("document.querySelector('details.solution').open") is True


def test_the_copy_button_copies_the_code_and_says_so(browser: Browser, episode: Path) -> None:
    browser.call("Emulation.setFocusEmulationEnabled", enabled=True)
    browser.open(episode.as_uri())
    copied = "window.copied = document.activeElement.value;"
    browser.js(f"document.addEventListener('copy', () => {{ {copied} }});")
    browser.js("document.querySelector('.copybtn').focus()")
    browser.press("Enter", 13)
    assert browser.js("document.querySelector('.copybtn').dataset.tooltip") == "Copied!"
    code = browser.js("document.querySelector('.code pre').textContent")
    assert code.startswith("import ") and browser.js("copied").strip() == code.strip()


def test_a_link_into_a_folded_box_opens_it(browser: Browser, episode: Path) -> None:
    browser.open(episode.as_uri())
    name = browser.js("document.querySelector('details.solution').id")
    browser.open("about:blank")
    browser.open(episode.as_uri() + f"#{name}")
    assert browser.js("document.querySelectorAll('details[open]').length") == 1
    place = f"document.getElementById('{name}').getBoundingClientRect()"
    assert browser.js(f"{place}.top >= 0 && {place}.top < innerHeight") is True


def test_a_narrow_screen_folds_the_lists_away(browser: Browser, episode: Path) -> None:
    browser.look(width=360)
    browser.open(episode.as_uri())
    for button, box in (
        (".nav-overlay-icon", ".sidebar-drawer"),
        (".toc-header-icon", ".toc-drawer"),
    ):
        visible = f"document.querySelector('{box}').checkVisibility({{visibilityProperty: true}})"
        assert browser.js(visible) is False
        browser.js(f"document.querySelector('{button}').focus()")
        browser.press("Enter", 13)
        assert browser.js(visible) is True
        browser.press("Enter", 13)


def test_the_views_differ_in_what_is_for_instructors(browser: Browser, episode: Path) -> None:
    notes = "document.querySelectorAll('.box.instructor').length"
    browser.open(episode.as_uri())
    assert browser.js(notes) == 0
    browser.follow(".view a")
    assert browser.js("location.pathname").endswith(f"/instructor/{episode.name}")
    assert browser.js(notes) > 0


def test_everything_that_can_be_used_has_a_name(
    browser: Browser, site: Path, episode: Path
) -> None:
    browser.call("Accessibility.enable")
    browser.open((site / "instructor" / episode.name).as_uri())
    nodes = browser.call("Accessibility.getFullAXTree")["nodes"]
    used = ("link", "button", "searchbox", "textbox", "DisclosureTriangle", "navigation")
    roles: dict[str, list[str]] = {}
    for node in nodes:
        role = node.get("role", {}).get("value", "")
        if not node["ignored"]:
            roles.setdefault(role, []).append(node.get("name", {}).get("value", "").strip())
    browser.call("Accessibility.disable")
    assert all(name for role in used for name in roles.get(role, []))
    assert {"main", "navigation", "link", "button", "textbox"} <= set(roles)
    assert any(name.startswith("Exercise: ") for name in roles["heading"])
    assert any(name.startswith("For instructors") for name in roles["heading"])


def test_paper_gets_the_page_alone(browser: Browser, episode: Path) -> None:
    browser.open(episode.as_uri())
    browser.call("Emulation.setEmulatedMedia", media="print")
    try:
        hidden = ("'.sidebar-drawer'", "'.toc-drawer'", "'.copybtn'", "'.related-pages'")
        for name in hidden:
            assert browser.js(f"document.querySelector({name}).checkVisibility()") is False
        assert browser.js("document.querySelector('h1').checkVisibility()") is True
    finally:
        browser.call("Emulation.setEmulatedMedia", media="")


def found_by_search(browser: Browser, page: Path, words: str) -> list[str]:
    """The pages that the search names, started from the field on a page."""
    browser.open(page.as_uri())
    browser.js(f"document.querySelector('input[name=q]').value = '{words}'")
    browser._events.clear()
    browser.js("document.querySelector('form[role=search]').submit()")
    browser._loaded()
    done = "/found|did not match/.test(document.querySelector('#search-results').textContent)"
    for _ in range(100):
        if browser.js(done):
            break
        time.sleep(0.05)
    assert browser.said == []
    return list(browser.js("[...document.querySelectorAll('ul.search a')].map((a) => a.pathname)"))


def test_the_search_finds_words_of_headings_of_text_and_of_code(
    browser: Browser, site: Path, episode: Path
) -> None:
    for words, name in (
        ("What will it cost", episode.name),
        ("gradients", "09-parallelism.html"),
        ("estimate_cost", episode.name),
    ):
        paths = found_by_search(browser, site / "index.html", words)
        assert any(path.endswith(f"/{name}") for path in paths), words
    assert found_by_search(browser, site / "index.html", "zyzzyva") == []


def test_each_view_searches_its_own_pages(browser: Browser, site: Path) -> None:
    notes = "/instructor-notes.html"
    words = "Before the day"
    assert not any(p.endswith(notes) for p in found_by_search(browser, site / "index.html", words))
    results = found_by_search(browser, site / "instructor/index.html", words)
    assert any(path.endswith(f"/instructor{notes}") for path in results)


def test_the_switch_turns_light_into_dark_diagrams_too_and_the_next_page_keeps_it(
    browser: Browser, site: Path
) -> None:
    colour = "getComputedStyle(document.body).backgroundColor"
    diagram = "getComputedStyle(document.querySelector('img[src$=\".svg\"]')).filter"
    browser.open((site / "01-introduction.html").as_uri())
    light = browser.js(colour)
    assert browser.js(diagram) == "none"
    seen = []
    for _ in range(2):
        browser.js("document.querySelector('.theme-toggle-content .theme-toggle').click()")
        seen.append((browser.js("document.body.dataset.theme"), browser.js(colour)))
    dark = dict(seen)["dark"]
    assert dark != light == dict(seen)["light"]
    while browser.js("document.body.dataset.theme") != "dark":
        browser.js("document.querySelector('.theme-toggle-content .theme-toggle').click()")
    assert browser.js(diagram) != "none"
    browser.follow("a[rel=next]")
    assert browser.js(colour) == dark
    browser.js("localStorage.clear()")
