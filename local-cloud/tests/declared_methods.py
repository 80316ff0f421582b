"""Every method that the local cloud declares, of every service, with the schema of its requests."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from starlette.routing import Route

from local_cloud.amazon import services as amazon
from local_cloud.amazon.protocols.json_protocol import JsonService
from local_cloud.amazon.protocols.query_protocol import QueryService
from local_cloud.amazon.protocols.rest_protocol import RestService
from local_cloud.amazon.s3 import operations as s3
from local_cloud.amazon.s3.routes import S3
from local_cloud.google import definitions
from local_cloud.google import services as google
from local_cloud.google.definitions.api import api
from local_cloud.google.vertex import service as vertex
from local_cloud.google.vertex.parts import Parts
from local_cloud.google.vertex.resources.resource import Resource
from local_cloud.platform import Platform
from tests.examples_of_schemas import Examples

VERTEX = "google.cloud.aiplatform_v1"
DEFINITIONS = sorted(path.stem for path in Path(definitions.__file__).parent.glob("*.v?.json"))
FORM = {"Content-Type": "application/x-www-form-urlencoded; charset=utf-8"}
# The server's own, and what they take.
OWN = {
    ("GET", "/status"): {},
    ("GET", "/bill"): {},
    ("POST", "/console-link"): {"origin": "http://127.0.0.1:1"},
    ("POST", "/rehearse"): {"epochs": [1], "failure": "no quota", "times": 1},
}


class Declared(NamedTuple):
    """A method: where it is, and what makes a request's parameters, body and headers."""

    name: str
    verb: str
    path: str  # with {names} for what a client puts in
    query: Callable[[Examples], dict[str, Any]]
    body: Callable[[Examples], Any]  # None: it has none
    headers: dict[str, str]


def declared(folder: Path) -> list[Declared]:
    """All of them; folder: for a platform that is not started."""
    platform = Platform.of(folder, {})
    try:
        cloud = google.service(platform)
        paths = [
            (verb, route.path)
            for route in [*cloud.first, *cloud.routes]
            if isinstance(route, Route) and "{rest:path}" not in route.path
            for verb in sorted((route.methods or set()) - {"HEAD"})
        ]
        apis = amazon_apis(platform)
        parts = Parts.of(platform)
        resources = [one for declare in vertex.RESOURCES for one in declare(parts)]
    finally:
        platform.close_records()
    rules = {**dict(_of_vertex(resources)), **dict(_of_definitions())}
    methods = [_google(verb, path, rules) for verb, path in paths]
    methods += [each for one in apis for each in _amazon(one)]
    return methods + [_own(verb, path, body) for (verb, path), body in OWN.items()]


def amazon_apis(platform: Platform) -> list[Any]:
    return [api for make in amazon.SERVICES for api in make(platform).apis]


Rule = tuple[Callable[[Examples], dict[str, Any]], Callable[[Examples], Any]]


def shape(path: str) -> str:
    """A path without the names in it."""
    return re.sub(r"\{[^}]*\}", "*", path)


def _nothing(_: Examples) -> dict[str, Any]:
    return {}


def _google(verb: str, path: str, rules: dict[tuple[str, str], Rule]) -> Declared:
    where = shape(path)
    for prefix in ("/ui", "/download"):
        where = where.removeprefix(prefix)
    where = where.replace("/resumable/upload", "/upload").replace("/v1beta1", "/v1")
    if verb == "PUT" and where.startswith("/upload"):  # the next piece of an upload
        rules = {("PUT", where): rules["POST", where]}
    query, body = rules.get((verb, where), (_nothing, _nothing))
    has_body = verb in ("POST", "PATCH", "PUT")
    return Declared(f"{verb} {path}", verb, path, query, body if has_body else _none, {})


def _none(_: Examples) -> None:
    return None


def _of_definitions() -> Iterator[tuple[tuple[str, str], Rule]]:
    for name in DEFINITIONS:
        for (verb, path), method in api(name).methods.items():

            def query(examples: Examples, method: Any = method) -> dict[str, Any]:
                return {
                    each: examples.of_definition(schema, method.schemas, each)
                    for each, schema in method.parameters.items()
                    if schema["location"] == "query" and examples.is_there(needed=False, depth=0)
                }

            def body(examples: Examples, method: Any = method) -> Any:
                return method.schema and examples.of_definition(method.schema, method.schemas)

            yield (verb, path.replace("{}", "*")), (query, body)


def _services_of(resources: Iterable[Resource]) -> set[str]:
    """The modules of the API's services that have these resources, as their requests tell."""
    types = importlib.import_module(f"{VERTEX}.types")
    modules = {"prediction_service"}  # has no resources of its own
    for one in resources:
        plural = one.collection.rpartition("/")[2]
        names = (f"Get{one.proto.__name__}Request", f"List{plural[:1].upper()}{plural[1:]}Request")
        request = next(getattr(types, name) for name in names if hasattr(types, name))
        modules.add(request.__module__.rpartition(".")[2])
    return modules


def _of_vertex(resources: Iterable[Resource]) -> Iterator[tuple[tuple[str, str], Rule]]:
    types = importlib.import_module(f"{VERTEX}.types")
    for service in sorted(_services_of(resources)):
        base = importlib.import_module(f"{VERTEX}.services.{service}.transports.rest_base")
        (transport,) = (v for k, v in vars(base).items() if re.fullmatch(r"_Base\w+Transport", k))
        for name, one in vars(transport).items():
            kind = getattr(types, f"{name.removeprefix('_Base')}Request", None)
            if kind is None or not hasattr(one, "_get_http_options"):
                continue
            for rule in one._get_http_options():
                yield (rule["method"].upper(), _stars(rule["uri"])), _rule(kind, rule)


def _stars(uri: str) -> str:
    return re.sub(r"\{[^=}]+=([^}]+)\}|\{[^}]+\}", lambda match: match[1] or "*", uri)


def _rule(kind: Any, rule: dict[str, str]) -> Rule:
    inside = rule.get("body", "")
    in_path = {name.split("=")[0].split(".")[0] for name in re.findall(r"\{([^}]+)\}", rule["uri"])}

    def rest(examples: Examples) -> dict[str, Any]:
        values = examples.of_proto(kind)
        names = {_camel(name) for name in in_path}
        return {name: value for name, value in values.items() if name not in names}

    def query(examples: Examples) -> dict[str, Any]:
        if inside == "*":
            return {}
        return {k: v for k, v in rest(examples).items() if not isinstance(v, dict | list)}

    def body(examples: Examples) -> Any:
        if inside in ("", "*"):
            return rest(examples)
        return examples.of_proto(kind.meta.fields[inside].message)

    return query, body


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(part.capitalize() for part in others)


def _amazon(one: Any) -> Iterator[Declared]:
    if isinstance(one, JsonService):
        for name in one.operations:
            inner = one.model.operation_model(name).input_shape
            headers = {"X-Amz-Target": f"{one.target}.{name}"}
            yield Declared(name, "POST", "/aws/", _nothing, _body_of(inner), headers)
    elif isinstance(one, QueryService):
        for name in one.operations:
            inner = one.model.operation_model(name).input_shape
            action = {"Action": name, "Version": one.version}
            yield Declared(name, "POST", "/aws/", _nothing, _body_of(inner, action), FORM)
    elif isinstance(one, S3):
        yield from (_rest(s3.model(name), "s3") for name in one.calls)
    elif isinstance(one, RestService):
        yield from (
            _rest(one.model.operation_model(name), one.signing_name) for name in one.operations
        )


def _body_of(inner: Any, more: dict[str, str] | None = None) -> Callable[[Examples], Any]:
    return lambda examples: (more or {}) | (examples.of_shape(inner) if inner else {})


def _rest(operation: Any, signed_for: str) -> Declared:
    path, _, fixed = operation.http["requestUri"].partition("?")
    members = operation.input_shape.members if operation.input_shape else {}
    payload = operation.input_shape.serialization.get("payload") if operation.input_shape else None

    def query(examples: Examples) -> dict[str, Any]:
        always = {each.partition("=")[0]: each.partition("=")[2] for each in fixed.split("&")}
        own = {
            member.serialization["name"]: examples.of_shape(member, name)
            for name, member in members.items()
            if member.serialization.get("location") == "querystring"
            and examples.is_there(needed=name in operation.input_shape.required_members, depth=0)
        }
        return {name: value for name, value in (always | own).items() if name}

    def body(examples: Examples) -> Any:
        return examples.of_shape(members[payload], payload) if payload else None

    headers = {
        "Authorization": f"AWS4-HMAC-SHA256 Credential=a/b/us-east-1/{signed_for}/aws4_request"
    }
    return Declared(
        operation.name,
        operation.http["method"],
        f"/aws{path.replace('+', '')}",
        query,
        body,
        headers,
    )


def _own(verb: str, path: str, body: dict[str, Any]) -> Declared:
    made = (lambda _: dict(body)) if body else _none
    return Declared(path, verb, path, _nothing, made, {})
