"""How large a picture is: a function for a process with limits, which reads no pixel."""

from __future__ import annotations

from local_cloud.bounded.errors import DamagedFile, OverLimit

MILLIONS = 50  # of pixels: a browser takes 4 bytes for each


def check(path: str) -> None:
    """Raise OverLimit for a picture that would fill a browser's memory, DamagedFile for none."""
    from PIL import Image

    Image.MAX_IMAGE_PIXELS = None
    try:
        with Image.open(path) as picture:
            width, height = picture.size
    except (OSError, ValueError, SyntaxError, TypeError, LookupError, OverflowError) as problem:
        raise DamagedFile(str(problem)) from problem
    if width * height > MILLIONS * 1_000_000:
        raise OverLimit(f"larger than {MILLIONS} million pixels")
