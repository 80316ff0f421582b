"""Pipelines: named definitions, of which executions are started."""

from __future__ import annotations

import time

from local_cloud.amazon.account import CALLER
from local_cloud.amazon.protocols.errors import ServiceError, not_implemented
from local_cloud.amazon.sagemaker.pipelines import definition
from local_cloud.amazon.sagemaker.pipelines.table import ENDED, PipelineTable
from local_cloud.amazon.sagemaker.resources import listing
from local_cloud.amazon.sagemaker.resources.names import arn
from local_cloud.amazon.sagemaker.resources.request import invalid
from local_cloud.amazon.sagemaker.resources.tags import Tags
from local_cloud.bounded import files
from local_cloud.bounded.errors import OverLimit
from local_cloud.json_types import Json
from local_cloud.store.errors import StoreError
from local_cloud.store.objects import Objects

KIND, NAME = "pipeline", "PipelineName"
SUMMARY = (
    "PipelineArn",
    NAME,
    "PipelineDisplayName",
    "PipelineDescription",
    "RoleArn",
    "CreationTime",
    "LastModifiedTime",
    "LastExecutionTime",
)

LARGEST = 1 << 20  # characters of a PipelineDefinition, in botocore's model


class Pipelines:
    """Pipelines by name."""

    def __init__(self, table: PipelineTable, objects: Objects, tags: Tags) -> None:
        """table: their executions; objects: where a large definition is."""
        self.table, self.records = table, table.records
        self.objects, self.tags = objects, tags

    def create(self, request: Json) -> Json:
        """CreatePipeline: check the definition, and record it."""
        name, token = request[NAME], request.pop("ClientRequestToken")
        answer = {"PipelineArn": arn(f"{KIND}/{name}")}
        tags, now = request.pop("Tags", []), time.time()
        document = {
            "PipelineDisplayName": name,
            **self._check(request),
            **answer,
            "PipelineStatus": "Active",
            "CreationTime": now,
            "LastModifiedTime": now,
            "CreatedBy": CALLER,
            "LastModifiedBy": CALLER,
            "token": token,
        }
        with self.records.transaction():
            known = self.records.get(KIND, name)
            if known and known["token"] == token:  # sent again, for the answer was lost
                return answer
            if known:
                raise invalid(
                    "Pipeline names must be unique within an AWS account and region. Pipeline with"
                    f" name ({name}) already exists."
                )
            self.records.put(KIND, name, document)
            self.tags.create(answer["PipelineArn"], tags)
        return answer

    def update(self, request: Json) -> Json:
        """UpdatePipeline: executions that run keep the definition that they began with."""
        known = self.get(request[NAME])
        changes = self._check(request, known["PipelineDefinition"])
        changes |= {"LastModifiedTime": time.time(), "LastModifiedBy": CALLER}
        with self.records.transaction():
            self.records.put(KIND, known[NAME], self.get(known[NAME]) | changes)
        return {"PipelineArn": known["PipelineArn"]}

    def describe(self, params: Json) -> Json:
        """DescribePipeline."""
        _refuse_versions(params)
        pipeline = self.get(params[NAME])
        shown = {field: value for field, value in pipeline.items() if field != "token"}
        if (last := shown.pop("LastExecutionTime", None)) is not None:
            shown["LastRunTime"] = last
        return shown

    def list(self, params: Json) -> Json:
        """ListPipelines: the newest first, unless the request says otherwise."""
        if params.get("ManagedBy") == "AWS":
            raise not_implemented("ListPipelines ManagedBy AWS")
        since, before = params.get("CreatedAfter", 0.0), params.get("CreatedBefore", float("inf"))
        prefix = params.get("PipelineNamePrefix", "")
        recorded = (pipeline for _, pipeline in self.records.list(KIND, prefix))
        chosen = (
            pipeline
            for pipeline in listing.complete(recorded, NAME)
            if since < pipeline["CreationTime"] < before
        )
        fields = {"Name": NAME, "CreationTime": "CreationTime"}
        short = listing.shorten(chosen, *SUMMARY)
        listed = listing.sort(short, params, fields, default="Descending")
        return listing.page(listed, params, "PipelineSummaries")

    def delete(self, params: Json) -> Json:
        """DeletePipeline: with its executions; the jobs of their steps stay."""
        pipeline = self.get(params[NAME])
        name = pipeline[NAME]
        executions = [one for one in self.table.all() if one["pipeline"] == name]
        if any(one["status"] not in ENDED for one in executions):
            raise ServiceError(
                "ConflictException",
                f"Pipeline {pipeline['PipelineArn']} has an execution that runs: stop it first.",
            )
        with self.records.transaction():
            for one in executions:
                self.table.forget(one["id"])
            self.table.forget_results(name)
            self.records.delete(KIND, name)
            self.tags.forget(pipeline["PipelineArn"])
        return {"PipelineArn": pipeline["PipelineArn"]}

    def get(self, name: str) -> Json:
        """Return the pipeline with this name or ARN."""
        name = name.rpartition("/")[2]
        pipeline = self.records.get(KIND, name)
        if pipeline is None:
            raise ServiceError(
                "ResourceNotFound", f"Pipeline '{arn(f'{KIND}/{name}')}' does not exist."
            )
        return pipeline

    def ran(self, name: str) -> None:
        """Note that an execution of the pipeline has been started."""
        self.records.put(KIND, name, self.get(name) | {"LastExecutionTime": time.time()})

    def _check(self, request: Json, known: str = "") -> Json:
        """Return what to keep of a request, with its definition as text, which is in order."""
        _refuse_versions(request)
        kept = {field: value for field, value in request.items() if value != {}}
        place = kept.pop("PipelineDefinitionS3Location", None)
        if place and kept.get("PipelineDefinition"):
            raise invalid("Give PipelineDefinition or PipelineDefinitionS3Location, and not both")
        text = kept.get("PipelineDefinition") or (self._read(place) if place else known)
        if not text:
            raise invalid("PipelineDefinition is required: it says which steps there are")
        definition.require_few(definition.parse(text))
        return kept | {"PipelineDefinition": text}

    def _read(self, place: Json) -> str:
        """Return the definition that an object holds."""
        if "VersionId" in place:
            raise not_implemented("PipelineDefinitionS3Location.VersionId")
        uri = f"s3://{place['Bucket']}/{place['ObjectKey']}"
        try:
            stored = self.objects.get(place["Bucket"], place["ObjectKey"])
            return files.read(stored.path, LARGEST).decode()
        except (StoreError, OSError, UnicodeDecodeError, OverLimit) as problem:
            raise invalid(f"PipelineDefinitionS3Location: {uri}: {problem}") from None


def _refuse_versions(params: Json) -> None:
    for field in ("PipelineVersionId", "PipelineVersionAlias", "PipelineVersionAliases"):
        if params.get(field):
            raise not_implemented(f"{field} (versions of a pipeline)")
