"""Which image a job runs in, and what is said about one that is no longer kept up."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

import pytest

from tests.helpers.sides import Side

VERTEX = "us-docker.pkg.dev/vertex-ai/training/pytorch-xla.2-4.py310:latest"
SAGEMAKER = "763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:2.10.0-cpu-py313"


@dataclass(frozen=True)
class Known:
    """A side's images, days on which something is said of them, and what is said."""

    cpu: str
    gpu: str
    old: str  # an image with a newer one beside it
    own: str
    fine: date  # months before the end of the newest
    soon: date
    soon_said: str
    old_day: date  # the end of the old one is past
    old_said: str
    late: date  # the end of all is past


KNOWN = {
    "Google": Known(
        cpu=VERTEX,
        gpu=VERTEX.replace("xla", "gpu"),
        old=VERTEX.replace("2-4", "2-1"),
        own="us-central1-docker.pkg.dev/my-project/images/torch:1",
        fine=date(2026, 5, 1),
        soon=date(2026, 7, 1),
        soon_said=f"{VERTEX} is to be had until 2026-07-24 only",
        old_day=date(2025, 11, 1),
        old_said=f"until 2025-10-04 and may be gone; use {VERTEX}",
        late=date(2026, 11, 20),
    ),
    "Amazon": Known(
        cpu=SAGEMAKER,
        gpu=SAGEMAKER.replace("cpu", "gpu"),
        old=SAGEMAKER.replace("2.10.0", "2.9.0").replace("py313", "py312"),
        own="123456789012.dkr.ecr.us-east-1.amazonaws.com/mine:1",
        fine=date(2026, 11, 20),
        soon=date(2026, 12, 20),
        soon_said=f"{SAGEMAKER} is patched until 2027-01-21 only; look for a newer one",
        old_day=date(2026, 11, 20),
        old_said="was patched until 2026-10-15 only; use pytorch-training:2.10.0",
        late=date(2027, 2, 1),
    ),
}


@pytest.fixture
def known(side: Side) -> Known:
    return KNOWN[side.cloud]


@pytest.mark.parametrize(
    ("side", "without_gpu", "with_gpu"),
    [
        ("Google", (None,), ("T4",)),
        ("Amazon", ("ml.m5.xlarge", "us-east-1"), ("ml.g4dn.xlarge", "us-east-1")),
    ],
    indirect=["side"],
)
def test_the_newest_image_is_chosen_with_cuda_only_for_a_gpu(
    side: Side, known: Known, without_gpu: tuple[str, ...], with_gpu: tuple[str, ...]
) -> None:
    assert side.images.image_for(*without_gpu) == known.cpu
    assert side.images.image_for(*with_gpu) == known.gpu


def test_an_image_with_months_to_go_draws_no_warning(side: Side, known: Known) -> None:
    assert side.images.check(known.cpu, known.fine) is None


def test_an_image_that_ends_soon_is_named_with_its_date_and_what_to_do(
    side: Side, known: Known
) -> None:
    assert known.soon_said in side.images.check(known.cpu, known.soon)


def test_while_a_newer_image_lives_it_is_the_alternative(side: Side, known: Known) -> None:
    assert known.old_said in side.images.check(known.old, known.old_day)


def test_nothing_is_said_about_images_of_ones_own(side: Side, known: Known) -> None:
    assert side.images.check(known.own, known.late) is None


def test_only_under_the_local_target_the_sentence_says_that_the_job_runs(
    side: Side, known: Known, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = "no registry is asked for it, so the job runs"
    assert runs in side.images.check(known.old, known.late)
    monkeypatch.setenv("LESSON_TARGET", "cloud")
    assert runs not in side.images.check(known.old, known.late)


def test_the_warning_is_given_once_for_each_image(
    side: Side,
    known: Known,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("LESSON_TARGET", "cloud")
    monkeypatch.setattr("lesson.services.images._warned", set())
    for uri in (known.cpu, known.cpu, known.gpu):
        side.images.warn(uri, known.late)
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 2 and err.count(known.cpu) == 1


def test_nothing_is_said_before_a_job_of_the_local_cloud(
    side: Side, known: Known, capsys: pytest.CaptureFixture[str]
) -> None:
    side.images.warn(known.cpu, known.late)
    assert capsys.readouterr() == ("", "")
