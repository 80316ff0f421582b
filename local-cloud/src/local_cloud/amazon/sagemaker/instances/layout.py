"""/opt/ml of one instance: its folders, its channels' files, the three files of configuration.

Sources: "How Amazon SageMaker provides training information" in the developer guide, and what
the SDK's own drivers and the framework containers' toolkit read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from local_cloud.amazon.sagemaker.resources.names import split_s3_uri
from local_cloud.amazon.sagemaker.resources.request import mode
from local_cloud.engine import system
from local_cloud.engine.isolation import mounts, roots
from local_cloud.engine.spec import JobRefused
from local_cloud.json_types import Json
from local_cloud.store import files
from local_cloud.store.errors import StoreError
from local_cloud.store.objects import Objects

ML = "/opt/ml"
GROUP = "homogeneousCluster"
LONGEST = 255  # bytes of a file's name
INTERFACE = system.LOOPBACK  # on which instances meet


@dataclass(frozen=True)
class Host:
    """One instance of a job: its name, the names of all, and the folder that is its /opt/ml."""

    name: str
    hosts: tuple[str, ...]  # sorted as text; a host's place there is its rank
    ml: Path

    @property
    def rank(self) -> int:
        """Return the place among the hosts."""
        return self.hosts.index(self.name)

    def channel(self, name: str) -> Path:
        """Return the folder of a channel."""
        return self.ml / "input" / "data" / name


def names(count: int) -> tuple[str, ...]:
    """Return the hosts of so many instances.

    They are algo-1, algo-10, algo-2, …, in the order of the text.
    """
    return tuple(sorted(f"algo-{number}" for number in range(1, count + 1)))


def make(host: Host, request: Json, objects: Objects) -> None:
    """Make the host's /opt/ml, with the channels' files."""
    for folder in ("input/config", "input/data", "model", "output/data"):
        (host.ml / folder).mkdir(parents=True, exist_ok=True)
    for channel in request.get("InputDataConfig") or []:
        name, source = channel["ChannelName"], channel["DataSource"]["S3DataSource"]
        fill(host.channel(name), f"channel {name}", source, host=host, objects=objects)
    # Where nothing is mounted, the paths that the configuration tells are the folder's own.
    real = {} if roots.available() else {ML: host.ml}
    for name, content in _configuration(host, request).items():
        text = json.dumps(content)
        path = host.ml / "input" / "config" / f"{name}.json"
        path.write_text(mounts.rewrite(text, real), encoding="utf-8")


def _configuration(host: Host, request: Json) -> dict[str, Json]:
    instance_type = request["ResourceConfig"]["InstanceType"]
    return {
        "hyperparameters": request.get("HyperParameters") or {},
        "inputdataconfig": {
            channel["ChannelName"]: _describe_channel(channel, request)
            for channel in request.get("InputDataConfig") or []
        },
        "resourceconfig": {
            "current_host": host.name,
            "current_instance_type": instance_type,
            # The toolkit reads the first of the two and documents the second.
            "current_group_name": GROUP,
            "current_instance_group": GROUP,
            "hosts": list(host.hosts),
            "instance_groups": [
                {
                    "instance_group_name": GROUP,
                    "instance_type": instance_type,
                    "hosts": list(host.hosts),
                }
            ],
            "network_interface_name": INTERFACE,
        },
    }


def _describe_channel(channel: Json, request: Json) -> Json:
    source = channel["DataSource"]["S3DataSource"]
    description = {
        "TrainingInputMode": mode(channel, request),
        "S3DistributionType": source.get("S3DataDistributionType", "FullyReplicated"),
        "RecordWrapperType": channel.get("RecordWrapperType", "None"),
    }
    return description | (
        {"ContentType": channel["ContentType"]} if "ContentType" in channel else {}
    )


def fill(
    folder: Path, what: str, source: Mapping[str, Any], *, host: Host, objects: Objects
) -> None:
    """Copy what a source names in S3, or this host's part of it, to the folder.

    what: for the sentence of a refusal; source: S3Uri, and whether it is sharded.
    """
    bucket, prefix = split_s3_uri(source["S3Uri"])
    folder.mkdir(parents=True, exist_ok=True)
    try:
        keys = list(objects.names(bucket, prefix))
        if not keys:
            raise JobRefused(f"{what}: nothing is left below {source['S3Uri']}")
        if source.get("S3DataDistributionType") == "ShardedByS3Key":
            keys = shard(keys, host.rank, len(host.hosts))
        for key in keys:
            copy(objects, bucket, key, path=folder / below(key, prefix))
    except StoreError as problem:
        raise JobRefused(f"{what}: {problem}") from None
    except (FileExistsError, NotADirectoryError, IsADirectoryError) as problem:
        raise JobRefused(
            f"{what}: one key is the folder of another ({problem.filename}): no folder"
            " can hold both"
        ) from None


def shard(keys: Sequence[str], rank: int, count: int) -> list[str]:
    """Return this host's part of the keys.

    All parts together are the keys, and about equally many.
    """
    return list(keys[rank::count])


def below(key: str, prefix: str) -> Path:
    """Return where in its channel's folder an object lies: by what its key has behind the prefix.

    A prefix `train` names the object `train`, all of `train/…`, and `train-01/…` too; the last
    keeps its whole name. JobRefused for a key that would lead out of the folder, and for one that
    no file can be called.
    """
    start = prefix.rfind("/") + 1
    if key.startswith(f"{prefix}/"):
        start = len(prefix) + 1
    parts = [part for part in key[start:].split("/") if part]
    if any(part in (".", "..") or len(part.encode()) > LONGEST for part in parts):
        raise JobRefused(f"the key {key!r} cannot be a file's path: rename the object")
    return Path(*parts)


def copy(objects: Objects, bucket: str, key: str, *, path: Path) -> None:
    """Copy an object to a path; a key that ends with a slash makes a folder."""
    if key.endswith("/"):  # what consoles make to show a folder
        path.mkdir(parents=True, exist_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    source_object, source = objects.open(bucket, key)
    with source, objects.space.open(path) as target:
        files.append(target, source, source_object.size)
