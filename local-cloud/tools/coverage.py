"""Write docs/calls.md: which calls of each service the local cloud answers.

`python -m tools.coverage` (`make tables`) writes the page, `--check` says whether it is
up to date. Calls and paths are read from Google's definitions and client libraries and from
botocore's models, and every path is put to the local cloud's own routes: a call counts as working
only if a route of its own answers it.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import pkgutil
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from starlette.routing import BaseRoute, Match, Route

from local_cloud.amazon.protocols.json_protocol import JsonService
from local_cloud.amazon.protocols.rest_protocol import RestService
from local_cloud.amazon.s3 import operations
from local_cloud.amazon.s3.routes import HARMLESS
from local_cloud.amazon.s3.routes import calls as s3_calls
from local_cloud.amazon.sagemaker import service as sagemaker
from local_cloud.google.bigquery import service as bigquery
from local_cloud.google.gcs import service as gcs
from local_cloud.google.logging import service as logging
from local_cloud.google.resourcemanager import service as resourcemanager
from local_cloud.google.vertex import service as vertex
from local_cloud.platform import Platform

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "calls.md"
DEFINITIONS = ROOT / "src" / "local_cloud" / "google" / "definitions"
CASES = ROOT / "tests" / "google" / "bigquery" / "sqlglot_cases.json"
SUITE = ROOT / "tests" / "amazon" / "s3" / "public_suite.json"
INTRODUCTION = """# Table of calls

Which calls of each service work, and which are missing. A missing call gets the error "not
implemented", with its name. `make tables` writes this page from the code: change that, not this
file.
"""

# The calls that every service of Vertex AI has beside its own: google.longrunning.Operations,
# google.cloud.location.Locations and google.iam.v1.IAMPolicy.
SHARED = re.compile(r"(Get|List|Cancel|Delete|Wait)Operations?|(Get|List)Locations?|\w+Iam\w+")


@contextlib.contextmanager
def empty() -> Iterator[Platform]:
    """Yield what services are built on, with nothing in it and nothing running."""
    with tempfile.TemporaryDirectory() as folder:
        platform = Platform.of(Path(folder), {})
        yield platform
        platform.close_records()


def is_answered(routes: Sequence[BaseRoute], method: str, path: str) -> bool:
    """Return whether a route other than the last ones, which refuse everything, takes it."""
    scope = {"type": "http", "method": method, "path": path, "root_path": ""}
    own = [route for route in routes if "{rest:path}" not in str(getattr(route, "path", ""))]
    return any(isinstance(r, Route) and r.matches(scope)[0] is Match.FULL for r in own)


def of_definition(name: str, routes: Sequence[BaseRoute]) -> list[str]:
    """Return the lines on an API that has a file of this name in local_cloud/google/definitions."""
    api = json.loads((DEFINITIONS / f"{name}.json").read_text(encoding="utf-8"))
    works = {}
    for method in api["methods"]:
        paths = [f"/{api['servicePath']}{method['path']}"]
        uploads = method.get("mediaUpload", {}).get("protocols", {})
        paths += [protocol["path"] for protocol in uploads.values()]
        works[method["id"].partition(".")[2]] = any(
            is_answered(routes, method["httpMethod"], _example(path)) for path in paths
        )
    works["batch"] = is_answered(routes, "POST", f"/{api['batchPath']}")
    collections = ", ".join(f"`{each}`" for each in sorted(api["missing"]))
    count = sum(api["missing"].values())
    *lines, last = _paragraphs(works)
    return [*lines, f"- Missing, all {count} calls of: {collections}.", last]


def of_sql() -> Iterator[str]:
    """Yield the lines on BigQuery's SQL, as the runner of sqlglot's tests wrote it down."""
    cases = json.loads(CASES.read_text(encoding="utf-8"))
    counts = cases["counts"]
    yield f"Of {counts['all']} statements in the tests of sqlglot {cases['version']} for BigQuery,"
    yield f"{counts['run']} run, {counts['not implemented']} are refused as not implemented, and"
    yield f"{counts['failed']} fail (`{cases['command']}`). sqlglot's tests only translate them, so"
    yield "the tables are made up, and a failure can come from a column of the wrong type. Which"
    yield f"statements did not run, and why, is in `{CASES.relative_to(ROOT)}`."
    yield ""


def by_service(package: str, routes: Sequence[BaseRoute]) -> dict[str, dict[str, bool]]:
    """Return the services of a package of Google's client libraries.

    Each has its calls, and whether each works.
    """
    return {
        service: {
            name: any(is_answered(routes, method, path) for method, path in rules)
            for name, rules in calls
        }
        for service, calls in _services(package)
    }


def _services(package: str) -> Iterator[tuple[str, list[tuple[str, list[tuple[str, str]]]]]]:
    """(service, [(call, [(method, a path with made-up names)])]) from the library's http rules."""
    for module in pkgutil.iter_modules(importlib.import_module(package).__path__):
        try:
            rest = importlib.import_module(f"{package}.{module.name}.transports.rest_base")
        except ModuleNotFoundError:
            continue  # served over gRPC only
        (transport,) = (v for k, v in vars(rest).items() if re.fullmatch(r"_Base\w+Transport", k))
        calls = []
        for name, one in vars(transport).items():
            if name.startswith("_Base") and hasattr(one, "_get_http_options"):
                rules = [
                    (rule["method"].upper(), _example(rule["uri"]))
                    for rule in one._get_http_options()
                ]
                calls.append((name.removeprefix("_Base"), rules))
        yield transport.__name__.removeprefix("_Base").removesuffix("RestTransport"), calls


def _example(uri: str) -> str:
    """`/v1/{name=projects/*/locations/*}/x` with `a` for each star."""
    return re.sub(r"\{[^=}]+=([^}]+)\}|\{[^}]+\}", lambda m: m[1] or "a", uri).replace("*", "a")


def of_s3() -> Iterator[str]:
    """Yield the lines on S3: a request is made up for each operation of botocore's model."""
    with empty() as platform:
        ours = s3_calls(platform.s3)
    works = {}
    for rule in operations.rules():
        query = {**rule.fixed, **dict.fromkeys(rule.query, "1")}
        operation = operations.find(rule.method, rule.depth, query, headers=rule.headers, ours=ours)
        works[rule.name] = (
            rule.name in ours and operation is not None and operation.name == rule.name
        )
    yield from ("## S3", "", *_paragraphs(works))
    yield "Signatures are not checked, because the URL itself is the secret; a presigned URL"
    yield "that has expired is refused. These parameters are accepted with the values for which"
    yield from ("nothing has to be done, and refused with others:", "")
    for name, values in HARMLESS.items():
        yield f"- `{name}`: {', '.join(sorted(f'`{value}`' for value in values))}"
    yield from ("", _public_suite(), "")


def _public_suite() -> str:
    """Return what came of a public suite of tests of S3, as its runner wrote it down."""
    suite = json.loads(SUITE.read_text(encoding="utf-8"))
    every, real = suite["all"], suite["checked against the real service by their authors"]
    return (
        f"Of {suite['suite']}, version {suite['version']}, {every['passed']} of {every['run']} pass"
        f" ({suite['date']}, `{suite['command']}`); of those among them that their authors have run"
        f" against the real service, {real['passed']} of {real['run']}. Most of the others need an"
        " operation that is missing here. Which tests do not apply, and why the others fail, is in"
        f" `{SUITE.relative_to(ROOT)}`."
    )


def of_sagemaker() -> Iterator[str]:
    """Yield the lines on SageMaker: botocore's model has all calls, the service those that work."""
    with empty() as platform:
        service, *others = sagemaker.service(platform).apis
    assert isinstance(service, JsonService)
    works = [f"`{name}`" for name in service.operations]
    missing = len(service.model.operation_names) - len(works)
    yield from ("## SageMaker", "")
    yield f"- Works: {', '.join(works)}."
    yield from (f"- Missing: the other {missing} calls.", "")
    for api in others:
        if isinstance(api, RestService):
            names = api.model.operation_names
            answered = {str(name): name in api.operations for name in names}
            yield from (f"### {api.model.service_id}", "", *_paragraphs(answered))
    yield (
        "Notebook instances are records: no Jupyter server is started, because you already work"
        " in one."
    )
    yield ""
    yield from of_ignored("local_cloud.amazon.sagemaker")


def of_ignored(package: str) -> Iterator[str]:
    """Yield the lines on fields without an effect: a module's IGNORED, of what IGNORED_IN names."""
    for path in sorted((ROOT / "src" / package.replace(".", "/")).rglob("*.py")):
        if re.search(r"^IGNORED = ", path.read_text(encoding="utf-8"), re.MULTILINE):
            name = ".".join(path.relative_to(ROOT / "src").with_suffix("").parts)
            module = importlib.import_module(name)
            whose = module.IGNORED_IN
            yield f"These fields of {whose} are checked and kept, and have no effect here."
            yield ""
            yield from (f"- `{field}`: {why}" for field, why in module.IGNORED.items())
            yield ""


def table() -> str:
    """Return the lists of all services."""
    with empty() as platform:
        of_storage = of_definition("storage.v1", gcs.service(platform).routes)
        of_bigquery = of_definition("bigquery.v2", bigquery.service(platform).routes)
        of_logging = of_definition("logging.v2", logging.service(platform).routes)
        of_vertex = vertex.service(platform)
        services = by_service(
            "google.cloud.aiplatform_v1.services", [*of_vertex.first, *of_vertex.routes]
        )
        of_projects = by_service(
            "google.cloud.resourcemanager_v3.services", resourcemanager.service(platform).routes
        )["Projects"]
    lines = ["## Cloud Storage", "", *of_storage]
    lines += ["## BigQuery", "", *of_bigquery, *of_sql()]
    lines += ["## Cloud Logging", "", *of_logging]
    lines += ["## Projects", "", *_paragraphs(of_projects)]
    lines += ["## Vertex AI", ""]
    shared = {
        name: ok
        for calls in services.values()
        for name, ok in calls.items()
        if SHARED.fullmatch(name)
    }
    services = {
        service: {name: ok for name, ok in calls.items() if not SHARED.fullmatch(name)}
        for service, calls in services.items()
    }
    for service, calls in services.items():
        if any(calls.values()):
            lines += [f"### {service}", "", *_paragraphs(calls)]
    lines += ["### Shared by all services", "", *_paragraphs(shared)]
    rest = [name for name, calls in services.items() if not any(calls.values())]
    count = sum(len(services[name]) for name in rest)
    lines += ["### Other services", ""]
    lines += [f"- Missing, all {count} calls of: {', '.join(rest)}.", ""]
    lines += ["### Accepted and ignored", ""]
    lines += of_ignored("local_cloud.google.vertex")
    lines += [*of_s3(), *of_sagemaker()]
    return "\n".join(lines) + "\n"


def _paragraphs(calls: dict[str, bool]) -> list[str]:
    """Return which calls work, and which are missing."""
    lines = []
    for word, wanted in (("Works", True), ("Missing", False)):
        names = [f"`{name}`" for name, works in calls.items() if works == wanted]
        if names:
            lines.append(f"- {word}: {', '.join(names)}.")
    return [*lines, ""]


def page() -> str:
    """Return the page as it should be."""
    return f"{INTRODUCTION}\n{table().rstrip()}\n"


def main() -> int:
    """Write the page, or check it; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.coverage", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; say what is stale")
    wanted = page()
    if parser.parse_args().check:
        if PAGE.read_text(encoding="utf-8") != wanted:
            print(f"{PAGE.name} is stale; run `make tables`", file=sys.stderr)
            return 1
        print("the coverage page is up to date")
        return 0
    PAGE.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
