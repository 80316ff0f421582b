"""What only Google's images have: an end for all of them, and three registries."""

from __future__ import annotations

from datetime import date

from GCP_helpers.images import IMAGES, PAGE, check, is_prebuilt

CPU = "us-docker.pkg.dev/vertex-ai/training/pytorch-xla.2-4.py310:latest"
GPU = CPU.replace("xla", "gpu")


def test_when_all_have_retired_the_alternative_is_an_image_of_ones_own() -> None:
    sentence = check(GPU, date(2026, 11, 20))
    assert sentence is not None
    assert "was to be had until 2026-07-24 and may be gone" in sentence
    assert "python -m tools.image --cloud gcp" in sentence and "LESSON_IMAGE" in sentence


def test_in_november_2026_no_known_prebuilt_image_is_left() -> None:
    assert all(image.available_until < date(2026, 11, 20) for image in IMAGES)


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
