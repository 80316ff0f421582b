"""The model registry: groups of model packages, their versions, and packages of no group.

What a package holds is kept and told; a model can be made from it (models.py).
"""

from __future__ import annotations

import time

from local_cloud.amazon.account import CALLER
from local_cloud.amazon.protocols.errors import ServiceError, not_implemented
from local_cloud.amazon.sagemaker.resources import listing
from local_cloud.amazon.sagemaker.resources.entities import merge
from local_cloud.amazon.sagemaker.resources.names import arn, split_data_uri
from local_cloud.amazon.sagemaker.resources.request import invalid
from local_cloud.amazon.sagemaker.resources.tags import Tags
from local_cloud.json_types import Json
from local_cloud.store.errors import StoreError
from local_cloud.store.objects import Objects
from local_cloud.store.records import Records

GROUP, PACKAGE = "model-package-group", "model-package"  # kinds of records, and parts of ARNs
NAME, GROUP_NAME = "ModelPackageName", "ModelPackageGroupName"
METADATA, MOST = "CustomerMetadataProperties", 50  # keys of one package: API reference

# What would start something that is not there: refused by name.
MISSING = {
    "ValidationSpecification": "batch transform jobs that validate a package",
    "SourceAlgorithmSpecification": "algorithms by name",
    "ManagedStorageType": "managed storage",
    "ManagedConfiguration": "managed storage",
}
GROUP_SUMMARY = (
    GROUP_NAME,
    "ModelPackageGroupArn",
    "ModelPackageGroupDescription",
    "CreationTime",
    "ModelPackageGroupStatus",
)
SUMMARY = (
    NAME,
    GROUP_NAME,
    "ModelPackageVersion",
    "ModelPackageArn",
    "ModelPackageDescription",
    "CreationTime",
    "ModelPackageStatus",
    "ModelApprovalStatus",
    "ModelLifeCycle",
    "ModelPackageRegistrationType",
)


class ModelRegistry:
    """Groups by name; packages by `NAME`, or by `GROUP/VERSION`."""

    def __init__(self, records: Records, objects: Objects, tags: Tags) -> None:
        """Keep models as documents in the records.

        objects: where the models' data is looked for.
        """
        self.records = records
        self.objects = objects
        self.tags = tags

    # ---- groups ---------------------------------------------------------------------------------
    def create_group(self, request: Json) -> Json:
        """CreateModelPackageGroup."""
        _refuse(request)
        name = request[GROUP_NAME]
        answer = {"ModelPackageGroupArn": arn(f"{GROUP}/{name}")}
        with self.records.transaction():
            if self.records.get(GROUP, name):
                raise invalid(f"Model Package Group already exists: {arn(f'{GROUP}/{name}')}")
            self.tags.create(answer["ModelPackageGroupArn"], request.pop("Tags", []))
            document = {
                **request,
                **answer,
                "CreationTime": time.time(),
                "CreatedBy": CALLER,
                "ModelPackageGroupStatus": "Completed",
                "versions": 0,  # ever made: the number of a deleted one is not given again
            }
            self.records.put(GROUP, name, document)
        return answer

    def describe_group(self, params: Json) -> Json:
        """DescribeModelPackageGroup."""
        group = self._group(params[GROUP_NAME])
        return {field: value for field, value in group.items() if field != "versions"}

    def list_groups(self, params: Json) -> Json:
        """ListModelPackageGroups: the oldest first, unless the request says otherwise."""
        if params.get("CrossAccountFilterOption") == "CrossAccount":
            raise not_implemented("ListModelPackageGroups of other accounts")
        groups = [group for _, group in self.records.list(GROUP)]
        return listing.summaries(
            groups,
            params,
            name=GROUP_NAME,
            summary=GROUP_SUMMARY,
            member="ModelPackageGroupSummaryList",
            default="Ascending",
        )

    def delete_group(self, params: Json) -> Json:
        """DeleteModelPackageGroup: one without versions."""
        group = self._group(params[GROUP_NAME])
        name = group[GROUP_NAME]
        with self.records.transaction():
            if any(self.records.list(PACKAGE, f"{name}/")):
                raise ServiceError(
                    "ConflictException",
                    f"Model Package Group {group['ModelPackageGroupArn']} cannot be deleted while"
                    " it has model packages: delete those first",
                )
            self.records.delete(GROUP, name)
            self.tags.forget(group["ModelPackageGroupArn"])
        return {}

    def _group(self, name: str) -> Json:
        """Return the group with this name or ARN."""
        name = name.rpartition("/")[2]
        group = self.records.get(GROUP, name)
        if group is None:
            raise invalid(f"ModelPackageGroup {arn(f'{GROUP}/{name}')} does not exist.")
        return group

    # ---- packages -------------------------------------------------------------------------------
    def create(self, request: Json) -> Json:
        """CreateModelPackage: a version in a group, or a package of its own."""
        request = {field: value for field, value in request.items() if value is not None}
        token = request.pop("ClientToken", "")
        tags = request.pop("Tags", [])
        self._check(request, tags)
        with self.records.transaction():
            # An SDK sends a request again, with the same token, if the answer was lost.
            for _, known in self.records.list(PACKAGE):
                if token and known["token"] == token:
                    return {"ModelPackageArn": known["ModelPackageArn"]}
            key, place = self._place(request)
            package_arn = arn(f"{PACKAGE}/{key}")
            now = time.time()
            document = {
                "CertifyForMarketplace": False,
                **request,
                **place,
                "ModelPackageArn": package_arn,
                "CreationTime": now,
                "CreatedBy": CALLER,
                "LastModifiedTime": now,
                "ModelPackageStatus": "Completed",
                "ModelPackageStatusDetails": {"ValidationStatuses": [], "ImageScanStatuses": []},
                "token": token,
            }
            self.records.put(PACKAGE, key, document)
            if GROUP_NAME not in place:
                self.tags.create(package_arn, tags)
        return {"ModelPackageArn": package_arn}

    def _place(self, request: Json) -> tuple[str, Json]:
        """Return the new package's key, and what that says of it."""
        if GROUP_NAME not in request:
            name = request[NAME]
            if self.records.get(PACKAGE, name):
                raise invalid(f"ModelPackage already exists: {arn(f'{PACKAGE}/{name}')}")
            return name, {NAME: name}
        group = self._group(request[GROUP_NAME])
        name, version = group[GROUP_NAME], group["versions"] + 1
        self.records.put(GROUP, name, group | {"versions": version})
        status = request.get("ModelApprovalStatus", "PendingManualApproval")
        place = {GROUP_NAME: name, "ModelPackageVersion": version, "ModelApprovalStatus": status}
        return f"{name}/{version}", place

    def _check(self, request: Json, tags: list[Json]) -> None:
        """Raise ServiceError for a package that the service, or this local cloud, does not take."""
        _refuse(request)
        if (NAME in request) == (GROUP_NAME in request):
            raise invalid("Give either ModelPackageName or ModelPackageGroupName, not both")
        if GROUP_NAME in request and tags:
            raise invalid("Tags: a version has its group's tags; tag the group instead")
        if NAME in request and "ModelApprovalStatus" in request:
            raise invalid("ModelApprovalStatus does not apply to a package of no group")
        if not request.get("InferenceSpecification") and not request.get("SourceUri"):
            raise invalid("InferenceSpecification is required: it names the image and the model")
        if request.get("SkipModelValidation") != "All":
            self.check_data(request.get("InferenceSpecification"))
            for more in request.get("AdditionalInferenceSpecifications") or []:
                self.check_data(more)

    def check_data(self, specification: Json | None) -> None:
        """Require the data of each container in S3: the service looks for it, too."""
        for container in (specification or {}).get("Containers") or []:
            source = (container.get("ModelDataSource") or {}).get("S3DataSource") or {}
            if uri := container.get("ModelDataUrl") or source.get("S3Uri"):
                self._check_uri(uri, source.get("S3DataType") == "S3Prefix")

    def _check_uri(self, uri: str, is_prefix: bool) -> None:
        try:
            bucket, key = split_data_uri(uri)
        except ValueError as problem:
            raise invalid(f"Model data: {problem}") from None
        try:
            if is_prefix:
                is_there = any(True for _ in self.objects.names(bucket, key))
            else:
                is_there = bool(self.objects.get(bucket, key))
        except StoreError:
            is_there = False
        if is_there:
            return
        raise invalid(
            f"Could not find model data at {uri}. Name an object that is there, such as"
            " S3ModelArtifacts of a training job"
        )

    def describe(self, params: Json) -> Json:
        """DescribeModelPackage, by ARN, name, or group and version."""
        package = self._package(params[NAME])
        return {field: value for field, value in package.items() if field != "token"}

    def list(self, params: Json) -> Json:
        """ListModelPackages: a group's versions, else the packages of no group."""
        wanted = params.get("ModelPackageType", "Unversioned")
        if group := params.get(GROUP_NAME):
            wanted, group = "Versioned", self._group(group)[GROUP_NAME]
        packages = []
        for key, package in self.records.list(PACKAGE, f"{group}/" if group else ""):
            status = package.get("ModelApprovalStatus")
            if (
                wanted in ("Both", "Versioned" if "/" in key else "Unversioned")
                and params.get("ModelApprovalStatus", status) == status
            ):
                # The name that a list is filtered and sorted by: of a version, the group's.
                packages.append(package | {"shown": key.partition("/")[0]})
        return listing.summaries(
            packages,
            params,
            name="shown",
            summary=SUMMARY,
            member="ModelPackageSummaryList",
            default="Ascending",
        )

    def update(self, params: Json) -> Json:
        """UpdateModelPackage: approval, metadata, description of the model."""
        changes = {field: value for field, value in params.items() if value is not None}
        changes.pop("ClientToken", None)
        self.check_data(changes.get("InferenceSpecification"))
        for specification in changes.get("AdditionalInferenceSpecificationsToAdd", []):
            self.check_data(specification)
        with self.records.transaction():
            package = self._package(changes.pop("ModelPackageArn"))
            key = package["ModelPackageArn"].partition(f"{PACKAGE}/")[2]
            if "ModelApprovalStatus" in changes and "ModelPackageVersion" not in package:
                raise invalid("ModelApprovalStatus does not apply to a package of no group")
            package |= merge(package, changes, METADATA, most=MOST)
            package |= _specifications(package, changes)
            changed = {"LastModifiedTime": time.time(), "LastModifiedBy": CALLER}
            package = {field: value for field, value in package.items() if value != {}}
            self.records.put(PACKAGE, key, package | changes | changed)
        return {"ModelPackageArn": package["ModelPackageArn"]}

    def delete(self, params: Json) -> Json:
        """DeleteModelPackage; what it names in S3 stays."""
        package_arn = self._package(params[NAME])["ModelPackageArn"]
        with self.records.transaction():
            self.records.delete(PACKAGE, package_arn.partition(f"{PACKAGE}/")[2])
            self.tags.forget(package_arn)
        return {}

    def container(self, name: str) -> Json:
        """Return the one container of a package that a model is made from."""
        package = self._package(name)
        containers = (package.get("InferenceSpecification") or {}).get("Containers") or []
        if len(containers) != 1:
            raise not_implemented(
                f"a model of a package with {len(containers)} containers (inference pipelines)"
            )
        wanted = ("Image", "ModelDataUrl", "ModelDataSource", "Environment")
        return {field: containers[0][field] for field in wanted if field in containers[0]}

    def _package(self, name: str) -> Json:
        key = name.partition(f"{PACKAGE}/")[2] or name
        package = self.records.get(PACKAGE, key)
        if package is None:
            raise invalid(f"ModelPackage {arn(f'{PACKAGE}/{key}')} does not exist.")
        return package


def _specifications(package: Json, changes: Json) -> Json:
    """Return the further specifications with those to add, which are taken out of the request."""
    field = "AdditionalInferenceSpecifications"
    new = changes.pop(f"{field}ToAdd", [])
    return {field: package.get(field, []) + new} if new else {}


def _refuse(request: Json) -> None:
    for field, what in MISSING.items():
        if request.get(field):
            raise not_implemented(f"{field} ({what})")
    if request.get("CertifyForMarketplace"):
        raise not_implemented("CertifyForMarketplace (AWS Marketplace)")
