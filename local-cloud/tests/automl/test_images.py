"""Pictures: a network learns shapes, explains itself, and hostile files are refused."""

from __future__ import annotations

import io
import json
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from local_cloud.automl import picture_model, pictures, train_images
from local_cloud.automl.errors import BadData
from local_cloud.automl.picture_model import PictureModel
from tests.automl.shapes import png, shape


def items(folder: Path, count: int = 24) -> Path:
    """Write pictures of two shapes, and the list of them."""
    lines = []
    for number in range(count):
        form = ("circle", "square")[number % 2]
        path = folder / f"{number}.png"
        path.write_bytes(shape("red", form, number))
        line = {"file": str(path), "uri": f"gs://shapes/{path.name}", "labels": [form], "use": ""}
        lines.append(json.dumps(line))
    listed = folder / "items.jsonl"
    listed.write_text("\n".join(lines), encoding="utf-8")
    return listed


def test_shapes_are_learned_and_their_regions_explain_the_prediction(tmp_path: Path) -> None:
    words = ["--items", str(items(tmp_path, 80)), "--fractions", "0.6", "0.2", "0.2"]
    train_images.main([*words, "--output", str(tmp_path / "output")])
    evaluation = json.loads((tmp_path / "output/evaluation.json").read_text())
    assert evaluation["accuracy"] >= 0.8
    model = PictureModel.load(tmp_path / "output/model")
    picture = pictures.decode(shape("red", "circle", 500), "it")
    attributions, baseline, prediction, place = model.explain(picture, 5)
    assert model.classes[place] == "circle"
    assert attributions.sum() == pytest.approx(prediction - baseline, abs=1e-6)
    assert prediction == pytest.approx(float(model.predict(picture[None])[0, place]), abs=1e-5)
    assert baseline == pytest.approx(float(model.predict(0 * picture[None])[0, place]), abs=1e-5)


def test_the_same_seed_trains_the_same(tmp_path: Path) -> None:
    seen = np.stack([pictures.decode(shape("blue", "square", seed), "it") for seed in range(12)])
    wanted = np.eye(2, dtype=int)[np.arange(12) % 2]
    once, again = (
        picture_model.train(
            "ab", (seen, wanted), (seen, wanted), multi_label=True, seconds=0.0, seed=1
        ).predict(seen)
        for _ in range(2)
    )
    assert (once == again).all()


def bomb() -> bytes:
    """A PNG of 60,000 by 60,000 pixels, in a few bytes."""
    header = struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0)

    def chunk(kind: bytes, data: bytes) -> bytes:
        checked = kind + data
        return struct.pack(">I", len(data)) + checked + struct.pack(">I", zlib.crc32(checked))

    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", b"") + chunk(b"IEND", b"")


def test_a_hostile_file_is_refused_in_a_sentence() -> None:
    whole = shape("red", "circle", 1)
    eps = io.BytesIO()  # a format that another program would draw
    Image.new("RGB", (8, 8)).save(eps, "EPS")
    wrong = [(whole[: len(whole) // 2], "not a whole"), (b"", "not a whole"), (bomb(), "pixels")]
    wrong += [(b"GIF89a" + bytes(20), "not a whole"), (eps.getvalue(), "not a whole")]
    wrong += [
        (whole.replace(b"IDAT", b"XXXX"), "not a whole"),
        (bytes(pictures.LARGEST + 1), "bytes"),
    ]
    for content, words in wrong:
        with pytest.raises(BadData, match=rf"gs://it.*{words}"):
            pictures.decode(content, "gs://it")


def test_pictures_of_all_kinds_of_colour_become_alike() -> None:
    for mode in ("1", "L", "P", "RGBA", "CMYK"):
        kind = "TIFF" if mode == "CMYK" else "PNG"
        file = io.BytesIO()
        Image.new(mode, (7, 90)).save(file, kind)
        assert pictures.decode(file.getvalue(), "it").shape == (32, 32, 3)
    assert png(Image.new("RGB", (3, 3)))


def test_what_cannot_be_trained_on_is_told(tmp_path: Path) -> None:
    listed = items(tmp_path, 4)
    words = ["--items", str(listed), "--output", str(tmp_path)]
    with pytest.raises(SystemExit, match="no picture is left for validation"):
        train_images.main(words)
    (tmp_path / "2.png").write_bytes(b"no picture")
    with pytest.raises(SystemExit, match=r"gs://shapes/2\.png is not a whole picture"):
        train_images.main(words)
    text = listed.read_text()
    listed.write_text(text.replace('["square"]', '["square", "blue"]'))
    with pytest.raises(SystemExit, match=r"gs://shapes/\d\.png has 2 labels; .*multi_label=True"):
        train_images.main(words)
    listed.write_text(text.replace("square", "circle"))
    with pytest.raises(SystemExit, match="1 classes; 2 are needed"):
        train_images.main(words)
