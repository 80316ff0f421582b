"""Amazon's prebuilt PyTorch images for training, and how long each is patched."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date

from lesson.services.images import SOON, not_pulled, own_image, warn_once

# Both dates are from this page, as stored by others in 2026. An image stays after its date, but
# is no longer repaired. Newer PyTorch, 2.11 to 2.14, lies in the repository `pytorch`.
PAGE = "https://aws.github.io/deep-learning-containers/reference/support_policy/"
# An image in Amazon's registry: account, region, repository, tag.
ECR = re.compile(r"(\d{12})\.dkr\.ecr\.([a-z0-9-]+)\.amazonaws\.com/([^:@]+):(.+)")
ACCOUNT = "763104351884"  # Amazon's own, in us-east-1 and most regions


@dataclass(frozen=True)
class Image:
    """A prebuilt training image, which comes without a GPU's libraries and with them."""

    version: str  # of PyTorch
    python: str
    patched_until: date

    def uri(self, gpu: bool, region: str) -> str:
        """Return its URI in a region."""
        kind = "gpu" if gpu else "cpu"
        tag = f"{self.version}-{kind}-{self.python}"
        return f"{ACCOUNT}.dkr.ecr.{region}.amazonaws.com/pytorch-training:{tag}"


IMAGES = (
    Image("2.10.0", "py313", date(2027, 1, 21)),
    Image("2.9.0", "py312", date(2026, 10, 15)),
)


def own() -> str | None:
    """Return the image of LESSON_IMAGE for SageMaker: one that is in Amazon's registry."""
    return own_image(lambda uri: ECR.fullmatch(uri) is not None)


def image_for(machine: str, region: str) -> str:
    """Return LESSON_IMAGE's, else the newest prebuilt one, with CUDA if the type has a GPU."""
    return own() or IMAGES[0].uri(machine.startswith(("ml.g", "ml.p")), region)


def serving_image_for(machine: str, region: str) -> str:
    """Return the image that serves what image_for()'s trains; LESSON_IMAGE does not serve."""
    gpu = machine.startswith(("ml.g", "ml.p"))
    return IMAGES[0].uri(gpu, region).replace("pytorch-training:", "pytorch-inference:")


def warn(uri: str, today: date | None = None) -> None:
    """Say once, on stderr, that an image is no longer patched or soon will not be."""
    warn_once(uri, check(uri, today or date.today()))


def check(uri: str, today: date) -> str | None:
    """Return a sentence on an image whose patches have ended, or will within 60 days.

    None when there is nothing to say, as about images that are not Amazon's prebuilt ones.
    """
    image = next((each for each in IMAGES if _is(each, uri)), None)
    if image is None or today + SOON <= image.patched_until:
        return None
    day = image.patched_until.isoformat()
    what = f"was patched until {day}" if today > image.patched_until else f"is patched until {day}"
    return f"{uri} {what} only; {_instead(image, today)}.{not_pulled()}"


def _is(image: Image, uri: str) -> bool:
    """Tell whether the URI is that of the image, in any region, by a longer tag too."""
    name, _, tag = uri.rpartition("/")[2].partition(":")
    return name == "pytorch-training" and f"{tag}-".startswith(
        (f"{image.version}-cpu-{image.python}-", f"{image.version}-gpu-{image.python}-")
    )


def _instead(image: Image, today: date) -> str:
    """Say what to use in place of an image that is running out; IMAGES has the newest first."""
    for other in IMAGES:
        if other is not image and other.patched_until >= today + SOON:
            return f"use pytorch-training:{other.version}, as `container_uri`"
    return (
        f"look for a newer one at {PAGE}, or build and push the lesson's own "
        "(`python -m tools.image --cloud aws` prints how), and name it in LESSON_IMAGE"
    )
