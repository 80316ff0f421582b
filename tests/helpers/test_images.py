"""Which image a job runs in, and what is said about one that is no longer kept up."""

from __future__ import annotations

from datetime import date

import pytest

from tests.helpers.sides import Side

VERTEX = "us-docker.pkg.dev/vertex-ai/training/pytorch-xla.2-4.py310:latest"
VERTEX_OLD = VERTEX.replace("2-4", "2-1")
SAGEMAKER = "763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:2.10.0-cpu-py313"
SAGEMAKER_OLD = SAGEMAKER.replace("2.10.0", "2.9.0").replace("py313", "py312")
# By then nothing that is known is kept up any more.
LATE = {"Google": date(2026, 11, 20), "Amazon": date(2027, 2, 1)}


@pytest.mark.parametrize(
    ("side", "asked", "image"),
    [
        ("Google", (None, date(2026, 7, 24)), VERTEX),
        ("Google", ("T4", date(2026, 7, 24)), VERTEX.replace("xla", "gpu")),
        ("Amazon", ("ml.m5.xlarge", "us-east-1"), SAGEMAKER),
        ("Amazon", ("ml.g4dn.xlarge", "us-east-1"), SAGEMAKER.replace("cpu", "gpu")),
    ],
    indirect=["side"],
)
def test_the_newest_image_is_chosen_with_cuda_only_for_a_gpu(
    side: Side, asked: tuple[str, ...], image: str
) -> None:
    assert side.images.image_for(*asked) == image


@pytest.mark.parametrize(
    ("side", "image", "day", "said"),
    [
        ("Google", VERTEX, date(2026, 7, 1), f"{VERTEX} is to be had until 2026-07-24 only"),
        ("Amazon", SAGEMAKER, date(2026, 12, 20),
         f"{SAGEMAKER} is patched until 2027-01-21 only; look for a newer one"),
        # While a newer one lives it is the alternative.
        ("Google", VERTEX_OLD, date(2025, 11, 1),
         f"until 2025-10-04 and may be gone; use {VERTEX}"),
        ("Amazon", SAGEMAKER_OLD, date(2026, 11, 20),
         "was patched until 2026-10-15 only; use pytorch-training:2.10.0"),
    ],
    indirect=["side"],
)  # fmt: skip
def test_an_image_that_ends_soon_is_named_with_its_date_and_what_to_do(
    side: Side, image: str, day: date, said: str
) -> None:
    assert said in side.images.check(image, day)


@pytest.mark.parametrize(
    ("side", "image", "day"),
    [
        ("Google", VERTEX, date(2026, 5, 1)),  # months before its end
        ("Amazon", SAGEMAKER, date(2026, 11, 20)),
        ("Google", "us-central1-docker.pkg.dev/my-project/images/torch:1", LATE["Google"]),
        ("Amazon", "123456789012.dkr.ecr.us-east-1.amazonaws.com/mine:1", LATE["Amazon"]),
    ],
    indirect=["side"],
)
def test_nothing_is_said_about_an_image_with_months_to_go_or_of_ones_own(
    side: Side, image: str, day: date
) -> None:
    assert side.images.check(image, day) is None


@pytest.mark.parametrize(
    ("side", "image"), [("Google", VERTEX), ("Amazon", SAGEMAKER_OLD)], indirect=["side"]
)
def test_only_under_the_local_target_the_sentence_says_that_the_job_runs(
    side: Side, image: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = "no registry is asked for it, so the job runs"
    assert runs in side.images.check(image, date(2026, 11, 20))
    monkeypatch.setenv("LESSON_TARGET", "cloud")
    assert runs not in side.images.check(image, date(2026, 11, 20))


@pytest.mark.parametrize(
    ("side", "cpu", "gpu"),
    [
        ("Google", VERTEX, VERTEX.replace("xla", "gpu")),
        ("Amazon", SAGEMAKER, SAGEMAKER.replace("cpu", "gpu")),
    ],
    indirect=["side"],
)
def test_the_warning_is_given_once_for_each_image_and_never_on_the_local_cloud(
    side: Side,
    cpu: str,
    gpu: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("lesson.services.images._warned", set())
    side.images.warn(cpu, LATE[side.cloud])
    assert capsys.readouterr() == ("", "")
    monkeypatch.setenv("LESSON_TARGET", "cloud")
    for uri in (cpu, cpu, gpu):
        side.images.warn(uri, LATE[side.cloud])
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 2 and err.count(cpu) == 1
