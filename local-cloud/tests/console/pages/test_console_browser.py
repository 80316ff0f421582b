"""The console in a real browser: read at two widths and in two colours, by axe-core, and clicked.

Needs Chromium or Chrome, as tests/tools/test_site_browser.py. Pictures are in build/console.
"""

from __future__ import annotations

import functools
import http.server
import math
import os
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import boto3
import pytest

from local_cloud.client import control
from local_cloud.client.control import Status
from testing import axe as axe_core
from testing.browser import Browser, find
from tests.client.test_process_state import suspend
from tests.console.filled_cloud import BUCKET, Filled, pipeline, pool, training_request
from tests.torture.rig import Rig

pytestmark = pytest.mark.slow

PICTURES = Path(__file__).parents[4] / "build" / "console"
# What is wider than the screen, though it does not scroll by itself.
TOO_WIDE = """(() => {
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= width) return [];
  return [...document.querySelectorAll("body *")]
    .filter((e) => e.getBoundingClientRect().right > width && !e.closest(".scroll, pre, .wide"))
    .map((e) => `${e.tagName}.${e.className}`);
})()"""
TALLEST = 3000


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    program = find()
    if program is None:
        pytest.skip("no Chromium or Chrome is installed; name one in the variable CHROMIUM")
    with Browser(program, tmp_path_factory.mktemp("profile")) as one:
        yield one


@pytest.fixture(scope="session")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The script of axe-core."""
    return axe_core.script(tmp_path_factory.mktemp("axe"))


@pytest.fixture
def root(cloud: Status, browser: Browser) -> str:
    """The console's address, in a browser that has signed in."""
    browser.said.clear()
    browser.look()
    browser.open(control.console_link(cloud.home))
    settle(browser, "document.title.startsWith('Overview')")
    return f"http://127.0.0.1:{cloud.port}/console/"


def settle(browser: Browser, what: str) -> None:
    """Wait until this is true in the page."""
    end = time.monotonic() + 30
    while not browser.js(what):
        assert time.monotonic() < end, f"{what}: {browser.js('document.body.innerText')}"
        time.sleep(0.05)


def pages(filled: Filled) -> dict[str, str]:
    """A name for each page, and where it is."""

    def named(page: str, name: str) -> str:
        return f"{page}?name={quote(name, safe='')}"

    folder = f"scheme=gs&name={BUCKET}"
    return {
        "overview": "",
        "jobs": "jobs",
        "compare": f"compare?job={filled.job}&job={filled.training_job}",
        "job": f"jobs/{filled.job}",
        "training-job": f"jobs/{filled.training_job}",
        "studies": "studies",
        "study": named("study", filled.study),
        "experiments": "experiments",
        "experiment": named("experiment", filled.experiment),
        "board": named("board", filled.board),
        "models": "models",
        "model": f"resource?kind=vertex-models&name={quote(filled.model, safe='')}",
        "endpoints": "endpoints",
        "endpoint": named("endpoint", filled.endpoint.resource_name),
        "batches": "batches",
        "datasets": "datasets",
        "buckets": "buckets",
        "bucket": f"bucket?{folder}",
        "table": f"object?{folder}&key=data/titanic.csv",
        "picture": f"object?{folder}&key=pictures/pixel.png",
        "text": f"object?{folder}&key=metrics.json",
        "pipelines": "pipelines",
        "pipeline": named("pipeline", pipeline("titanic-pipeline", BUCKET)),
        "bill": "bill",
        "failures": "failures",
        "search": "search?q=titanic",
        "nothing": "search?q=zzz",
        "missing": "jobs/none",
    }


def test_every_page_can_be_read_by_everybody(
    filled: Filled, root: str, browser: Browser, axe: str
) -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    problems: dict[str, Any] = {}
    for name, address in pages(filled).items():
        for width in (1280, 390):
            for dark in (False, True):
                browser.look(dark, width)
                browser.open(root + address)
                height = browser.js("document.documentElement.scrollHeight")
                browser.look(dark, width, min(height, TALLEST))
                label = f"{name}-{width}-{'dark' if dark else 'light'}"
                browser.picture(PICTURES / f"{label}.png")
                browser.js(axe + "; true")
                violations = browser.js(axe_core.VIOLATIONS) + browser.js(TOO_WIDE)
                if violations:
                    problems[label] = violations
    assert problems == {}
    # A page that is not there answers 404, which Chromium writes to its console.
    assert [one for one in browser.said if "404" not in str(one)] == []


def test_the_page_before_signing_in_can_be_read_too(
    cloud: Status, browser: Browser, axe: str
) -> None:
    browser.call("Network.clearBrowserCookies")
    browser.open(f"http://127.0.0.1:{cloud.port}/console/jobs")
    settle(browser, "document.title.startsWith('Sign in')")
    browser.js(axe + "; true")
    assert browser.js(axe_core.VIOLATIONS) == []


SLEEPING = "import time; print('begun', flush=True); time.sleep(600)"
UNCONNECTED = "/^No connection to the local cloud since \\d\\d:\\d\\d:\\d\\d/"


def test_the_page_of_a_server_that_does_not_answer_says_since_when(
    tmp_path: Path, browser: Browser
) -> None:
    """Killed or suspended; and it continues by itself."""
    rig = Rig(tmp_path / "home")
    with rig:
        job = rig.send(["python", "-c", SLEEPING]).rpartition("/")[2]
        browser.open(control.console_link(rig.home))
        browser.open(f"http://127.0.0.1:{rig.port}/console/jobs/{job}")
        notice = "document.getElementById('connection')"
        state = "document.getElementById('log-state').textContent"
        settle(browser, "document.getElementById('state').textContent.includes('Running')")
        browser.open(f"http://127.0.0.1:{rig.port}/console/jobs/{job}")
        settle(browser, f"{state} === 'Live' && {notice}.hidden")

        suspend(rig.home.address()["pid"])
        settle(browser, f"{UNCONNECTED}.test({notice}.textContent) && !{notice}.hidden")
        settle(browser, f"{state} === 'No connection'")
        os.kill(rig.home.address()["pid"], signal.SIGCONT)
        settle(browser, f"{state} === 'Live' && {notice}.hidden")

        rig.kill()
        settle(browser, f"{UNCONNECTED}.test({notice}.textContent) && !{notice}.hidden")
        PICTURES.mkdir(parents=True, exist_ok=True)
        browser.picture(PICTURES / "no-connection.png")
        browser.look(dark=True, width=390)
        browser.picture(PICTURES / "no-connection-390-dark.png")
        browser.look()
        control.start(rig.home)
        settle(browser, f"{notice}.hidden")
        settle(browser, "document.getElementById('state').textContent.includes('Failed')")
    browser.said.clear()  # Chromium writes there that it got no answer


def test_no_address_that_the_browser_keeps_signs_anybody_in(root: str, browser: Browser) -> None:
    browser.open(f"{root}jobs")
    entries = browser.call("Page.getNavigationHistory")["entries"]
    assert not [entry["url"] for entry in entries if "code=" in entry["url"]]
    assert browser.js("document.cookie") == "", "no script of a page can read the cookie"


WAITING = """
import os, time
from google.cloud import storage
print("epoch 1  loss 0.6900  accuracy 0.55", flush=True)
while not storage.Client().bucket(%r).blob("go-on").exists():
    time.sleep(0.02)
print("epoch 2  loss 0.4100  accuracy 0.81", flush=True)
while True:
    time.sleep(0.05)
"""


def begun_on_vertex() -> Callable[[], str]:
    """Begin a job that is called "watched"; returns what tells its state."""
    from google.cloud import aiplatform

    job = aiplatform.CustomJob(display_name="watched", worker_pool_specs=[pool(WAITING % BUCKET)])
    job.submit()
    return lambda: str(job.state.name)


def begun_on_sagemaker() -> Callable[[], str]:
    """The same, with boto3."""
    code = "import os; exec(os.environ['CODE'])"
    sagemaker = boto3.client("sagemaker")
    sagemaker.create_training_job(
        **training_request("watched", code), Environment={"CODE": WAITING % BUCKET}
    )

    def state() -> str:
        job = sagemaker.describe_training_job(TrainingJobName="watched")
        return str(job["TrainingJobStatus"])

    return state


@pytest.mark.parametrize("begun", [begun_on_vertex, begun_on_sagemaker])
def test_a_job_is_watched_and_ended_by_clicking(
    filled: Filled, root: str, browser: Browser, begun: Callable[[], Callable[[], str]]
) -> None:
    """What episodes 04 and 07 do on the pages of the clouds."""
    from google.cloud import storage

    go_on = storage.Client().bucket(BUCKET).blob("go-on")
    if go_on.exists():
        go_on.delete()
    state = begun()
    browser.open(root)
    browser.follow("nav.side a[href$='jobs']")
    settle(browser, "document.querySelector('tbody th a')?.textContent === 'watched'")
    settle(browser, "document.querySelector('tbody .chip')?.textContent === 'Running'")
    browser.follow("tbody th a")
    settle(browser, "document.getElementById('lines')?.textContent.includes('epoch 1')")
    go_on.upload_from_string("")
    # Both come without a reload: the line of the log, and the point of the curve.
    settle(browser, "document.getElementById('lines')?.textContent.includes('epoch 2')")
    settle(browser, "document.querySelector('.legend b')?.textContent === '0.4100'")
    browser.js("document.querySelector('.ask summary').click()")
    settle(browser, "document.querySelector('.ask button')?.checkVisibility()")
    browser.follow(".ask button")
    settle(browser, "document.getElementById('state')?.textContent.trim() === 'Cancelled'")
    settle(browser, "document.getElementById('log-state')?.textContent.includes('complete')")
    assert state() in ("JOB_STATE_CANCELLED", "Stopped")


def press(browser: Browser, key: str) -> None:
    """Press and release a key."""
    for kind in ("rawKeyDown", "keyUp"):
        browser.call("Input.dispatchKeyEvent", type=kind, key=key, code=key)


def move_to(browser: Browser, across: float) -> None:
    """Move the pointer over the first chart, to this share of its width."""
    browser.js("document.querySelector('.plot').scrollIntoView({block: 'center'})")
    box = "document.querySelector('.plot svg').getBoundingClientRect()"
    left, top, width = (browser.js(f"{box}.{name}") for name in ("left", "top", "width"))
    place = {"x": left + across * width, "y": top + 60}
    browser.call("Input.dispatchMouseEvent", type="mouseMoved", **place)


def test_a_chart_says_its_values_at_the_pointer_and_by_arrow_keys(
    filled: Filled, root: str, browser: Browser, axe: str
) -> None:
    for width in (1280, 390):
        for dark in (False, True):
            browser.look(dark, width)
            browser.open(f"{root}jobs/{filled.job}")
            move_to(browser, 0.3)
            tip = "document.querySelector('.tip')"
            match = re.fullmatch(
                r"epoch (\d+)loss (0\.\d{4})validation loss (0\.\d{4})",
                browser.js(f"{tip}.textContent"),
            )
            assert match and 10 < int(match[1]) < 20, browser.js(f"{tip}.textContent")
            assert float(match[3]) == pytest.approx(float(match[2]) + 0.04)
            PICTURES.mkdir(parents=True, exist_ok=True)
            browser.picture(PICTURES / f"hover-{width}-{'dark' if dark else 'light'}.png")
            browser.js(axe + "; true")
            assert browser.js(axe_core.VIOLATIONS) + browser.js(TOO_WIDE) == []
            browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=5, y=5)
            assert browser.js(f"{tip} === null")
    browser.js("document.querySelector('.plot').focus()")
    said = "document.querySelector('.plot').getAttribute('aria-valuetext')"
    press(browser, "Home")
    assert browser.js(said).startswith("epoch 1: loss 0.7")
    press(browser, "ArrowRight")
    assert browser.js(said).startswith("epoch 2: loss 0.7")
    assert browser.js(f"{tip}.textContent").startswith("epoch 2loss")
    press(browser, "End")
    assert re.fullmatch(r"epoch 60: loss 0\.\d{4}; validation loss 0\.\d{4}", browser.js(said))
    press(browser, "Escape")
    assert browser.js(f"{tip} === null")
    assert browser.said == []


def test_a_trial_of_parallel_coordinates_says_its_values_at_the_pointer_and_by_keys(
    filled: Filled, root: str, browser: Browser, axe: str
) -> None:
    tip = "document.querySelector('.parallel .tip')"
    for width in (1280, 390):
        for dark in (False, True):
            browser.look(dark, width)
            browser.open(f"{root}study?name={quote(filled.study, safe='')}")
            move_to(browser, 0.3)
            match = re.match(r"Trial (\d+)", browser.js(f"{tip}.textContent"))
            assert match, browser.js(f"{tip}.textContent")
            drawn = "document.querySelector('.parallel .cursor .line').getAttribute('points')"
            own = f"document.querySelector('[data-told^=\"Trial {match[1]}:\"]')"
            numbers = "%s.split(/[ ,]/).map(Number)"
            assert browser.js(numbers % drawn) == browser.js(
                numbers % f"{own}.getAttribute('points')"
            )
            browser.picture(PICTURES / f"parallel-{width}-{'dark' if dark else 'light'}.png")
            browser.js(axe + "; true")
            assert browser.js(axe_core.VIOLATIONS) + browser.js(TOO_WIDE) == []
    browser.js("document.querySelector('.parallel .plot').focus()")
    press(browser, "Home")
    first = browser.js(f"{tip}.textContent")
    press(browser, "ArrowRight")
    assert browser.js(f"{tip}.textContent") != first
    assert browser.said == []


def test_a_board_is_drawn_on_a_log_scale_and_smoothed_in_place(
    filled: Filled, root: str, browser: Browser
) -> None:
    browser.open(f"{root}board?name={quote(filled.board, safe='')}")
    browser.js("window.still = 'the same page'")
    ticks = "[...document.querySelectorAll('.chart text[text-anchor=end]')]"
    gaps = f"(([a, b, c]) => (a - b) / (b - c))({ticks}.map((text) => text.getAttribute('y')))"
    assert browser.js(f"{ticks}.map((text) => text.textContent)") == ["0.2", "0.4", "0.6", "0.8"]
    assert browser.js(gaps) == pytest.approx(1, abs=0.01)
    click = (
        "[...document.querySelectorAll('[data-look]')].find((a) => a.textContent === '%s').click()"
    )
    browser.js(click % "logarithmic")
    ratio = math.log(2) / math.log(1.5)  # of 0.4 to 0.2, and of 0.6 to 0.4
    settle(browser, f"Math.abs({gaps} - {ratio}) < 0.03")
    browser.js(click % "0.9")
    settle(browser, "document.querySelectorAll('.behind').length === 2")
    assert browser.js("window.still") == "the same page"
    assert browser.js("location.search").endswith("scale=log&smoothing=0.9")
    move_to(browser, 0.95)
    assert ", smoothed 0." in browser.js("document.querySelector('.tip').textContent")
    PICTURES.mkdir(parents=True, exist_ok=True)
    browser.picture(PICTURES / "board-log-smoothed.png")
    browser.open(browser.js("location.href.split('#')[0]"))  # and when it is loaded again
    assert browser.js("document.querySelectorAll('.behind').length") == 2


def test_a_click_on_a_column_sorts_by_it_and_stays_so(
    filled: Filled, root: str, browser: Browser
) -> None:
    browser.open(f"{root}study?name={quote(filled.study, safe='')}")
    names = (
        "[...document.querySelectorAll('#trials tbody tr')].map((row) => row.cells[5].textContent)"
    )
    browser.js("document.querySelectorAll('#trials thead button')[5].click()")
    values = [float(value) for value in browser.js(names)]
    assert values == sorted(values)
    assert browser.js("document.querySelector('th[aria-sort]').textContent") == "accuracy"


def test_a_link_on_another_page_leads_to_the_job(
    filled: Filled, root: str, browser: Browser, tmp_path: Path
) -> None:
    """The cookie is not sent with such a click; the page asks once more by itself."""
    page = tmp_path / "notebook.html"
    page.write_text(f'<a href="{root}jobs/{filled.job}">View Custom Job</a>')
    browser.open(page.as_uri())
    browser.follow("a")
    settle(browser, "document.title.startsWith('titanic-nn')")


ATTACKS = """(async () => {
  const found = {};
  const root = ROOT;
  found.read = await fetch(root + "jobs", {credentials: "include"})
    .then((answer) => answer.text(), () => "blocked");
  found.sent = await fetch(root + "jobs/JOB/delete",
    {method: "POST", mode: "no-cors", credentials: "include", body: new URLSearchParams({})})
    .then((answer) => answer.type, () => "blocked");
  const frame = document.createElement("iframe");
  frame.src = root + "jobs";
  document.body.append(frame);
  await new Promise((then) => { frame.onload = then; setTimeout(then, 3000); });
  try { found.framed = frame.contentDocument?.body.innerText ?? "blocked"; }
  catch { found.framed = "blocked"; }
  found.script = await new Promise((then) => {
    const script = document.createElement("script");
    script.src = root + "jobs/JOB/log?replica=workerpool0-0";
    script.onload = () => then("loaded");
    script.onerror = () => then("blocked");
    document.body.append(script);
  });
  return found;
})()"""


def test_another_server_of_this_machine_reads_and_clicks_nothing(
    filled: Filled, root: str, browser: Browser, tmp_path: Path, other_server: str
) -> None:
    """Its page is of the same site, as browsers count, and our cookie comes with its requests."""
    browser.open(other_server)
    attacks = ATTACKS.replace("ROOT", repr(root)).replace("JOB", filled.job)
    outcomes = browser.js(attacks)
    assert outcomes.pop("sent") in ("opaque", "blocked")
    assert set(outcomes.values()) == {"blocked"}, outcomes
    browser.open(f"{root}jobs/{filled.job}")
    assert re.match("titanic-nn", browser.js("document.title")), "it was not deleted"


@pytest.fixture
def other_server(tmp_path: Path) -> Iterator[str]:
    """A page at another port of 127.0.0.1."""
    (tmp_path / "index.html").write_text("<!doctype html><title>other</title><body>")
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=tmp_path)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/index.html"
    server.shutdown()
    server.server_close()
    thread.join()


def test_jobs_are_sorted_unfolded_and_compared_by_the_keyboard_alone(
    filled: Filled, root: str, browser: Browser
) -> None:
    browser.open(f"{root}jobs")
    browser.follow("thead a[href*='sort=accuracy']")
    head = "document.querySelector('th[aria-sort]')"
    settle(browser, f"{head}?.textContent === 'Accuracy' && {head}.ariaSort === 'descending'")
    fold = "document.querySelector('.parts details')"
    browser.js(f"{fold}.querySelector('summary').focus()")
    browser.press("Enter", 13)
    settle(browser, f"{fold}.open && {fold}.querySelector('.part').checkVisibility()")
    for place in (0, 1):
        browser.js(f"document.querySelectorAll('.part input')[{place}].focus()")
        browser.press(" ", 32)
    ticked = "document.querySelectorAll('input:checked').length === 2"
    settle(browser, ticked)
    # What is opened and ticked stays so when the part of the page comes again.
    boto3.client("sagemaker").create_training_job(
        **training_request("comes-while-we-look", "print('epoch 1 loss 0.5')")
    )
    settle(browser, "document.body.textContent.includes('comes-while-we-look')")
    assert browser.js(f"{ticked} && {fold}.open")
    browser.follow("form[action$=compare] button")
    settle(browser, "document.title.startsWith('Compare jobs')")
    settle(browser, "document.querySelectorAll('.differs').length >= 2")


def test_a_filter_needs_no_button(filled: Filled, root: str, browser: Browser) -> None:
    browser.open(f"{root}jobs?sort=name")
    assert browser.js("document.querySelector('form.filters button')") is None
    browser.js(
        "(() => { const one = document.querySelector('[name=cloud]'); one.value = 'sagemaker';"
        " one.dispatchEvent(new Event('change', {bubbles: true})); })()"
    )
    settle(browser, "location.search.includes('cloud=sagemaker')")
    settle(browser, "document.readyState === 'complete' && !!document.querySelector('tbody')")
    names = browser.js("[...document.querySelectorAll('tbody th')].map((one) => one.textContent)")
    assert "titanic-nn-sagemaker" in names and "titanic-nn" not in names
    assert "sort=name" in browser.js("location.search")


def test_on_a_phone_the_table_of_jobs_shows_that_it_scrolls(
    filled: Filled, root: str, browser: Browser
) -> None:
    browser.look(width=390)
    browser.open(f"{root}jobs")
    table = "document.querySelector('.scroll')"
    assert browser.js(f"{table}.scrollWidth > {table}.clientWidth + 200")
    cells = "[...document.querySelectorAll('.jobs > tbody > tr:first-child > *')]"
    edges = browser.js(f"{cells}.map((one) => one.getBoundingClientRect().right)")
    assert edges[1] < 300 and edges[-1] > 390, "the name is seen whole, and the rest is cut off"
    assert browser.js(f"getComputedStyle({table}).backgroundAttachment").startswith("local")
    browser.look(width=1280)
    browser.open(f"{root}jobs")
    assert browser.js(f"{table}.scrollWidth === {table}.clientWidth"), "no column is cut off"
