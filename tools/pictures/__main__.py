"""The pictures of the console on the pages: `python -m tools.pictures` takes them again.

This starts a separate local cloud, sends real jobs with the helpers, and takes pictures of the
console's pages with a headless Chromium. They are in episodes/fig, and learners/console.md shows
them. Look at what has changed before you commit it.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

import AWS_helpers
import GCP_helpers
import lesson
import local_cloud
from lesson import preparation
from testing.browser import Browser, find
from tools.pictures.shown import smaller

PICTURES = lesson.ROOT / "episodes" / "fig"
WIDTH, HEIGHT = 1280, 3000  # of the browser's window: a page is seen without scrolling
MARGIN = 12
SCALE = 1.25  # pixels of a picture for each of the window
SHORT = {"epochs": 300}
LONG = {"epochs": 10_000_000, "patience": 0}  # trains until the local cloud stops
TYPO = {"train": "gs://of-another-name/data/train_data.npz"}
# The rectangle around some parts of a page: left, top, right, bottom.
FRAME = """(() => {
  const boxes = [...document.querySelectorAll("PARTS")].map((each) => each.getBoundingClientRect());
  return [
    Math.min(...boxes.map((box) => box.left)), Math.min(...boxes.map((box) => box.top)),
    Math.max(...boxes.map((box) => box.right)), Math.max(...boxes.map((box) => box.bottom)),
  ];
})()"""
PASSENGERS = [[3, 1, 0.2, 0, 0, -0.4, 2], [1, 0, 0.5, 1, 0, 1.2, 0]]


class Made(NamedTuple):
    """What the pages are to show."""

    bucket: str
    job: str  # its number
    results: str  # the folder of what it wrote, in the bucket
    endpoint: str  # its resource name


class View(NamedTuple):
    """A picture: its name, a page of the console, and a selector of what it shows of that page."""

    name: str
    page: str
    parts: str


def main() -> None:
    """Take all pictures."""
    program = find()
    if program is None:
        sys.exit(
            "python -m tools.pictures: no Chromium or Chrome is installed; install one,"
            " or name its program in the variable CHROMIUM"
        )
    with tempfile.TemporaryDirectory(prefix="pictures-") as folder:
        os.chdir(folder)  # the runs are stored below it
        os.environ |= {"LOCAL_CLOUD_HOME": f"{folder}/home", "LESSON_TARGET": "local"}
        os.environ["LESSON_NAME"] = "ada"  # a part of the jobs' names
        local_cloud.activate()
        try:
            made = make()
            with Browser(program, Path(folder, "profile")) as browser:
                browser.look(width=WIDTH, height=HEIGHT)
                browser.call("Emulation.setScrollbarsHidden", hidden=True)
                browser.open(local_cloud.console_link())
                for view in views(made):
                    take(browser, view)
        finally:
            local_cloud.stop()


def make() -> Made:
    """Send jobs to both clouds, one of them with a mistake, and deploy a model."""
    data = preparation.prepare(lesson.ROOT / "data/titanic_train.csv", "runs/data")
    bucket = GCP_helpers.connect().bucket
    google = flags(GCP_helpers.upload(data.train, data.val, prefix="data"))
    AWS_helpers.connect()
    amazon = flags(AWS_helpers.upload(data.train, data.val, prefix="data"))

    on_google: Any = GCP_helpers.train(google | SHORT, replicas=2)
    AWS_helpers.train(amazon | SHORT)
    try:
        GCP_helpers.train(google | SHORT | TYPO)
    except lesson.LessonError as failure:
        print(failure)
    endpoint: Any = GCP_helpers.deploy(on_google)
    for _ in range(20):
        GCP_helpers.predict(endpoint, PASSENGERS)
    GCP_helpers.train(google | LONG, wait=False)
    time.sleep(20)  # until it has shown some epochs
    return Made(
        bucket,
        job=on_google.job.resource_name.rpartition("/")[2],
        results=f"runs/{on_google.job.display_name}/model/",
        endpoint=endpoint.resource_name,
    )


def flags(files: list[str]) -> dict[str, object]:
    """Return the flags that name the archives."""
    train, val = files
    return {"train": train, "val": val}


def views(made: Made) -> list[View]:
    """Return the pictures to take."""
    bucket = urlencode({"scheme": "gs", "name": made.bucket, "prefix": made.results})
    endpoint = urlencode({"name": made.endpoint})
    return [
        View("console-jobs", "jobs", ".top, .side li, main .scroll"),
        View("console-job", f"jobs/{made.job}", "main .heading, #facts, #curves"),
        View("console-log", f"jobs/{made.job}", "#replicas, #log"),
        View("console-bucket", f"bucket?{bucket}", "main h1, main .scroll"),
        View("console-endpoint", f"endpoint?{endpoint}", "main .heading, main .scroll"),
        View("console-bill", "bill", "main h1, main .tiles, .tiles + section"),
    ]


def take(browser: Browser, view: View) -> None:
    """Take one picture."""
    print(view.name, flush=True)
    browser.open(f"http://127.0.0.1:{local_cloud.status().port}/console/{view.page}")
    left, top, right, bottom = browser.js(FRAME.replace("PARTS", view.parts))
    left, top = max(left - MARGIN, 0), max(top - MARGIN, 0)
    right, bottom = min(right + MARGIN, WIDTH), bottom + MARGIN
    size = {"width": right - left, "height": bottom - top, "scale": SCALE}
    path = PICTURES / f"{view.name}.png"
    browser.picture(path, clip={"x": left, "y": top, **size})
    path.write_bytes(smaller(path.read_bytes()))


if __name__ == "__main__":
    main()
