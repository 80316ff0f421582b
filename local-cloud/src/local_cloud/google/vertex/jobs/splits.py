"""A managed dataset as the input of a custom job: files of its parts, and variables that name them.

Sources: InputDataConfig in types/training_pipeline.py, and Vertex AI's page "Use managed datasets"
(read 2026).
"""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from local_cloud.automl.errors import BadData
from local_cloud.bounded import process
from local_cloud.bounded.errors import CannotRead
from local_cloud.bounded.limits import Limits
from local_cloud.engine.spec import EngineError, JobRefused
from local_cloud.google.rest import ApiError
from local_cloud.google.vertex.automl import inputs
from local_cloud.google.vertex.datasets import data_items, datasets
from local_cloud.google.vertex.datasets.datasets import Datasets
from local_cloud.google.vertex.datasets.import_lists import USE
from local_cloud.google.vertex.resources.request import GS_URI
from local_cloud.google.vertex.resources.schema import require, timestamp
from local_cloud.json_types import Json
from local_cloud.store.errors import StoreError

if TYPE_CHECKING:
    import numpy as np

    from local_cloud.automl.splits import Split

SEED = 0
TABLE = Limits(memory=4 << 30, seconds=600)
Write = Callable[[BinaryIO, str], None]  # a file, and the part that it gets


def check(known: Datasets, parent: str, config: Json) -> None:
    """Refuse an input that the service would, or that is not here."""
    if "bigqueryDestination" in config:
        raise ApiError(
            "UNIMPLEMENTED",
            "not implemented in the local cloud: bigqueryDestination of a managed dataset",
        )
    prefix = config.get("gcsDestination", {}).get("outputUriPrefix", "")
    require(GS_URI.match(prefix), "inputDataConfig.gcsDestination: a gs://BUCKET is needed")
    dataset = known.get(f"{parent}/datasets/{config.get('datasetId', '')}")
    inputs.split(config, tables=dataset["metadataSchemaUri"] == datasets.TABLES)


def write_parts(known: Datasets, parent: str, config: Json) -> dict[str, str]:
    """Write the parts to the bucket, and return the variables of a job; or raise JobRefused."""
    try:
        dataset = known.get(f"{parent}/datasets/{config['datasetId']}")
        if dataset["metadataSchemaUri"] == datasets.TABLES:
            with tempfile.TemporaryDirectory() as folder:
                write = _table(known, dataset, config, folder=Path(folder))
                return _put(known, dataset, config, kind="csv", about="tables", write=write)
        write = _pictures(known, dataset, config)
        return _put(known, dataset, config, kind="jsonl", about="image_classification", write=write)
    except (ApiError, BadData, CannotRead, EngineError, StoreError) as problem:
        raise JobRefused(f"inputDataConfig: {problem}") from None


def _put(
    known: Datasets, dataset: Json, config: Json, *, kind: str, about: str, write: Write
) -> dict[str, str]:
    prefix, name = config["gcsDestination"]["outputUriPrefix"], dataset["name"].rsplit("/", 1)[1]
    folder = f"{prefix.rstrip('/')}/dataset-{name}-{about}-{timestamp(time.time())}"
    bucket, _, place = folder.removeprefix("gs://").partition("/")
    variables = {"AIP_DATA_FORMAT": kind}
    for part in ("training", "validation", "test"):
        file = known.objects.upload_file()
        try:
            with known.objects.space.open(file) as body:
                write(body, part)
            known.objects.put(bucket, f"{place}/{part}-00000-of-00001.{kind}", file)
        finally:
            file.unlink(missing_ok=True)
        variables[f"AIP_{part.upper()}_DATA_URI"] = f"{folder}/{part}-*.{kind}"
    return variables


def _table(known: Datasets, dataset: Json, config: Json, *, folder: Path) -> Write:
    """Return what writes the rows of a part, with the header; folder: for files that it makes."""
    from local_cloud.automl import table_parts

    paths = [str(path) for path in known.tables(dataset, folder)]
    split = asdict(_split(config))
    process.call(table_parts.write, paths, split, limits=TABLE, seed=SEED, folder=str(folder))

    def write(body: BinaryIO, part: str) -> None:
        with (folder / f"{part}.csv").open("rb") as file:
            shutil.copyfileobj(file, body)

    return write


def _pictures(known: Datasets, dataset: Json, config: Json) -> Write:
    """Return what writes the lines of a part's pictures."""
    items = known.items.all(dataset["name"])
    parts: np.ndarray = _split(config).shares(len(items), SEED)
    for place, item in enumerate(items):
        if "fractionSplit" not in config and (own := item["labels"].get(USE)):
            parts[place] = own

    def write(body: BinaryIO, part: str) -> None:
        for item, own in zip(items, parts, strict=True):
            if own == part:
                body.write(json.dumps(data_items.line(item)).encode() + b"\n")

    return write


def _split(config: Json) -> Split:
    from local_cloud.automl.splits import Split

    column = config.get("predefinedSplit", {}).get("key", "")
    moment = config.get("timestampSplit", {}).get("key", "")
    return Split(inputs.fractions(config), column, moment)
