"""Which image a job runs in, and what is said about one whose patches end."""

from __future__ import annotations

from datetime import date

import pytest

from AWS_helpers.images import IMAGES, PAGE, check, image_for

CPU = "763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:2.10.0-cpu-py313"


@pytest.mark.parametrize("machine", ["ml.m5.large", "ml.g4dn.xlarge", "ml.g5.xlarge"])
@pytest.mark.parametrize("region", ["us-east-1", "us-west-2", "eu-central-1"])
def test_the_sdk_itself_names_the_same_image(machine: str, region: str) -> None:
    from sagemaker.core import image_uris

    newest = IMAGES[0]
    image = image_uris.retrieve(
        "pytorch",
        region,
        version=newest.version,
        py_version=newest.python,
        instance_type=machine,
        image_scope="training",
    )
    assert image_for(machine, region) == image


def test_an_image_is_known_in_any_region_and_by_its_long_tag() -> None:
    far = CPU.replace("us-east-1", "eu-west-1") + "-ubuntu22.04-sagemaker"
    assert check(far, date(2027, 2, 1)) is not None


def test_the_images_are_listed_newest_first_with_their_source() -> None:
    days = [image.patched_until for image in IMAGES]
    assert days == sorted(days, reverse=True) and PAGE.startswith("https://")
