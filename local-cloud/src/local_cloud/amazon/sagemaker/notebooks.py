"""Notebook instances, as records: no Jupyter server is started, for the reader's is one."""

from __future__ import annotations

import time

from local_cloud.amazon.protocols.errors import not_implemented
from local_cloud.amazon.protocols.json_protocol import Operation
from local_cloud.amazon.sagemaker.parts import Parts
from local_cloud.amazon.sagemaker.resources import billing, listing
from local_cloud.amazon.sagemaker.resources.names import arn
from local_cloud.amazon.sagemaker.resources.request import invalid
from local_cloud.amazon.sagemaker.resources.tags import Tags
from local_cloud.client.environment import REGION
from local_cloud.engine.jobs.rental_records import Rentals
from local_cloud.json_types import Json
from local_cloud.store.records import Records

KIND = "notebook-instance"
NAME, STATUS = "NotebookInstanceName", "NotebookInstanceStatus"

# What a request calls otherwise than the description does.
RENAMED = {
    "LifecycleConfigName": "NotebookInstanceLifecycleConfigName",
    "SecurityGroupIds": "SecurityGroups",
}
DEFAULTS = {"DirectInternetAccess": "Enabled", "VolumeSizeInGB": 5, "RootAccess": "Enabled"}
REMOVES = {
    "DisassociateLifecycleConfig": "NotebookInstanceLifecycleConfigName",
    "DisassociateAcceleratorTypes": "AcceleratorTypes",
    "DisassociateDefaultCodeRepository": "DefaultCodeRepository",
    "DisassociateAdditionalCodeRepositories": "AdditionalCodeRepositories",
}
SUMMARY = (
    NAME,
    "NotebookInstanceArn",
    STATUS,
    "Url",
    "InstanceType",
    "CreationTime",
    "LastModifiedTime",
    "NotebookInstanceLifecycleConfigName",
    "DefaultCodeRepository",
    "AdditionalCodeRepositories",
)
FILTERS = (  # of ListNotebookInstances, those that are missing
    "NotebookInstanceLifecycleConfigNameContains",
    "DefaultCodeRepositoryContains",
    "AdditionalCodeRepositoryEquals",
)


def operations(parts: Parts) -> dict[str, Operation]:
    """Return the operations on notebook instances, by name."""
    notebooks = Notebooks(parts.platform.records, parts.tags)
    return {
        "CreateNotebookInstance": notebooks.create,
        "DescribeNotebookInstance": notebooks.describe,
        "ListNotebookInstances": notebooks.list,
        "StartNotebookInstance": notebooks.start,
        "StopNotebookInstance": notebooks.stop,
        "UpdateNotebookInstance": notebooks.update,
        "DeleteNotebookInstance": notebooks.delete,
    }


class Notebooks:
    """Notebook instances; each change of state is done when it is answered."""

    def __init__(self, records: Records, tags: Tags) -> None:
        """Keep them as documents in the records."""
        self.records, self.rentals = records, Rentals(records)
        self.tags = tags

    def create(self, request: Json) -> Json:
        """CreateNotebookInstance; it is in service at once."""
        name = request[NAME]
        if self.records.get(KIND, name):
            raise invalid(f"Cannot create a duplicate Notebook Instance ({_arn(name)})")
        now = time.time()
        facts = {RENAMED.get(field, field): value for field, value in request.items()}
        tags = facts.pop("Tags", [])
        notebook = {
            **DEFAULTS,
            **facts,
            "NotebookInstanceArn": _arn(name),
            STATUS: "InService",
            "Url": f"{name}.notebook.{REGION}.sagemaker.aws",
            "CreationTime": now,
            "LastModifiedTime": now,
        }
        with self.records.transaction():
            self.records.put(KIND, name, notebook)
            self.tags.create(_arn(name), tags)
            self._rent(notebook)
        return {"NotebookInstanceArn": _arn(name)}

    def describe(self, params: Json) -> Json:
        """DescribeNotebookInstance."""
        notebook = self.records.get(KIND, params[NAME])
        if notebook is None:
            raise invalid("RecordNotFound")
        return notebook

    def list(self, params: Json) -> Json:
        """ListNotebookInstances."""
        for field in FILTERS:
            if field in params:
                raise not_implemented(f"ListNotebookInstances by {field}")
        items = (document for _, document in self.records.list(KIND))
        listed = listing.select(items, params, name=NAME, status=STATUS)
        fields = {"Name": NAME, "CreationTime": "CreationTime", "Status": STATUS}
        listed = listing.sort(listed, {"SortBy": "Name"} | params, fields, default="Ascending")
        short = [{field: item[field] for field in SUMMARY if field in item} for item in listed]
        return listing.page(short, params, "NotebookInstances")

    def start(self, params: Json) -> Json:
        """StartNotebookInstance."""
        return self._turn(params, ("Stopped", "Failed"), "Pending", to="InService")

    def stop(self, params: Json) -> Json:
        """StopNotebookInstance."""
        return self._turn(params, ("InService",), "Stopping", to="Stopped")

    def update(self, params: Json) -> Json:
        """UpdateNotebookInstance."""
        notebook = self._in(params, ("Stopped", "Failed"), "Updating")
        for field, value in params.items():
            if field in REMOVES and value:
                notebook.pop(REMOVES[field], None)
            elif field not in REMOVES:
                notebook[RENAMED.get(field, field)] = value
        self.records.put(KIND, params[NAME], notebook | {"LastModifiedTime": time.time()})
        return {}

    def delete(self, params: Json) -> Json:
        """DeleteNotebookInstance."""
        self._in(params, ("Stopped", "Failed"), "Deleting")
        with self.records.transaction():
            self.records.delete(KIND, params[NAME])
            self.tags.forget(_arn(params[NAME]))
        return {}

    def _turn(self, params: Json, allowed: tuple[str, ...], way: str, *, to: str) -> Json:
        notebook = self._in(params, allowed, way)
        changed = notebook | {STATUS: to, "LastModifiedTime": time.time()}
        with self.records.transaction():
            self.records.put(KIND, params[NAME], changed)
            if to == "InService":
                self._rent(notebook)
            else:
                self.rentals.close(_arn(params[NAME]))
        return {}

    def _rent(self, notebook: Json) -> None:
        """Record that its machine costs money from now on, until it is stopped."""
        machine = billing.of_instances("notebook instance", notebook[NAME], notebook)
        self.rentals.open(_arn(notebook[NAME]), machine)

    def _in(self, params: Json, allowed: tuple[str, ...], way: str) -> Json:
        """Return the instance, if it may go this way from where it stands."""
        notebook = self.describe(params)
        if notebook[STATUS] not in allowed:
            raise invalid(
                f"Status ({notebook[STATUS]}) not in ([{', '.join(allowed)}]). Unable to transition"
                f" to ({way}) for Notebook Instance ({notebook['NotebookInstanceArn']})"
            )
        return notebook


def _arn(name: str) -> str:
    return arn(f"notebook-instance/{name.lower()}")
