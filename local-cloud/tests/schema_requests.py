"""Requests to every declared method, made from its own schema, each with one thing wrong.

The schemas are the services' own. Something of each kind is made first, so that requests find it.
"""

from __future__ import annotations

import collections
import copy
import itertools
import json
import random
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from tests.declared_methods import Declared
from tests.examples_of_schemas import IMAGE, ROLE, Examples
from tests.mutations import HEADER_VALUES, SEGMENTS, Count, line, places, send
from tests.recorded_requests import Recorded

SURROGATE, LONG, HUGE = "\ud800", "x" * 100_000, 10**400
DEEP: Any = {}
for _ in range(90):
    DEEP = {"a": [DEEP]}
# By its name, what stands in the place of a good value.
DEFECTS: dict[str, tuple[Any, ...]] = {
    "null": (None,),
    "another type": ("a", 1, 1.5, True, ["a"], {"a": 1}),
    "negative": (-1, "-1", -(2**63)),
    "huge": (2**31, 2**64, HUGE, "9" * 5000, 1e308, "1e400"),
    "empty": ("", {}, []),
    "empty inside": ([{}], [[]], [""], {"": ""}, {"a": {}}),
    "null inside": ([None], {"a": None}),
    "surrogate": (SURROGATE, {SURROGATE: 1}, [SURROGATE]),
    "not a number": (float("nan"), float("inf"), "NaN", "-Infinity"),
    "long": (LONG, [LONG], ["a"] * 2000),
    "deep": (DEEP, [[[[[[]]]]]]),
    "times": ("9999-12-31T23:59:59.999999999Z", "0001-01-01T00:00:00Z", "315576000000.5s", 1e18),
    "text": ("(" * 5000, "a OR " * 5000, "NOT " * 3000 + "a=b", "*a" * 3000, "\0", "%ff", "../.."),
}
PARAMETERS = {
    "pageSize": ("-1", "0", "9" * 5000, "1e9", "x", "1.5"),
    "maxResults": ("-1", "9" * 5000, "x"),
    "pageToken": ("x", "%ff", "OTk5OTk5OTk5OTk5OTk5OTk5OTk5", "-1", "9" * 5000),
    "filter": (
        "(" * 5000,
        'a="',
        "a=b OR " * 3000,
        "a:" + "*a" * 5000 + '"',
        "a.b.c=" + "9" * 5000,
    ),
    "orderBy": ("a b c", ",", "x" * 5000, "a," * 5000, "createTime desc,createTime"),
    "updateMask": ("", ".", "a..b", "*", "name", "x" * 5000),
    "fields": ("(", "a/b/c", "%ff"),
    "alt": ("media", "proto", "x"),
}


class Made(NamedTuple):
    """A request before it is written."""

    method: Declared
    path: str
    query: list[tuple[str, str]]
    body: Any
    headers: dict[str, str]


def send_declared(url: str, methods: list[Declared], seed: int, faults: int) -> Count:
    """Send requests to these methods, each with so many kinds of fault, to the server at this URL.

    Which kinds these are depends on seed and method, so that all kinds are tried somewhere.
    """
    errors = collections.Counter[str]()
    tried = 0
    names = make_some(lambda request: send(url, request))
    for request in requests(methods, names, seed, faults):
        status, said = send(url, request)
        tried += 1
        if status in (None, 500):
            errors[line(request, said)] += 1
    return Count(tried, 0, [f"{number} x {text}" for text, number in errors.most_common()])


def requests(
    methods: list[Declared], names: dict[str, list[str]], seed: int, faults: int
) -> Iterator[Recorded]:
    """The requests; names: what there is, by its place in a path."""
    chance = random.Random(seed)
    examples = Examples(chance)
    kinds = itertools.cycle(FAULTS)
    for method in sorted(methods, key=_removes):
        for fault in itertools.islice(kinds, faults):
            yield written(fault(good(method, names, examples), chance))


def _removes(method: Declared) -> bool:
    """Whether it takes away what the others need: those come last."""
    return method.verb == "DELETE" or method.name.startswith(("Delete", "Stop"))


def good(method: Declared, names: dict[str, list[str]], examples: Examples) -> Made:
    """A request that fits the schema, to something that is there if it can be."""

    def name(match: re.Match[str]) -> str:
        before = method.path[: match.start()].strip("/").rpartition("/")[2]
        known = names.get(before) or names.get(match[1].partition(":")[0]) or ["a"]
        return quote(examples.chance.choice(known), safe="")

    path = re.sub(r"\{([^}]*)\}", name, method.path)
    query = [(key, text_of(value)) for key, value in method.query(examples).items()]
    return Made(method, path, query, method.body(examples), dict(method.headers))


def text_of(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def written(made: Made) -> Recorded:
    """The request as bytes: forms for the query protocol, XML for S3, else JSON."""
    target = made.path
    if made.query:
        target += "?" + urlencode(made.query, errors="surrogatepass")
    headers = dict(made.headers)
    if made.body is None:
        return Recorded(made.method.verb, target, headers, b"")
    if isinstance(made.body, bytes):
        return Recorded(made.method.verb, target, headers, made.body)
    if "form-urlencoded" in made.method.headers.get("Content-Type", ""):
        body = urlencode(dict(_flat(made.body)), errors="surrogatepass").encode()
    elif "/s3/aws4_request" in made.method.headers.get("Authorization", ""):
        body = _xml("Root", made.body).encode(errors="surrogatepass")
    else:
        body = json.dumps(made.body).encode()
        headers.setdefault("Content-Type", "application/json")
    return Recorded(made.method.verb, target, headers, body)


def _flat(value: Any, prefix: str = "") -> Iterator[tuple[str, str]]:
    """A document as the fields of a form: Name.member.1, …"""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _flat(item, f"{prefix}.{key}" if prefix else key)
    elif isinstance(value, list):
        for place, item in enumerate(value, 1):
            yield from _flat(item, f"{prefix}.member.{place}")
    elif value is not None:
        yield prefix, text_of(value)


def _xml(tag: str, value: Any) -> str:
    tag = re.sub(r"[^A-Za-z]", "", tag)[:100] or "a"
    if isinstance(value, dict):
        inner = "".join(_xml(key, item) for key, item in value.items())
    elif isinstance(value, list):
        inner = "".join(_xml("member", item) for item in value)
    else:
        inner = "" if value is None else text_of(value)
    return f"<{tag}>{inner}</{tag}>"


# ---- faults ---------------------------------------------------------------------------------
Change = Callable[[Made, random.Random], Made]


def missing(made: Made, chance: random.Random) -> Made:
    """A field is not there."""
    body = copy.deepcopy(made.body)
    places_found = [(inside, key) for inside, key in places(body) if isinstance(inside, dict)]
    if places_found:
        inside, key = chance.choice(places_found)
        del inside[key]
    return made._replace(body=body)


def value_of(kind: str) -> Change:
    """Another value in the place of one of the body, or of the whole body."""

    def change(made: Made, chance: random.Random) -> Made:
        if made.body is None:
            return made._replace(body={"a": chance.choice(DEFECTS[kind])})
        body = copy.deepcopy(made.body)
        places_found = list(places(body))
        wrong = copy.deepcopy(chance.choice(DEFECTS[kind]))
        if not places_found or chance.random() < 0.05:
            return made._replace(body=wrong)
        inside, key = chance.choice(places_found)
        inside[key] = wrong
        return made._replace(body=body)

    return change


def query(made: Made, chance: random.Random) -> Made:
    """A parameter that makes no sense; sometimes one that the method has, sometimes twice."""
    changed = list(made.query)
    if changed and chance.random() < 0.6:
        at = chance.randrange(len(changed))
        values = [value for one in PARAMETERS.values() for value in one]
        changed[at] = (changed[at][0], chance.choice([*values, "", SURROGATE, "a" * 20_000]))
    name = chance.choice(list(PARAMETERS))
    for _ in range(chance.choice((1, 2))):
        changed.append((name, chance.choice(PARAMETERS[name])))
    return made._replace(query=changed)


def path(made: Made, chance: random.Random) -> Made:
    """A name in the path that cannot be one."""
    parts = made.path.split("/")
    at = chance.randrange(1, len(parts))
    parts[at] = chance.choice((*SEGMENTS, parts[at] + ":a", parts[at] + "%20", "a" * 20_000))
    return made._replace(path="/".join(parts))


def header(made: Made, chance: random.Random) -> Made:
    """A header that is not what it says."""
    name = chance.choice(HEADERS)
    return made._replace(headers=made.headers | {name: chance.choice(HEADER_VALUES)})


HEADERS = (
    "Content-Type",
    "Content-Encoding",
    "If-Match",
    "If-None-Match",
    "Range",
    "Accept",
    "Content-Range",
    "X-Goog-Hash",
    "If-Modified-Since",
    "x-amz-copy-source",
    "Cookie",
    "x-amz-copy-source-range",
    "x-amz-decoded-content-length",
    "x-amz-content-sha256",
    "Content-MD5",
    "x-amz-tagging",
    "x-amz-checksum-sha256",
    "Authorization",
    "Expect",
)


def no_json(made: Made, chance: random.Random) -> Made:
    """A body that is none of its kind."""
    cut = json.dumps(made.body).encode()[: chance.randrange(1, 40)]
    bad = (b"", b"{", b"\xff\xfe", b"null", b"[]", b'"a"', b"1", b"[" * 5000, b'{"a":1e400}', cut)
    return made._replace(body=chance.choice((*bad, b'{"a":' + b"9" * 5000 + b"}")))


FAULTS: tuple[Change, ...] = (
    *(value_of(kind) for kind in DEFECTS),
    missing,
    missing,
    query,
    query,
    path,
    header,
    no_json,
)


# ---- what there is ----------------------------------------------------------------------------
PARENT = "/v1/projects/declared/locations/us-central1"
JSON = {"Content-Type": "application/json"}
POOL = {
    "machineSpec": {"machineType": "n1-standard-4"},
    "replicaCount": "1",
    "containerSpec": {"imageUri": IMAGE, "command": ["true"]},
}


def _post(path: str, body: Any, **headers: str) -> Recorded:
    return Recorded("POST", path, JSON | headers, json.dumps(body).encode())


def _amazon(operation: str, body: Any) -> Recorded:
    return _post("/aws/", body, **{"X-Amz-Target": f"SageMaker.{operation}"})


DATASETS = "/bigquery/v2/projects/declared/datasets"
FIELD = {"name": "x", "type": "INTEGER"}
STUDY = {
    "metrics": [{"metricId": "a", "goal": "MAXIMIZE"}],
    "parameters": [{"parameterId": "r", "doubleValueSpec": {"minValue": 0.1, "maxValue": 1.0}}],
}
# What is made before: one of each kind of thing, so that requests find it.
BEFORE = (
    _post("/storage/v1/b?project=declared", {"name": "declared"}),
    Recorded("POST", "/upload/storage/v1/b/declared/o?uploadType=media&name=x", {}, b"x\n1\n"),
    Recorded("PUT", "/aws/declared", {}, b""),
    Recorded("PUT", "/aws/declared/x", {}, b"x\n1\n"),
    _post(DATASETS, {"datasetReference": {"datasetId": "d"}}),
    _post(
        f"{DATASETS}/d/tables",
        {"tableReference": {"tableId": "t"}, "schema": {"fields": [FIELD]}},
    ),
    _post("/bigquery/v2/projects/declared/queries", {"query": "SELECT 1", "useLegacySql": False}),
    _post(
        f"{PARENT}/customJobs",
        {"displayName": "a", "jobSpec": {"workerPoolSpecs": [POOL]}},
    ),
    _post(
        f"{PARENT}/hyperparameterTuningJobs",
        {
            "displayName": "a", "studySpec": STUDY, "maxTrialCount": 1, "parallelTrialCount": 1,
            "trialJobSpec": {"workerPoolSpecs": [POOL]},
        },
    ),
    _post(f"{PARENT}/endpoints", {"displayName": "a"}),
    _post(f"{PARENT}/tensorboards", {"displayName": "a"}),
    _post(f"{PARENT}/metadataStores?metadataStoreId=default", {}),
    _post(f"{PARENT}/metadataStores/default/contexts?contextId=abcd", {"displayName": "a"}),
    _post(f"{PARENT}/metadataStores/default/executions?executionId=abcd", {"displayName": "a"}),
    _post(f"{PARENT}/metadataStores/default/artifacts?artifactId=abcd", {"displayName": "a"}),
    _post(
        f"{PARENT}/models:upload",
        {"model": {"displayName": "a", "containerSpec": {"imageUri": IMAGE}}},
    ),
    _amazon(
        "CreateModelPackageGroup",
        {"ModelPackageGroupName": "a", "ModelPackageGroupDescription": "a"},
    ),
    _amazon("CreateNotebookInstance", {
        "NotebookInstanceName": "a", "InstanceType": "ml.t3.medium", "RoleArn": ROLE,
    }),
)  # fmt: skip
LISTS = ("customJobs", "hyperparameterTuningJobs", "endpoints", "tensorboards", "models")


def make_some(send: Callable[[Recorded], tuple[int | None, str]]) -> dict[str, list[str]]:
    """Make one of each kind of thing; return the names by what stands before them in a path."""
    for each in BEFORE:
        status, said = send(each)
        is_there = status == 409 or "exists" in said or "duplicate" in said
        assert status in (200, 204) or is_there, (each, status, said[:500])
    names = {
        "projects": ["declared"],
        "locations": ["us-central1"],
        "b": ["declared"],
        "o": ["x"],
        "datasets": ["d"],
        "tables": ["t"],
        "Bucket": ["declared"],
        "Key": ["x"],
        "metadataStores": ["default"],
        "contexts": ["abcd"],
        "executions": ["abcd"],
        "artifacts": ["abcd"],
    }
    for kind in LISTS:
        _, said = send(Recorded("GET", f"{PARENT}/{kind}", {}, b""))
        names[kind] = [one["name"].rpartition("/")[2] for one in json.loads(said)[kind]]
    _, said = send(Recorded("GET", "/bigquery/v2/projects/declared/jobs", {}, b""))
    names["jobs"] = names["queries"] = [
        one["jobReference"]["jobId"] for one in json.loads(said)["jobs"]
    ]
    board = names["tensorboards"][0]
    inside = f"{PARENT}/tensorboards/{board}/experiments"
    send(_post(f"{inside}?tensorboardExperimentId=a", {"displayName": "a"}))
    send(_post(f"{inside}/a/runs?tensorboardRunId=a", {"displayName": "a"}))
    return names
