"""Which operation of botocore's model a request is: by its method, its path and its parameters."""

from __future__ import annotations

import functools
import re
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl

from botocore.model import OperationModel

from local_cloud.amazon.protocols.model import service_model

_PATHS = {"/": 0, "/{Bucket}": 1, "/{Bucket}/{Key+}": 2}


@dataclass(frozen=True)
class Rule:
    """What makes a request one of this operation."""

    name: str
    method: str
    depth: int  # 0: the service, 1: a bucket, 2: an object
    fixed: Mapping[str, str]  # parameters in the model's address, such as ?uploads
    query: frozenset[str]  # other parameters that it cannot do without
    headers: frozenset[str]

    @property
    def weight(self) -> int:
        """Return how much it asks for."""
        return len(self.fixed) + len(self.query) + len(self.headers)

    def takes(self, query: Mapping[str, str], headers: Container[str]) -> bool:
        """Return whether a request with these parameters and headers has all that it asks for."""
        return (
            all(
                query.get(name) in (value, None if value else "")
                for name, value in self.fixed.items()
            )
            and self.fixed.keys() <= query.keys()
            and self.query <= query.keys()
            and all(name in headers for name in self.headers)
        )


def find(
    method: str,
    depth: int,
    query: Mapping[str, str],
    *,
    headers: Container[str],
    ours: Container[str],
) -> OperationModel | None:
    """Return the operation that asks for the most of what is there.

    ours: names that are taken where two operations ask for the same (old and new names of a call).
    """
    rules_left = [rule for rule in rules() if (rule.method, rule.depth) == (method, depth)]
    rules_left = [rule for rule in rules_left if rule.takes(query, headers)]
    if not rules_left:
        return None
    best = max(rules_left, key=lambda rule: (rule.weight, rule.name in ours))
    return model(best.name)


def model(name: str) -> OperationModel:
    """botocore's model of an operation."""
    return service_model("s3").operation_model(name)


@functools.cache
def rules() -> tuple[Rule, ...]:
    """Return a rule for each operation of the model that has S3's usual addresses."""
    return tuple(_rules())


def _rules() -> Iterator[Rule]:
    for name in service_model("s3").operation_names:
        operation = model(name)
        path, _, query = operation.http["requestUri"].partition("?")
        if path not in _PATHS:
            continue
        needed: dict[str, set[str]] = {"querystring": set(), "header": set()}
        shape = operation.input_shape
        for member in shape.required_members if shape else ():
            where = shape.members[member].serialization
            if where.get("location") in needed:
                needed[where["location"]].add(
                    where["name"].lower() if where["location"] == "header" else where["name"]
                )
        fixed = dict(parse_qsl(query, keep_blank_values=True))
        if fixed:
            needed["header"].clear()  # the address tells; what is missing is said
        yield Rule(
            name,
            operation.http["method"],
            _PATHS[path],
            fixed,
            frozenset(needed["querystring"]),
            frozenset(needed["header"]),
        )


def split(path: str) -> list[str]:
    """Return bucket and object's name, still encoded, in "/bucket/a%20b"; as many as there are."""
    match = re.fullmatch(r"/([^/]+)(?:/(.*))?", path, re.DOTALL)
    return [part for part in match.groups() if part] if match else []
