"""Models: what a container that answers requests is made from."""

from __future__ import annotations

import time

from local_cloud.amazon.protocols.errors import not_implemented
from local_cloud.amazon.sagemaker.models.registry import ModelRegistry
from local_cloud.amazon.sagemaker.resources import listing
from local_cloud.amazon.sagemaker.resources.names import arn
from local_cloud.amazon.sagemaker.resources.request import invalid
from local_cloud.amazon.sagemaker.resources.tags import Tags
from local_cloud.json_types import Json
from local_cloud.store.records import Records

KIND = "sagemaker-model"
NAME = "ModelName"
SUMMARY = (NAME, "ModelArn", "CreationTime")

LARGEST_ENVIRONMENT = 32 * 1024  # bytes: ContainerDefinition in the API reference (read 2026)

# Fields of a container that would start something that is not there: refused by name.
MISSING = {
    "MultiModelConfig": "multi-model endpoints",
    "AdditionalModelDataSources": "additional model data",
    "InferenceSpecificationName": "a package's additional inference specifications",
}


class Models:
    """Models by name; a request is kept as it came."""

    def __init__(self, records: Records, registry: ModelRegistry, tags: Tags) -> None:
        """registry: whose packages a model may name."""
        self.records = records
        self.registry = registry
        self.tags = tags

    def create(self, request: Json) -> Json:
        """CreateModel."""
        name = request[NAME]
        answer = {"ModelArn": arn(f"model/{name}")}
        container = _container(request)
        if request.get("VpcConfig"):
            raise not_implemented("VpcConfig (private models)")
        _check(container)
        if package := container.get("ModelPackageName"):
            self.registry.container(package)
        self.registry.check_data({"Containers": [container]})
        with self.records.transaction():
            if self.records.get(KIND, name):
                raise invalid(f'Cannot create already existing model "{answer["ModelArn"]}".')
            self.tags.create(answer["ModelArn"], request.pop("Tags", []))
            kept = {field: value for field, value in request.items() if value != {}}
            self.records.put(KIND, name, kept | answer | {"CreationTime": time.time()})
        return answer

    def describe(self, params: Json) -> Json:
        """DescribeModel."""
        return self.get(params[NAME])

    def list(self, params: Json) -> Json:
        """ListModels: the newest first, unless the request says otherwise."""
        models = (model for _, model in self.records.list(KIND))
        return listing.summaries(models, params, name=NAME, summary=SUMMARY, member="Models")

    def delete(self, params: Json) -> Json:
        """DeleteModel: endpoints that have it go on without."""
        model = self.get(params[NAME])
        with self.records.transaction():
            self.records.delete(KIND, model[NAME])
            self.tags.forget(model["ModelArn"])
        return {}

    def find(self, name: str) -> Json | None:
        """Return the model with this name, or None."""
        return self.records.get(KIND, name)

    def get(self, name: str) -> Json:
        """Return the model with this name; raises ServiceError if there is none."""
        model = self.find(name)
        if model is None:
            raise invalid(f'Could not find model "{arn(f"model/{name}")}".')
        return model

    def container(self, name: str) -> Json:
        """Return what a model's container is made from.

        That is a package's container, if the model names a package.
        """
        own = _container(self.get(name))
        package = own.get("ModelPackageName")
        if not package:
            return own
        packaged = self.registry.container(package)
        environment = (packaged.get("Environment") or {}) | (own.get("Environment") or {})
        return packaged | own | {"Environment": environment}


def _container(request: Json) -> Json:
    """Return the one container of a model."""
    containers = request.get("Containers") or []
    if len(containers) > 1:
        raise not_implemented(f"a model of {len(containers)} containers (inference pipelines)")
    if bool(containers) == bool(request.get("PrimaryContainer")):
        raise invalid("Give a model a PrimaryContainer or Containers, and not both.")
    container: Json = request.get("PrimaryContainer") or containers[0]
    return container


def _check(container: Json) -> None:
    for field, what in MISSING.items():
        if container.get(field):
            raise not_implemented(f"{field} ({what})")
    if container.get("Mode") == "MultiModel":
        raise not_implemented("Mode MultiModel (multi-model endpoints)")
    if bool(container.get("Image")) == bool(container.get("ModelPackageName")):
        raise invalid("A container needs an Image or a ModelPackageName, and not both.")
    environment = container.get("Environment") or {}
    size = sum(len(text.encode()) for pair in environment.items() for text in pair)
    if size > LARGEST_ENVIRONMENT:
        raise invalid(
            f"Environment has {size} bytes: all keys and values together can have"
            f" {LARGEST_ENVIRONMENT} (32 KB)"
        )
    source = (container.get("ModelDataSource") or {}).get("S3DataSource") or {}
    for field in ("ModelAccessConfig", "HubAccessConfig", "ManifestS3Uri"):
        if source.get(field):
            raise not_implemented(f"ModelDataSource.S3DataSource.{field}")
