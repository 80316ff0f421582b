"""The image of a job: Google's prebuilt PyTorch images while they are kept available, else our own.

No prebuilt image with PyTorch has been kept beyond 2026-10-23. The lesson's own image is the one
that `python -m tools.image --cloud gcp` builds and pushes.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from GCP_helpers.session import place
from lesson.services.images import SOON, not_pulled, own_image, warn_once

# All dates are from this page, as stored by others in 2026, and looked up again on 2026-11-26. The
# newest PyTorch on it is 2.4. It says that 2.2 without a GPU stays longer than 2.2 with one.
PAGE = "https://docs.cloud.google.com/gemini-enterprise-agent-platform/machine-learning/supported-frameworks"
REGISTRY = "us-docker.pkg.dev/vertex-ai/training"
OWN = "lesson/rented-machines:1"  # repository, name and tag, as tools/image/ pushes it


@dataclass(frozen=True)
class Image:
    """A prebuilt training image: patched until one day, to be had until another."""

    uri: str
    patched_until: date
    available_until: date
    gpu: bool


def _image(name: str, patched_until: str, available_until: str) -> Image:
    days = date.fromisoformat(patched_until), date.fromisoformat(available_until)
    return Image(f"{REGISTRY}/{name}:latest", *days, gpu=name.startswith("pytorch-gpu"))


# The images without a GPU are named after XLA, the compiler of TPUs; they also serve plain CPUs.
IMAGES = (
    _image("pytorch-xla.2-4.py310", "2025-07-24", "2026-07-24"),
    _image("pytorch-gpu.2-4.py310", "2025-07-24", "2026-07-24"),
    _image("pytorch-xla.2-3.py310", "2025-04-24", "2026-04-24"),
    _image("pytorch-gpu.2-3.py310", "2025-04-24", "2026-04-24"),
    _image("pytorch-xla.2-2.py310", "2025-01-30", "2026-10-23"),
    _image("pytorch-gpu.2-2.py310", "2025-01-30", "2026-01-30"),
    _image("pytorch-xla.2-1.py310", "2024-10-04", "2025-10-04"),
    _image("pytorch-gpu.2-1.py310", "2024-10-04", "2025-10-04"),
    _image("pytorch-xla.2-0.py310", "2024-03-15", "2025-03-15"),
    _image("pytorch-gpu.2-0.py310", "2024-03-15", "2025-03-15"),
    _image("pytorch-gpu.1-13.py310", "2024-05-15", "2025-05-15"),
    _image("pytorch-gpu.1-13", "2023-12-08", "2024-12-08"),
    _image("pytorch-gpu.1-12.py310", "2024-05-15", "2025-05-15"),
    _image("pytorch-gpu.1-12", "2023-09-01", "2024-09-01"),
    _image("pytorch-xla.1-11", "2023-09-01", "2024-09-01"),
    _image("pytorch-gpu.1-11", "2023-09-01", "2024-09-01"),
)


def own() -> str | None:
    """Return the image of LESSON_IMAGE for Vertex AI: any that is not in Amazon's registry."""
    return own_image(lambda uri: ".dkr.ecr." not in uri)


def image_for(gpu: str | None, today: date | None = None) -> str:
    """Return LESSON_IMAGE's, else the newest prebuilt image still kept, else the lesson's own.

    The lesson's own is in the session's project; it has CUDA, and runs without a GPU too.
    """
    named = own()
    if named:
        return named
    for image in IMAGES:
        if image.gpu == bool(gpu) and (today or date.today()) <= image.available_until:
            return image.uri
    return lessons_own(*place())


def lessons_own(project: str, region: str) -> str:
    """Return the URI of the lesson's own image in a project and a region."""
    return f"{region}-docker.pkg.dev/{project}/{OWN}"


def is_prebuilt(uri: str) -> bool:
    """Tell whether the image is one of Google's own, which run a Python package."""
    return "docker.pkg.dev/vertex-ai/training/" in uri


def warn(uri: str, today: date | None = None) -> None:
    """Say once, on stderr, that an image has retired or soon will, or has to be pushed first."""
    warn_once(uri, check(uri, today or date.today()))


def check(uri: str, today: date) -> str | None:
    """Return a sentence on an image that has retired, or will within 60 days; else None.

    None when there is nothing to say, as about your own image; ours has to be pushed.
    """
    if uri.endswith(f"/{OWN}") and uri != own():
        return (
            f"the job runs in {uri}, since no prebuilt PyTorch image is kept any more; build and "
            "push it first (`python -m tools.image --cloud gcp` prints how)"
        )
    image = next((each for each in IMAGES if _name(each.uri) == _name(uri)), None)
    if image is None or today + SOON <= image.available_until:
        return None
    day = image.available_until.isoformat()
    if today > image.available_until:
        what = f"{uri} was to be had until {day} and may be gone"
    else:
        what = f"{uri} is to be had until {day} only"
    return f"{what}; {_instead(image, today)}.{not_pulled()}"


def _instead(image: Image, today: date) -> str:
    """Return what to use in place of a retired image; images are listed newest first."""
    for other in IMAGES:
        if other.gpu == image.gpu and other.available_until >= today + SOON:
            return f"use {other.uri}"
    return (
        "no prebuilt PyTorch image outlives it, so build and push the lesson's own "
        "(`python -m tools.image --cloud gcp` prints how), and name it in LESSON_IMAGE"
    )


def _name(uri: str) -> str:
    """Return the part of an image's URI that is the same in all registries."""
    return uri.partition("-docker.pkg.dev/")[2].partition(":")[0]
