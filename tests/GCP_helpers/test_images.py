"""Which image a job runs in, and what is said about one that has retired."""

from __future__ import annotations

from datetime import date

import pytest

from GCP_helpers.images import IMAGES, PAGE, check, image_for, is_prebuilt, warn

CPU = "us-docker.pkg.dev/vertex-ai/training/pytorch-xla.2-4.py310:latest"
GPU = "us-docker.pkg.dev/vertex-ai/training/pytorch-gpu.2-4.py310:latest"


def test_the_newest_image_is_chosen_with_cuda_only_for_a_gpu() -> None:
    assert image_for(None) == CPU
    assert image_for("T4") == GPU


def test_an_image_with_months_to_go_draws_no_warning() -> None:
    assert check(CPU, date(2026, 5, 1)) is None


def test_a_soon_retiring_image_is_named_with_its_date_and_what_to_do() -> None:
    sentence = check(CPU, date(2026, 7, 1))
    assert sentence is not None
    assert f"{CPU} is to be had until 2026-07-24 only" in sentence


def test_while_a_newer_image_lives_it_is_the_alternative() -> None:
    old = CPU.replace("2-4", "2-1")
    sentence = check(old, date(2025, 11, 1))
    assert sentence is not None and f"until 2025-10-04 and may be gone; use {CPU}" in sentence


def test_when_all_have_retired_the_alternative_is_an_image_of_ones_own() -> None:
    sentence = check(GPU, date(2026, 11, 20))
    assert sentence is not None
    assert "was to be had until 2026-07-24 and may be gone" in sentence
    assert "python -m tools.image --cloud gcp" in sentence and "LESSON_IMAGE" in sentence


def test_in_november_2026_no_known_prebuilt_image_is_left() -> None:
    assert all(image.available_until < date(2026, 11, 20) for image in IMAGES)


def test_only_under_the_local_target_the_sentence_says_that_the_job_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for target, says_so in (("local", True), ("cloud", False)):
        monkeypatch.setenv("LESSON_TARGET", target)
        assert (
            "no registry is asked for it, so the job runs" in str(check(CPU, date(2026, 11, 20)))
        ) is says_so


def test_nothing_is_said_before_a_job_of_the_local_cloud(
    capsys: pytest.CaptureFixture[str],
) -> None:
    warn(CPU, date(2026, 11, 20))
    assert capsys.readouterr() == ("", "")


def test_the_same_image_is_known_in_all_three_registries() -> None:
    for place in ("europe", "asia"):
        assert check(CPU.replace("us-", f"{place}-"), date(2026, 11, 20)) is not None


def test_nothing_is_said_about_images_of_ones_own() -> None:
    own = "us-central1-docker.pkg.dev/my-project/images/torch:1"
    assert check(own, date(2026, 11, 20)) is None
    assert not is_prebuilt(own) and is_prebuilt(CPU)


def test_the_warning_is_given_once_for_each_image(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LESSON_TARGET", "cloud")
    monkeypatch.setattr("lesson.images._warned", set())
    for uri in (CPU, CPU, GPU):
        warn(uri, date(2026, 11, 20))
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 2 and err.count(CPU) == 1


def test_every_image_is_patched_no_longer_than_it_is_available() -> None:
    for image in IMAGES:
        assert image.patched_until < image.available_until
    assert PAGE.startswith("https://docs.cloud.google.com/")
