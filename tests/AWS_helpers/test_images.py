"""Which image a job runs in, and what is said about one whose patches end."""

from __future__ import annotations

from datetime import date

import pytest

from AWS_helpers.images import IMAGES, PAGE, check, image_for, warn

CPU = "763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:2.10.0-cpu-py313"
GPU = CPU.replace("cpu", "gpu")
OLD = CPU.replace("2.10.0", "2.9.0").replace("py313", "py312")


def test_the_newest_image_is_chosen_with_cuda_only_for_a_gpu() -> None:
    assert image_for("ml.m5.xlarge", "us-east-1") == CPU
    assert image_for("ml.g4dn.xlarge", "us-east-1") == GPU


@pytest.mark.parametrize("machine", ["ml.m5.large", "ml.g4dn.xlarge", "ml.g5.xlarge"])
@pytest.mark.parametrize("region", ["us-east-1", "us-west-2", "eu-central-1"])
def test_the_sdk_itself_names_the_same_image(machine: str, region: str) -> None:
    from sagemaker.core import image_uris

    newest = IMAGES[0]
    found = image_uris.retrieve(
        "pytorch",
        region,
        version=newest.version,
        py_version=newest.python,
        instance_type=machine,
        image_scope="training",
    )
    assert image_for(machine, region) == found


def test_an_image_with_months_to_go_draws_no_warning() -> None:
    assert check(CPU, date(2026, 11, 20)) is None


def test_an_image_that_is_soon_not_patched_is_named_with_its_date_and_what_to_do() -> None:
    sentence = check(CPU, date(2026, 12, 20))
    assert sentence and f"{CPU} is patched until 2027-01-21 only; look for a newer one" in sentence


def test_while_a_newer_image_is_patched_it_is_the_alternative() -> None:
    sentence = check(OLD, date(2026, 11, 20))
    assert sentence and "was patched until 2026-10-15 only; use pytorch-training:2.10.0" in sentence


def test_an_image_is_known_in_any_region_and_by_its_long_tag() -> None:
    far = CPU.replace("us-east-1", "eu-west-1") + "-ubuntu22.04-sagemaker"
    assert check(far, date(2027, 2, 1)) is not None


def test_nothing_is_said_about_images_of_ones_own() -> None:
    own = "123456789012.dkr.ecr.us-east-1.amazonaws.com/mine:1"
    assert check(own, date(2027, 2, 1)) is None


def test_only_under_the_local_target_the_sentence_says_that_the_job_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for target, says_so in (("local", True), ("cloud", False)):
        monkeypatch.setenv("LESSON_TARGET", target)
        assert (
            "no registry is asked for it, so the job runs" in str(check(OLD, date(2026, 11, 20)))
        ) is says_so


def test_the_warning_is_given_once_for_each_image(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LESSON_TARGET", "cloud")
    monkeypatch.setattr("lesson.images._warned", set())
    for uri in (CPU, CPU, GPU):
        warn(uri, date(2027, 2, 1))
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 2 and err.count(CPU) == 1


def test_the_images_are_listed_newest_first_with_their_source() -> None:
    days = [image.patched_until for image in IMAGES]
    assert days == sorted(days, reverse=True) and PAGE.startswith("https://")
