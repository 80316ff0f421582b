"""The site: whole, linked, and each view with what belongs to it."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.pages.folder import ROOT
from tools.pages.links import heading_names, plain
from tools.pages.scanner import Code, Div, Heading, Prose
from tools.site.__main__ import main
from tools.site.build import write
from tools.site.plan import Plan
from tools.site.prose import code_block, html_of, inline
from tools.site.schedule import BREAK, LONGEST_SITTING, clock, schedule

EMPTY = {"area", "base", "br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"}


@dataclass
class Element:
    tag: str
    attributes: dict[str, str]
    inside: list[Element | str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(e if isinstance(e, str) else e.text for e in self.inside)

    def walk(self) -> Iterator[Element]:
        yield self
        for each in self.inside:
            if isinstance(each, Element):
                yield from each.walk()

    def all(self, tag: str = "", kind: str = "") -> list[Element]:
        """The elements of a tag, of a class, or of both, in order."""
        return [
            each
            for each in self.walk()
            if tag in ("", each.tag)
            and (not kind or kind in each.attributes.get("class", "").split())
        ]


class Reader(HTMLParser):
    """Reads a page into elements; every element has to be closed where it was opened."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open = [Element("", {})]
        self.feed(text)
        self.close()
        assert len(self.open) == 1, f"never closed: {self.open[-1].tag}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.open[-1].inside.append(element)
        if tag not in EMPTY:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in EMPTY:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop().tag == tag, f"</{tag}> closes nothing, line {self.getpos()[0]}"

    def handle_data(self, data: str) -> None:
        self.open[-1].inside.append(data)


def read(text: str) -> Element:
    return Reader(text).open[0]


def built(root: Path, folder: Path) -> dict[str, Element]:
    """The site of a lesson, read; but for its search, which a browser fills."""
    write(root, folder)
    files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*.html")}
    return {
        name: read(path.read_text(encoding="utf-8"))
        for name, path in files.items()
        if path.name != "search.html"
    }


@pytest.fixture(scope="module")
def plan() -> Plan:
    return Plan(ROOT)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the lesson's own site."""
    return tmp_path_factory.mktemp("site")


@pytest.fixture(scope="module")
def site(folder: Path) -> dict[str, Element]:
    """The lesson's own site, read."""
    return built(ROOT, folder)


def test_an_episode_leads_to_its_notebook_in_colab_and_kaggle_if_that_is_on_github(
    clean_lesson: Path, tmp_path: Path, site: dict[str, Element]
) -> None:
    page = built(clean_lesson, tmp_path / "site")["01-count.html"]
    links = {link.text: link.attributes.get("href", "") for link in page.all("a")}
    assert links["Google Colab"].endswith("count-things/blob/main/notebooks/01-count.ipynb")
    assert links["Kaggle"].endswith("count-things/blob/main/notebooks/01-count.ipynb")
    assert all(link.text != "Kaggle" for link in site["01-introduction.html"].all("a"))


def test_every_page_has_one_title_a_language_and_a_place_in_the_navigation(
    site: dict[str, Element],
) -> None:
    titles = []
    for name, page in site.items():
        meta = [e.attributes.get("name") for e in page.all("meta")]
        assert ("robots" in meta) == name.startswith("instructor/")  # found once by searches
        assert page.all("html")[0].attributes["lang"] == "en"
        (heading,) = page.all("h1")
        (title,) = page.all("head")[0].all("title")
        assert heading.text in title.text
        titles.append(title.text)
        (here,) = [e for e in page.walk() if e.attributes.get("aria-current") == "page"]
        assert here.tag == "a"
    assert len(set(titles)) == len(site)


def test_all_pages_of_the_lesson_are_there_in_the_groups_of_the_index(
    plan: Plan, site: dict[str, Element]
) -> None:
    listed = [Path(name).stem for name in plan.config["episodes"]]
    nav = site["index.html"].all("nav", "sidebar-tree")[0]
    numbers = [e.text[:2] for e in nav.all("a") if e.text[:2].isdigit()]
    assert sorted(numbers) == [name.partition("-")[0] for name in listed]
    assert numbers == [name[:2] for group in plan.paths.groups.values() for name in group]
    groups = [e.text for e in nav.all("p", "caption")]
    assert groups[:4] == ["Start", "Core", "Several machines", "Operations"]
    wanted = {path.stem for path in plan.lesson.page_paths() if path.parent.name != "instructors"}
    assert wanted <= {Path(name).stem for name in site if "/" not in name}
    assert {f"instructor/{name}" for name in site if "/" not in name} < set(site)
    assert "instructor/instructor-notes.html" in site and "instructor-notes.html" not in site


def test_previous_and_next_lead_through_all_pages(site: dict[str, Element]) -> None:
    for folder in ("", "instructor/"):
        left, seen = ["index.html"], set()
        while left:
            name = left.pop()
            seen.add(folder + name)
            for following in neighbours(site[folder + name], "next"):
                assert name in neighbours(site[folder + following], "prev"), (name, following)
                left += [following] if folder + following not in seen else []
        assert sorted(seen) == sorted(n for n in site if ("/" in n) == bool(folder))


def test_next_follows_the_day(site: dict[str, Element]) -> None:
    assert neighbours(site["05-vertex-gpu-replicas.html"], "next") == ["12-tuning.html"]
    assert neighbours(site["06-s3-data.html"], "prev") == ["02-train-locally.html"]
    both = site["02-train-locally.html"]
    assert neighbours(both, "next") == ["03-gcs-data.html", "06-s3-data.html"]
    assert "Next on Amazon" in both.text


def neighbours(page: Element, way: str) -> list[str]:
    """The pages to which a page leads as the next or the previous one."""
    return [e.attributes["href"] for e in page.all("a") if e.attributes.get("rel") == way]


def test_every_link_and_anchor_inside_the_site_leads_somewhere(site: dict[str, Element]) -> None:
    ids = {
        name: [e.attributes["id"] for e in page.walk() if "id" in e.attributes]
        for name, page in site.items()
    }
    for name, page in site.items():
        assert len(ids[name]) == len(set(ids[name])), f"{name} has an id twice"
        for link in page.all("a"):
            target = link.attributes["href"]
            if re.match(r"[a-z]+:", target):
                continue
            path, _, fragment = unquote(target).partition("#")
            target_page = (Path("/", name).parent / path).resolve().as_posix()[1:] if path else name
            if target_page.startswith("files/"):  # of the episodes, copied beside the pages
                assert (ROOT / "episodes" / target_page).is_file(), f"{name}: {target}"
                continue
            assert target_page in site, f"{name}: {target}"
            assert not fragment or fragment in ids[target_page], f"{name}: {target}"


def test_nothing_is_fetched_from_elsewhere(folder: Path, site: dict[str, Element]) -> None:
    for name, page in site.items():
        for element in page.walk():
            address = element.attributes.get("src", "")
            if element.tag == "link":
                address = element.attributes["href"]
            assert not re.match(r"(?!data:)[a-z]+:|//", address), f"{name}: {address}"
    for file in folder.rglob("*.css"):
        assert not re.search(r"url\(['\"]?(https?:)?//|@import", file.read_text(), re.I), file


def test_the_pages_are_not_heavier_than_those_before_sphinx(
    folder: Path, site: dict[str, Element]
) -> None:
    kinds = {".html", ".css", ".js"}  # the index of the search is a script
    files = [path for path in folder.rglob("*") if path.suffix in kinds]
    assert sum(path.stat().st_size for path in files) <= 4.8e6


def shown(plan: Plan, path: Path, instructor: bool) -> Iterator[tuple[object, tuple[Div, ...]]]:
    """The blocks of a page that a view shows."""
    for block, around in plan.page(path).walk():
        divs = (*around, block) if isinstance(block, Div) else around
        if instructor or not any("instructor" in div.classes for div in divs):
            yield block, around


@pytest.mark.parametrize("view", ["", "instructor/"])
def test_code_and_headings_are_those_of_the_page_each_once_and_in_order(
    plan: Plan, site: dict[str, Element], view: str
) -> None:
    for entry in plan.episodes:
        page = site[view + entry.file].all("article")[0]
        assert entry.path
        blocks = [block for block, _ in shown(plan, entry.path, bool(view))]
        code = [b.text.rstrip("\n") for b in blocks if isinstance(b, Code)]
        assert [e.text.rstrip("\n") for e in page.all("pre")] == code
        live = sum(isinstance(block, Code) and block.live for block in blocks)
        assert live and len(page.all("div", "code")) >= live
        names = {heading.line: name for heading, name, _ in heading_names(plan.page(entry.path))}
        headings = [block for block in blocks if isinstance(block, Heading)]
        named = {e.attributes["id"]: e for e in page.walk() if "id" in e.attributes}
        wanted = [names[heading.line] for heading in headings]
        assert [name for name in named if name in wanted] == wanted
        for name, heading in zip(wanted, headings, strict=True):
            title = next(e for e in named[name].inside if isinstance(e, Element) and e.text)
            assert title.tag in (f"h{heading.level}", "summary")
            assert title.text.endswith(plain(heading.text))


def test_solutions_and_hints_are_folded_in_both_views(plan: Plan, site: dict[str, Element]) -> None:
    for entry in plan.episodes:
        for folder in ("", "instructor/"):
            page = site[folder + entry.file]
            assert entry.path
            blocks = [block for block, _ in shown(plan, entry.path, bool(folder))]
            for kind in ("solution", "hint"):
                divs = [b for b in blocks if isinstance(b, Div) and kind in b.classes]
                boxes = page.all(kind=kind)
                assert len(boxes) == len(divs)
                assert all(e.tag == "details" and "open" not in e.attributes for e in boxes)
                assert all(e.all("summary") for e in boxes)


def instructors_words(plan: Plan) -> Iterator[str]:
    """A run of words from each paragraph that is for instructors only."""
    for path in plan.lesson.page_paths():
        for block, around in plan.page(path).walk():
            for_instructors = any("instructor" in div.classes for div in around)
            if isinstance(block, Prose) and (for_instructors or path.parent.name == "instructors"):
                runs = re.findall(r"[A-Za-z ,.;]{40,}", block.text)
                yield from (run.strip() for run in runs[:1])


def test_learners_pages_hold_nothing_that_is_for_instructors(
    plan: Plan, folder: Path, site: dict[str, Element]
) -> None:
    words = list(instructors_words(plan))
    assert len(words) > 10
    texts = {name: " ".join(page.text.split()) for name, page in site.items()}
    assert '"instructor-notes"' in (folder / "instructor/searchindex.js").read_text()
    assert '"instructor-notes"' not in (folder / "searchindex.js").read_text()
    learners = "\n".join(text for name, text in texts.items() if "/" not in name)
    instructors = "\n".join(text for name, text in texts.items() if "/" in name)
    assert [run for run in words if run in learners] == []
    assert [run for run in words if run not in instructors] == []
    assert not any(page.all(kind="instructor") for name, page in site.items() if "/" not in name)


def test_each_view_leads_to_the_same_page_of_the_other(site: dict[str, Element]) -> None:
    for name, page in site.items():
        (link,) = page.all("p", "view")[0].all("a")
        if "/" not in name:
            wanted = f"instructor/{name}"
        elif Path(name).name in site:
            wanted = f"../{Path(name).name}"
        else:
            wanted = "../index.html"
        assert link.attributes["href"] == wanted


def test_the_key_points_are_those_of_the_episodes(plan: Plan, site: dict[str, Element]) -> None:
    gathered = [item.text for item in site["key-points.html"].all("article")[0].all("li")]
    boxes = [site[entry.file].all(kind="keypoints")[0] for entry in plan.episodes]
    assert gathered == [item.text for box in boxes for item in box.all("li")]


def test_pictures_have_a_description_and_their_file_is_copied(
    clean_lesson: Path, tmp_path: Path
) -> None:
    write(clean_lesson, tmp_path / "site")
    for name in ("01-count.html", "instructor/01-count.html"):
        page = tmp_path / "site" / name
        (image,) = read(page.read_text()).all("img")
        assert image.attributes["alt"] == "Three dots"
        assert (page.parent / image.attributes["src"]).is_file()
        (figure,) = read(page.read_text()).all("figure")
        assert figure.all("figcaption")[0].text == "Three dots in a row"


def test_the_notes_of_the_episodes_are_gathered_with_their_place(clean_lesson: Path) -> None:
    made = built(clean_lesson, clean_lesson / "site")
    page = made["instructor/instructor-notes.html"].all("article")[0]
    assert "Learners sometimes stop at three." in page.text
    (link,) = page.all("p", "place")[0].all("a")
    assert link.attributes["href"] == "01-count.html#note-1"
    assert link.text == "Exercise: count to four (5 minutes)"
    assert not any("stop at three" in page.text for name, page in made.items() if "/" not in name)


def test_code_in_a_list_stays_in_it_and_is_not_read_as_markdown(clean_lesson: Path) -> None:
    page = built(clean_lesson, clean_lesson / "site")["01-count.html"].all("article")[0]
    (steps,) = page.all("ol")
    assert [item.text.split()[0] for item in steps.all("li")] == ["Open", "Count."]
    assert steps.all("pre")[0].text == "ls\n"
    assert page.all("pre")[4].text == "key:\n    indented: true\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Term\n:   *It*\n    and more", "<dl><dt>Term</dt><dd><em>It</em> and more</dd></dl>"),
        ("a\n\n1. b\n2. c", "<p>a</p><ol><li>b</li><li>c</li></ol>"),
        ("`<a>` & <b>c</b>", "<p><code>&lt;a&gt;</code> &amp; <b>c</b></p>"),
    ],
)
def test_markdown(text: str, expected: str) -> None:
    html = re.sub(r">\s+<", "><", html_of([Prose(1, text)])).replace("\n", " ")
    assert html == expected


def test_a_heading_with_a_number_is_no_list() -> None:
    assert inline("4. Send *it*") == "4. Send <em>it</em>"


@pytest.mark.parametrize(
    ("language", "text", "wrapped"),
    [
        ("output", "Correct. A long sentence.", True),
        ("text", "train_nn.py: no such file", True),
        ("output", "Age      139\nCabin    551", False),
        ("python", "print(1)", False),
    ],
)
def test_a_sentence_is_wrapped_and_columns_are_not(language: str, text: str, wrapped: bool) -> None:
    block, _ = read(code_block(Code(1, 2, text, language=language))).all("div")
    assert ("wrapped" in block.attributes["class"].split()) == wrapped


def test_tables_scroll_by_themselves() -> None:
    (frame,) = read(html_of([Prose(1, "| a | b |\n|---|--:|\n| `c` | 2 |")])).all(
        "div", "table-wrapper"
    )
    assert [cell.text for cell in frame.all("td")] == ["c", "2"]


@given(st.lists(st.sampled_from(["a *b*", "# no heading", "::: x", "~~~~0\n", "<b>", "&amp;"])))
def test_code_comes_out_as_it_went_in(lines: list[str]) -> None:
    code = Code(1, 2, "\n".join(lines), fence="```", info="text", language="text")
    (block,) = read(html_of([Prose(1, "- a"), code, Prose(9, "- b")])).all("pre")
    assert block.text.rstrip("\n") == "\n".join(lines).rstrip("\n")


def test_tabs_are_parts_that_are_folded_away(clean_lesson: Path) -> None:
    setup = clean_lesson / "learners/setup.md"
    tabs = "\n::: tab\n\n### Linux\n\napt\n\n### macOS\n\nbrew\n\n:::\n"
    setup.write_text(setup.read_text() + tabs)
    folded = built(clean_lesson, clean_lesson / "site")["setup.html"].all("details", "tab")
    assert [e.all("summary")[0].text for e in folded] == ["Linux", "macOS"]
    assert [e.all("p")[0].text for e in folded] == ["apt", "brew"]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("index.md", "[a b](episodes/02-draft.md)", "index.md: `episodes/02-draft.md` is no page"),
        ("index.md", "[a b][nowhere]", "index.md: the label `nowhere` is not defined"),
        ("index.md", "[a b](nowhere.md)", "index.md: there is no file `nowhere.md`"),
        ("learners/setup.md", "True.[^1]", "setup.md: the site shows no footnotes"),
        ("learners/setup.md", "$$x$$", "the site shows no formulas"),
        ("episodes/01-count.md", "::: callout", "01-count.md:"),
        ("config.yaml", "]", "config.yaml is missing or no YAML"),
    ],
)
def test_what_cannot_be_shown_as_meant_is_refused(
    clean_lesson: Path, capsys: pytest.CaptureFixture[str], name: str, text: str, message: str
) -> None:
    path = clean_lesson / name
    (clean_lesson / "episodes/02-draft.md").write_text("---\ntitle: Draft\n---\n")
    path.write_text(f"{path.read_text()}\n{text}\n")
    assert main([str(clean_lesson)]) == 2
    assert message in capsys.readouterr().err
    assert not (clean_lesson / "site").exists()


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("config.yaml", "- 01-count.md", "- 02-more.md", "02-more.md (No such file"),
        ("config.yaml", "- 01-count.md", "- 'a b#1.md'", "episodes: `a b#1.md` cannot be"),
        ("config.yaml", "- 01-count.md", "- ../index.md", "episodes: `../index.md` cannot be"),
        ("config.yaml", "- 01-count.md", "- 1", "episodes: `1` cannot be"),
        ("config.yaml", "- 01-count.md", "  01-count.md", "config.yaml: `episodes` is no list"),
        ("config.yaml", "- 01-count.md", "- 01-count.md\n- 01-count.md", "two pages would be 01-"),
        ("config.yaml", "license: ", "licence: ", "config.yaml: `license` is missing"),
        ("episodes/01-count.md", "teaching: 15", "teaching: an hour", "01-count.md:1: `teaching`"),
        ("episodes/01-count.md", "teaching: 15", "teaching: -5", "01-count.md:1: `teaching`"),
        ("episodes/01-count.md", "title:", "name:", "01-count.md:1: the front matter has no title"),
        ("episodes/01-count.md", "```output\n4\n```", "```output\n4", "fence is never closed"),
    ],
)
def test_a_mistake_is_named_in_one_sentence(
    clean_lesson: Path,
    capsys: pytest.CaptureFixture[str],
    name: str,
    old: str,
    new: str,
    message: str,
) -> None:
    path = clean_lesson / name
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    assert main([str(clean_lesson)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line
    assert not (clean_lesson / "site").exists()


def test_a_file_whose_name_no_address_can_hold_is_named(
    clean_lesson: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (clean_lesson / "learners/what?.md").write_text("---\ntitle: A question\n---\n")
    assert main([str(clean_lesson)]) == 2
    assert "learners: `what?.md` cannot be the name of a page" in capsys.readouterr().err


def test_the_command_says_where_the_site_lies(
    clean_lesson: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(clean_lesson)]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert Path(first.partition(": open ")[2]) == clean_lesson / "site/index.html"
    assert Path(second.partition(": ")[2]).is_file()


def test_pages_that_the_lesson_lost_are_removed_and_other_files_stay(clean_lesson: Path) -> None:
    site = clean_lesson / "site"
    write(clean_lesson, site)
    (site / "README.md").write_text("mine")
    (site / "own.html").write_text("mine")
    config = clean_lesson / "config.yaml"
    (clean_lesson / "learners/setup.md").unlink()
    (clean_lesson / "episodes/01-count.md").rename(clean_lesson / "episodes/02-more.md")
    page = clean_lesson / "episodes/02-more.md"
    page.write_text(page.read_text().replace("../learners/setup.md#tools", "02-more.md"))
    config.write_text(config.read_text().replace("01-count.md", "02-more.md"))
    write(clean_lesson, site)
    here = {path.relative_to(site).as_posix() for path in site.rglob("*") if path.is_file()}
    assert {"README.md", "own.html", "02-more.html", "instructor/02-more.html"} <= here
    assert not {"setup.html", "01-count.html", "instructor/setup.html"} & here


def test_git_does_not_see_the_site() -> None:
    for name in ("site/index.html", "site/instructor/index.html", "site/_static/lesson.css"):
        assert subprocess.run(["git", "check-ignore", "--quiet", name], cwd=ROOT).returncode == 0


def test_the_home_page_has_the_schedule(plan: Plan, site: dict[str, Element]) -> None:
    rows = [row.all("td") for row in site["index.html"].all("table", "schedule")[0].all("tr")][1:]
    episodes = [row for row in rows if row[1].all("p", "episode")]
    assert [int(row[2].text) for row in episodes] == [entry.minutes for entry in plan.episodes]
    for row, entry in zip(episodes, plan.episodes, strict=True):
        assert entry.path
        questions = site[entry.file].all(kind="questions")[0].all("li")
        assert [e.text for e in row[1].all("li")] == [e.text for e in questions]
    breaks = sum(row[1].text == "Break" for row in rows)
    total = sum(entry.minutes for entry in plan.episodes) + BREAK * breaks
    assert rows[-1][0].text == clock(total) and breaks


@given(st.lists(st.integers(0, 200)))
def test_nobody_sits_longer_than_one_episode_or_ninety_minutes(minutes: list[int]) -> None:
    slots = schedule(minutes)
    assert [slot.minutes for slot in slots if slot.episode is not None] == minutes
    now, sittings = 0, [[0]]
    for slot in slots:
        assert slot.start == now
        now += slot.minutes
        if slot.episode is None:
            sittings.append([])
        else:
            sittings[-1].append(slot.minutes)
    assert all(sum(each) <= max(LONGEST_SITTING, *each) for each in sittings)


def test_clock() -> None:
    assert [clock(m) for m in (0, 65, 600)] == ["0 h 00", "1 h 05", "10 h 00"]


def test_reading_notices_what_is_not_closed() -> None:
    with pytest.raises(AssertionError):
        read("<p><b>a</p>")


def test_a_link_from_a_learners_page_to_instructors_notes_leads_into_their_view(
    clean_lesson: Path,
) -> None:
    setup = clean_lesson / "learners/setup.md"
    setup.write_text(setup.read_text() + "\n[How to teach](../instructors/instructor-notes.md)\n")
    made = built(clean_lesson, clean_lesson / "site")
    for name, target in (
        ("setup.html", "instructor/instructor-notes.html"),
        ("instructor/setup.html", "instructor-notes.html"),
    ):
        links = [e for e in made[name].all("a") if e.text == "How to teach"]
        assert [link.attributes["href"] for link in links] == [target]


def test_a_link_to_the_local_clouds_documentation_leads_into_the_repository(
    clean_lesson: Path,
) -> None:
    (clean_lesson / "local-cloud").mkdir()
    (clean_lesson / "local-cloud/README.md").write_text("# Local cloud\n")
    setup = clean_lesson / "learners/setup.md"
    setup.write_text(setup.read_text() + "\n[Local cloud](../local-cloud/README.md#install)\n")
    (link,) = [
        each
        for each in built(clean_lesson, clean_lesson / "site")["setup.html"].all("a")
        if each.text == "Local cloud"
    ]
    source = "https://github.com/example/count-things/blob/main"
    assert link.attributes["href"] == f"{source}/local-cloud/README.md#install"
