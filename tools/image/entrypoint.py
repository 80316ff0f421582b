"""Start train_nn.py in the lesson's image, by each service's contract.

`entrypoint.py train` is SageMaker's: settings and data are below /opt/ml. With any other words,
these are the flags of train_nn.py, as Vertex AI sends them. SageMaker's SDK, version 3, and Vertex
AI's from_local_script start something else than this: then only the packages of the image count.

Sources (read 2026): the archived developer guide of SageMaker, your-algorithms-training-algo-*;
sagemaker-training-toolkit, environment.py and mapping.py, for names and values; Vertex AI's
CustomJobSpec, where `args` without a `command` go to the entry point.
"""

from __future__ import annotations

import json
import os
import sys
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

OWN = Path(__file__).with_name("training")  # the copy of the lesson's folder in the image
SCRIPT = "train_nn.py"
# Hyperparameters that the service and its SDKs keep for themselves.
PREFIX, OBJECTIVE = "sagemaker_", "_tuning_objective_metric"


def main(words: list[str]) -> tuple[Path, list[str], dict[str, str]]:
    """Return the folder to work in, the script with its flags, and variables to add."""
    if words[:1] != ["train"]:
        return Path.cwd(), [str(OWN / SCRIPT), *words], {}
    base = Path(os.environ.get("SAGEMAKER_BASE_DIR", "/opt/ml"))
    given = {name: decode(value) for name, value in settings(base, "hyperparameters").items()}
    flags = [f"--{n}={v}" for n, v in given.items() if not n.startswith(PREFIX) and n != OBJECTIVE]
    script = OWN / SCRIPT
    if archive := given.get("sagemaker_submit_directory"):  # the tuner of version 3 sends code so
        unpack(str(archive), base / "code")
        script = base / "code" / str(given.get("sagemaker_program", SCRIPT))
    return script.parent, [str(script), *flags], variables(base)


def settings(base: Path, name: str) -> dict[str, Any]:
    """Return a JSON file of the service; empty if there is none."""
    path = base / "input" / "config" / f"{name}.json"
    content: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return content


def decode(value: Any) -> Any:
    """Return a hyperparameter: version 2 of the SDK sends each as JSON, version 3 as it is."""
    try:
        return json.loads(value)
    except ValueError:
        return value


def variables(base: Path) -> dict[str, str]:
    """Return the variables by which a script finds its folders, its data, other instances."""
    hosts = settings(base, "resourceconfig")
    data = base / "input" / "data"
    channels = [each.name for each in data.iterdir() if each.is_dir()] if data.exists() else []
    settings_by_name = {
        "SM_MODEL_DIR": str(base / "model"),
        "SM_OUTPUT_DATA_DIR": str(base / "output" / "data"),
        **{f"SM_CHANNEL_{name.upper()}": str(data / name) for name in sorted(channels)},
    }
    if hosts:
        settings_by_name["SM_HOSTS"] = json.dumps(hosts["hosts"])
        settings_by_name["SM_CURRENT_HOST"] = hosts["current_host"]
        settings_by_name["SM_NETWORK_INTERFACE_NAME"] = hosts.get("network_interface_name", "eth0")
    return settings_by_name


def unpack(archive: str, folder: Path) -> None:
    """Extract a job's code, a tar.gz at an s3:// URI or in a file."""
    folder.mkdir(parents=True, exist_ok=True)
    path = Path(archive)
    if archive.startswith("s3://"):
        import boto3

        bucket, _, key = archive.removeprefix("s3://").partition("/")
        path = folder.parent / "sourcedir.tar.gz"
        boto3.client("s3").download_file(bucket, key, str(path))
    with tarfile.open(path) as packed:
        if hasattr(tarfile, "data_filter"):  # from Python 3.11.4 on
            packed.extraction_filter = tarfile.data_filter
        packed.extractall(folder)


def environment(added: Mapping[str, str]) -> dict[str, str]:
    """Return the process's environment; what it has already is not written over."""
    return {**added, **os.environ}


if __name__ == "__main__":
    place, command, more = main(sys.argv[1:])
    os.chdir(place)
    # In this process's place, so that SIGTERM reaches the training and its exit code is the job's.
    os.execve(sys.executable, [sys.executable, *command], environment(more))
