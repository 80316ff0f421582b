"""The discovery document: what `bq` reads to know the methods that there are.

Fields: developers.google.com/discovery/v1/reference/apis. It names the methods of our own routes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

# Every method takes all of these: a name that it does not know has no effect.
PARAMETERS = {
    **dict.fromkeys(("all", "deleteContents", "allUsers", "autodetect_schema"), "boolean"),
    "formatOptions.useInt64Timestamp": "boolean",
    **dict.fromkeys(("maxResults", "timeoutMs", "accessPolicyVersion"), "integer"),
    **dict.fromkeys(("filter", "pageToken", "startIndex", "selectedFields", "view"), "string"),
    **dict.fromkeys(("location", "projection", "datasetView", "updateMode"), "string"),
    **dict.fromkeys(("minCreationTime", "maxCreationTime", "parentJobId"), "string"),
}
_PREFIX = "/bigquery/v2/"
_NOTHING = {"$ref": "JsonObject"}


def document(methods: Iterable[tuple[str, str, str]], base: str) -> dict[str, Any]:
    """Return the document of these methods.

    A method is (resource.method, verb, path). base: where the server is.
    """
    resources: dict[str, Any] = {}
    for name, verb, path in methods:
        resource, _, method = name.partition(".")
        listed = resources.setdefault(resource, {"methods": {}})
        listed["methods"][method] = _method(name, verb, path)
    insert = resources["jobs"]["methods"]["insert"]
    path = f"/upload{_PREFIX}{insert['path']}"
    protocols = {kind: {"multipart": True, "path": path} for kind in ("simple", "resumable")}
    insert |= {
        "supportsMediaUpload": True,
        "mediaUpload": {"accept": ["*/*"], "protocols": protocols},
    }
    return {
        "kind": "discovery#restDescription",
        "discoveryVersion": "v1",
        "id": "bigquery:v2",
        "name": "bigquery",
        "version": "v2",
        "title": "BigQuery API",
        "protocol": "rest",
        "rootUrl": f"{base}/",
        "servicePath": _PREFIX[1:],
        "baseUrl": f"{base}{_PREFIX}",
        "basePath": _PREFIX,
        "batchPath": "batch/bigquery/v2",
        "parameters": {
            name: {"type": "string", "location": "query"}
            for name in ("alt", "fields", "key", "prettyPrint", "quotaUser", "uploadType")
        },
        "schemas": {"JsonObject": {"id": "JsonObject", "type": "object"}},
        "resources": resources,
    }


def _method(name: str, verb: str, path: str) -> dict[str, Any]:
    names = [f"{one}Id" for one in re.findall(r"\{(\w+)\}", path)]
    parameters: dict[str, Any] = {
        one: {"type": "string", "required": True, "location": "path"} for one in names
    }
    for one, kind in PARAMETERS.items():
        parameters[one] = {"type": kind, "location": "query"}
    parameters["stateFilter"] = {"type": "string", "repeated": True, "location": "query"}
    described = {
        "id": f"bigquery.{name}",
        "httpMethod": verb,
        "path": re.sub(r"\{(\w+)\}", r"{+\1Id}", path.removeprefix(_PREFIX)),
        "parameters": parameters,
        "parameterOrder": names,
        "response": _NOTHING,
    }
    return described if verb in ("GET", "DELETE") else described | {"request": _NOTHING}
