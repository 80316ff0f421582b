"""Pictures as a model gets them: decoded with care, for anybody may have made the files."""

from __future__ import annotations

import io
import warnings
from pathlib import Path

import numpy as np
from PIL import Image

from local_cloud.automl.errors import BadData

SIZE = 32  # pixels of a side, in which a model sees every picture
LARGEST = 30_000_000  # bytes of a file, as on Vertex AI
MOST_PIXELS = 50_000_000  # of a picture; a small file may unpack to any number
FORMATS = ("PNG", "JPEG", "GIF", "BMP", "WEBP", "TIFF", "ICO")


def read(path: Path, name: str) -> np.ndarray:
    """Return the picture of a file; name: what a message calls it."""
    try:
        if path.stat().st_size > LARGEST:
            raise BadData(f"{name} has more than {LARGEST:,} bytes")
        return decode(path.read_bytes(), name)
    except OSError as problem:
        raise BadData(f"{name} cannot be read: {problem}") from None


def decode(content: bytes, name: str) -> np.ndarray:
    """Return a picture as numbers from 0 to 1, (SIZE, SIZE, 3); BadData if it is none."""
    if len(content) > LARGEST:
        raise BadData(f"{name} has more than {LARGEST:,} bytes")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            warnings.filterwarnings("ignore", category=UserWarning)  # odd metadata
            with Image.open(io.BytesIO(content), formats=FORMATS) as picture:
                if picture.width * picture.height > MOST_PIXELS:
                    raise Image.DecompressionBombError
                picture.draft("RGB", (2 * SIZE, 2 * SIZE))
                small = picture.convert("RGB").resize((SIZE, SIZE), Image.Resampling.BILINEAR)
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise BadData(f"{name} has more than {MOST_PIXELS:,} pixels") from None
    except (OSError, ValueError, SyntaxError, EOFError, MemoryError) as problem:
        raise BadData(f"{name} is not a whole picture: {problem}") from None
    return np.asarray(small, dtype=np.float32) / 255
