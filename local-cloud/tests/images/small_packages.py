"""Small packages under the names of real ones, and images that are pulled with them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from packaging.requirements import Requirement

from local_cloud.images.pull import pull
from local_cloud.images.pulled_images import PulledImages
from local_cloud.images.table import Image
from tests.engine.wheels import index, wheel


@contextmanager
def variables(folder: Path) -> Iterator[dict[str, str]]:
    """An index of the wheels in a folder; variables by which it alone is configured."""
    with index(folder) as variables_of_index:
        yield variables_of_index | {
            "PIP_CONFIG_FILE": "/dev/null",
            "PIP_FIND_LINKS": "",
            "PIP_EXTRA_INDEX_URL": "",
            "UV_CACHE_DIR": str(folder / "cache"),
            "UV_PYTHON_DOWNLOADS": "never",
        }


@contextmanager
def pulled(folder: Path, images: PulledImages, wanted: Sequence[Image]) -> Iterator[None]:
    """These images, pulled with packages that only say their version; removed at the end."""
    for requirement in {each for image in wanted for each in image.packages}:
        named = Requirement(requirement)
        version = next((one.version for one in named.specifier), "1.0")
        wheel(folder, named.name.replace("-", "_"), version)
    before = dict(os.environ)
    with variables(folder) as variables_of_index:
        try:
            os.environ.update(variables_of_index)
            for image in wanted:
                pull(image, images, lambda line: None)
        finally:
            os.environ.clear()
            os.environ.update(before)
    yield
    for image in wanted:
        images.remove(image)
