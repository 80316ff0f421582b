"""`python -m local_cloud images list | pull NAME | remove NAME | build URI DOCKERFILE [FOLDER]`."""

from __future__ import annotations

import difflib
import functools
from pathlib import Path

from local_cloud.client.home import Home
from local_cloud.errors import LocalCloudError
from local_cloud.images import table
from local_cloud.images.build import build
from local_cloud.images.pull import pull
from local_cloud.images.pulled_images import PulledImages

USAGE = (
    "give `list`, `pull NAME`, `remove NAME` or `build URI DOCKERFILE [FOLDER]`; NAME is an image's"
    " URI, or a name of the list; FOLDER has the files that the Dockerfile copies"
)


def run(words: list[str], home: Home) -> None:
    """Do what the words say, and print what was done; LocalCloudError if it cannot be done."""
    images = PulledImages(home.images)
    match words or ["list"]:
        case ["list"]:
            print(describe_images(images))
        case ["pull", name]:
            home.make()
            pull(_image(name), images, say=lambda line: print(line, flush=True))
        case ["remove", name]:
            print(remove(name, images))
        case ["build", uri, path, *folder] if len(folder) <= 1:
            home.make()
            context = Path(folder[0]) if folder else None
            say = functools.partial(print, flush=True)
            build(uri, Path(path), images=images, say=say, context=context)
        case _:
            raise LocalCloudError(f"images {' '.join(words)}: {USAGE}")


def describe_images(images: PulledImages) -> str:
    """Return the table of images, a line each."""
    lines = [f"Images that can be pulled (as of {table.READ}):", ""]
    width = max(len(image.name) for image in table.IMAGES)
    for image in table.IMAGES:
        pulled = images.get(image)
        state = f"pulled: Python {pulled.python}, {pulled.megabytes} MB" if pulled else "not pulled"
        lines.append(
            f"{image.name:{width}}  Python {image.python:4}  {image.framework:18}  {state}"
        )
    if own := list(images.all_built()):
        lines += ["", "Your own, from a Dockerfile:", "", *own]
    return "\n".join(lines)


def remove(name: str, images: PulledImages) -> str:
    """Remove an image, and return what was done."""
    if images.remove_built(name):
        return f"Removed {name}"
    image = _image(name)
    if images.remove(image):
        return f"Removed {image.name}"
    return f"Not pulled, so not removed: {image.name}"


def _image(name: str) -> table.Image:
    if image := table.find(name):
        return image
    near = difflib.get_close_matches(name, table.BY_NAME, n=3, cutoff=0.5)
    hint = f" Near it: {', '.join(near)}." if near else ""
    raise LocalCloudError(
        f"no environment is known for the image {name}: jobs of it run with the local cloud's own"
        f" packages.{hint} `python -m local_cloud images list` shows the others"
    )
