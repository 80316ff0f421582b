"""What only Google's images have: an end for all of them, and three registries."""

from __future__ import annotations

from datetime import date

import pytest

from GCP_helpers import session
from GCP_helpers.images import IMAGES, PAGE, check, image_for, is_prebuilt
from tools.image import __main__ as tool

CPU = "us-docker.pkg.dev/vertex-ai/training/pytorch-xla.2-4.py310:latest"
GPU = CPU.replace("xla", "gpu")


def test_when_all_have_retired_the_alternative_is_an_image_of_ones_own() -> None:
    sentence = check(GPU, date(2026, 11, 20))
    assert sentence is not None
    assert "was to be had until 2026-07-24 and may be gone" in sentence
    assert "python -m tools.image --cloud gcp" in sentence and "LESSON_IMAGE" in sentence


@pytest.mark.parametrize("gpu", [None, "T4"])
def test_the_default_is_never_one_that_has_gone_but_the_lessons_own(
    gpu: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert all(image.available_until < date(2026, 11, 20) for image in IMAGES)
    here = session.Session("cloud", "my-project", "europe-west4", "ada-lesson")
    monkeypatch.setattr(session, "_session", here)
    monkeypatch.setenv("LESSON_TARGET", "cloud")
    monkeypatch.delenv("LESSON_IMAGE", raising=False)
    own = image_for(gpu, date(2026, 11, 26))
    assert own == tool.uri("gcp", "my-project", "europe-west4", tag="1")
    assert "build and push it first" in str(check(own, date(2026, 11, 26)))
    monkeypatch.setenv("LESSON_IMAGE", own)  # who names it has pushed it
    assert check(own, date(2026, 11, 26)) is None


def test_the_same_image_is_known_in_all_three_registries() -> None:
    for place in ("europe", "asia"):
        assert check(CPU.replace("us-", f"{place}-"), date(2026, 11, 20)) is not None


def test_an_image_of_ones_own_is_none_of_googles() -> None:
    assert not is_prebuilt("us-central1-docker.pkg.dev/my-project/images/torch:1")
    assert is_prebuilt(CPU)


def test_every_image_is_patched_no_longer_than_it_is_available() -> None:
    for image in IMAGES:
        assert image.patched_until < image.available_until
    assert PAGE.startswith("https://docs.cloud.google.com/")
