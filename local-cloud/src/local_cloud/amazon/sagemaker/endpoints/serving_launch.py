"""From a model to processes: what each instance of a variant runs, and the /opt/ml it meets.

Sources: "Custom Inference Code with Hosting Services" in the developer guide, and the code of the
containers' sagemaker-inference-toolkit and sagemaker-pytorch-inference-toolkit (read 2026).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from local_cloud.amazon.sagemaker.algorithms import xgboost_launch
from local_cloud.amazon.sagemaker.instances import drivers, layout
from local_cloud.amazon.sagemaker.instances.layout import ML
from local_cloud.amazon.sagemaker.instances.types import gpus_of
from local_cloud.amazon.sagemaker.jobs.failure_reason import OURS
from local_cloud.amazon.sagemaker.resources.names import split_data_uri, split_s3_uri
from local_cloud.engine.environments import archives
from local_cloud.engine.isolation import roots
from local_cloud.engine.serving.spec import ServingPlan
from local_cloud.engine.spec import EngineError, JobContext, JobRefused, Replica
from local_cloud.json_types import Json
from local_cloud.store import trees
from local_cloud.store.errors import StoreError
from local_cloud.store.objects import Objects

PORT = 8080
START_SECONDS = 240.0  # /ping has to answer by then; a variant can ask for more
GRACE_SECONDS = 30.0  # between SIGTERM and SIGKILL
PROGRAM = Path(__file__).parents[1] / "models" / "prebuilt_server.py"
# Amazon's images whose container runs what is in the archive, or TorchScript without any code.
PYTORCH = re.compile(r".*/pytorch-(inference|training)\b[^/]*")
SCIKIT_LEARN = re.compile(r".*/sagemaker-scikit-learn\b[^/]*")
CODE = f"{ML}/model/code"
LARGEST = 16 << 30  # bytes of a model


def plan(
    container: Json,
    variant: Json,
    context: JobContext,
    *,
    objects: Objects,
    base: Mapping[str, str],
) -> ServingPlan:
    """Bring the model and say what its replicas run; JobRefused where that cannot be.

    container: the model's; variant: of an endpoint configuration; base: by which SDKs find this
    local cloud, nothing if the model is to reach no network.
    """
    folder, image = context.folder / "ml", container.get("Image", "")
    made = folder / "model"
    bring(container, made, objects)
    environment = container.get("Environment") or {}
    _bring_code(environment, made / "code", objects)
    program = environment.get("SAGEMAKER_PROGRAM") or "inference.py"
    base_of_image = context.base(image)
    served = base_of_image.command((), ["serve"])
    is_xgboost = bool(xgboost_launch.IMAGE.fullmatch(image))
    has_program = "SAGEMAKER_PROGRAM" in environment or (made / "code" / program).is_file()
    is_built_in = is_xgboost and not has_program
    if is_built_in and not served:
        xgboost_launch.require_package(base_of_image)
    elif not served:
        _check(container, made, program, note=base_of_image.note)
    notes = [*_notes(base_of_image.note, variant), *_install(made / "code", image, context)]
    if not roots.available():
        drivers.rewrite_all(made / "code", {ML: folder})
    shared = {
        **base,
        "SAGEMAKER_BASE_DIR": ML,
        "SM_MODEL_DIR": f"{ML}/model",
        "SAGEMAKER_REGION": base.get("AWS_REGION", ""),
        **({"SAGEMAKER_DEFAULT_INVOCATIONS_ACCEPT": "text/csv"} if is_built_in else {}),
        **environment,
        "SAGEMAKER_PROGRAM": program,
        "SAGEMAKER_SUBMIT_DIRECTORY": CODE,
        "SERVE_HOST": "127.0.0.1",
    }

    framework = "scikit-learn" if SCIKIT_LEARN.fullmatch(image) else "pytorch"
    if is_xgboost:
        framework = "xgboost"

    def replica(name: str, port: int) -> Replica:
        own = {"SAGEMAKER_BIND_TO_PORT": str(port)}
        command = served or (sys.executable, str(PROGRAM), framework)
        return Replica(name, command, shared | own, mounts={ML: folder}, image=image)

    outside = urlsplit(base.get("AWS_ENDPOINT_URL", "")).port
    return ServingPlan(
        replica,
        port=PORT,
        health="/ping",
        start_seconds=float(
            variant.get("ContainerStartupHealthCheckTimeoutInSeconds") or START_SECONDS
        ),
        grace=GRACE_SECONDS,
        outside=(outside,) if outside else (),
        notes=tuple(notes),
    )


def bring(container: Json, folder: Path, objects: Objects) -> None:
    """Bring a model's data to a folder: an archive unpacked, or the objects below a prefix."""
    trees.remove(folder)  # of the last time, before the server was restarted
    folder.mkdir(parents=True)
    source = (container.get("ModelDataSource") or {}).get("S3DataSource") or {}
    uri = container.get("ModelDataUrl") or source.get("S3Uri")
    if not uri:
        return
    bucket, key = split_data_uri(uri)
    try:
        if source.get("CompressionType") != "None":
            archives.extract(objects.get(bucket, key).path, folder, LARGEST)
        elif source["S3DataType"] == "S3Object":
            layout.copy(objects, bucket, key, path=folder / Path(key).name)
        else:
            for name in objects.names(bucket, key):
                layout.copy(objects, bucket, name, path=folder / layout.below(name, key))
    except (StoreError, EngineError) as problem:
        raise JobRefused(f"Failed to download model data from {uri}: {problem}") from None


def _bring_code(environment: Mapping[str, str], code: Path, objects: Objects) -> None:
    """Unpack code that is not in the model's archive: an archive of its own in S3."""
    uri = environment.get("SAGEMAKER_SUBMIT_DIRECTORY", "")
    if not uri.startswith("s3://"):
        return
    bucket, key = split_s3_uri(uri)
    try:
        archives.extract(objects.get(bucket, key).path, code)
    except (StoreError, EngineError) as problem:
        raise JobRefused(f"SAGEMAKER_SUBMIT_DIRECTORY, {uri}: {problem}") from None


def _check(container: Json, model: Path, program: str, *, note: str) -> None:
    """Refuse a model of which it is not known here what its container would run."""
    if (model / "code" / program).is_file():
        return
    image = container.get("Image", "")
    if "SAGEMAKER_PROGRAM" in (container.get("Environment") or {}):
        raise JobRefused(
            f"SAGEMAKER_PROGRAM is {program}, and the model's data has no code/{program}"
        )
    if not PYTORCH.fullmatch(image):
        raise JobRefused(
            f"{note}. What it would start is unknown here: put code/inference.py with a model_fn"
            " into the model's archive"
        )
    if not [*model.glob("*.pt"), *model.glob("*.pth")]:
        raise JobRefused(
            "The model's data has no code/inference.py, and no .pt or .pth file that PyTorch's "
            "container could load by itself"
        )


def _install(code: Path, image: str, context: JobContext) -> list[str]:
    file = code / "requirements.txt"
    if not file.is_file():
        return []
    try:
        return [f"{OURS}{line}" for line in context.install(["-r", str(file)], image)]
    except EngineError as problem:
        raise JobRefused(f"code/requirements.txt: {problem}") from None


def _notes(note: str, variant: Json) -> list[str]:
    """Return the first lines of every log: what is not as on the real service."""
    lines = [note]
    if gpus_of(variant["InstanceType"]):
        lines.append(f"{variant['InstanceType']} has a GPU; here a model is served on the CPU")
    if not roots.available():
        lines.append(f"this machine allows no mounts; {ML} in the scripts became a folder's path")
    return [f"{OURS}{line}" for line in lines]
