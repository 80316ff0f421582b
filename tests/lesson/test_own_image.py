"""LESSON_IMAGE: the image of one's own, which jobs on the real clouds run in."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

import AWS_helpers.images
import GCP_helpers.images
from tools.pages.folder import ROOT

GOOGLE = "us-central1-docker.pkg.dev/my-project/lesson/rented-machines:1"
AMAZON = "111122223333.dkr.ecr.us-east-1.amazonaws.com/rented-machines:1"


def images() -> tuple[str, str]:
    return (
        GCP_helpers.images.image_for("T4", date(2026, 7, 1)),
        AWS_helpers.images.image_for("ml.g4dn.xlarge", "us-east-1"),
    )


def test_each_cloud_takes_the_one_that_it_can_pull(monkeypatch: pytest.MonkeyPatch) -> None:
    prebuilt = images()
    monkeypatch.setenv("LESSON_TARGET", "cloud")
    assert images() == prebuilt
    for named in (f"{GOOGLE} {AMAZON}", f"{AMAZON}  {GOOGLE}"):
        monkeypatch.setenv("LESSON_IMAGE", named)
        assert images() == (GOOGLE, AMAZON)
    monkeypatch.setenv("LESSON_IMAGE", AMAZON)
    assert images() == (prebuilt[0], AMAZON)


def test_on_the_local_cloud_no_image_is_pulled_and_it_does_not_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    prebuilt = images()
    monkeypatch.setenv("LESSON_IMAGE", f"{GOOGLE} {AMAZON}")
    assert images() == prebuilt


@pytest.mark.parametrize("path", sorted((ROOT / "learners").glob("*.md")), ids=lambda p: p.stem)
def test_no_page_sends_a_job_in_an_image_that_google_has_withdrawn(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    known = GCP_helpers.images.IMAGES
    gone = [image.uri for image in known if image.available_until < date.today()]
    assert gone and [uri for uri in gone if uri in text] == []
