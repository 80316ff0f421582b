"""Try the newest SDKs: which tests fail with them that pass with the locked ones.

`make drift` runs this, and a forge does every week. It makes `.venv-drift` afresh, with the newest
versions of the four SDKs and what they need, and of all else what the lock says; it runs the tests
that drive the SDKs; it prints which versions moved, what the newest SDK documents differently of
the fields of Vertex AI, and what broke, writes the table of versions in the local cloud's
documentation, and ends with 1 if something broke.
"""

from __future__ import annotations

import argparse
import datetime
import itertools
import json
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tools.environment import make
from tools.environment.packages import install_packages
from tools.lock import GROUPS

ROOT = make.ROOT
FOLDER = ROOT / ".venv-drift"
NEWEST = ("boto3", "google-cloud-aiplatform", "google-cloud-storage", "sagemaker")
MOVE_ALONG = ("botocore", "google-crc32c", "protobuf")  # the SDKs say which versions they need
TESTS = (
    "tests/GCP_helpers",
    "tests/AWS_helpers",
    "tests/helpers",
    "tests/sdk_paths",
    *(f"local-cloud/tests/google/{each}" for each in ("gcs", "vertex")),
    *(f"local-cloud/tests/amazon/{each}" for each in ("s3", "sagemaker", "iam", "logs")),
)
SECONDS = 45 * 60  # for all tests together
FIELDS_CHANGED = (
    "The newest SDK documents other fields of Vertex AI as required, or other limits. If they still"
    " hold, keep them in tools/vertex_fields.py of the local cloud; `python -m tools.vertex_fields`"
    " there writes its file again:"
)
PAGE = make.LOCAL_CLOUD / "docs" / "sdk-versions.md"
BEGIN, END = "<!-- written by `make drift` -->", "<!-- up to here -->"


@dataclass(frozen=True)
class Broken:
    """A test that failed."""

    test: str
    reason: str


def direct_requirements() -> set[str]:
    """Return the names in pyproject.toml: the local cloud's, the lesson's, development's."""
    lesson = tomllib.loads((ROOT / "pyproject.toml").read_text())
    groups = [lesson["dependency-groups"][name] for name in GROUPS]
    local_cloud = tomllib.loads((make.LOCAL_CLOUD / "pyproject.toml").read_text())["project"]
    extras = local_cloud["optional-dependencies"].values()
    listed = [*local_cloud["dependencies"], *itertools.chain(*extras, *groups)]
    return {canonicalize_name(Requirement(each).name) for each in listed}


def requirements(direct: set[str], locked: Mapping[str, str]) -> tuple[str, ...]:
    """Return what the environment is made from: direct requirements, pinned but for the SDKs."""
    free = {*NEWEST, *MOVE_ALONG}
    names = sorted(direct)
    return tuple(name if name in free else f"{name}=={locked[name]}" for name in names)


def read_lock(text: str) -> dict[str, str]:
    """Return the versions in requirements.txt of packages that every machine has in one version."""
    return dict(re.findall(r"^([\w.-]+)==(\S+)$", text, re.MULTILINE))


def list_installed(python: Path) -> dict[str, str]:
    """Return the versions in an environment."""
    code = (
        "import json, importlib.metadata as m;"
        "print(json.dumps({d.name: d.version for d in m.distributions()}))"
    )
    done = subprocess.run([python, "-c", code], check=True, capture_output=True, text=True)
    return {canonicalize_name(name): version for name, version in json.loads(done.stdout).items()}


def find_moved(before: Mapping[str, str], after: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """Return name, locked and new version of what differs, apart from a build's label."""
    return [
        (name, version, after[name])
        for name, version in sorted(before.items())
        if name in after and after[name].partition("+")[0] != version
    ]


def read_report(report: str) -> tuple[int, list[Broken]]:
    """Return how many tests ran, and which of them failed, according to pytest's JUnit report."""
    cases = list(ET.fromstring(report).iter("testcase"))
    broken_tests = []
    for case in cases:
        problem = case.find("failure")
        problem = case.find("error") if problem is None else problem
        if problem is not None:
            first = problem.get("message", "").strip().partition("\n")[0]
            broken_tests.append(Broken(f"{case.get('classname')}::{case.get('name')}", first[:160]))
    return len(cases), broken_tests


def table(rows: list[tuple[str, ...]]) -> str:
    """Return the rows as lines of equally wide columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def versions_page(
    page: str, before: Mapping[str, str], after: Mapping[str, str], *, result: str
) -> str:
    """Return the documentation's page on SDK versions with the table of today."""
    today = datetime.date.today().isoformat()
    rows = [f"| SDK | tested at every change | newest, tested on {today} |", "| --- | --- | --- |"]
    rows += [f"| `{name}` | {before[name]} | {after[name]} |" for name in NEWEST]
    head, _, rest = page.partition(BEGIN)
    lines = "\n".join(rows)
    return f"{head}{BEGIN}\n\n{lines}\n\n{result}\n\n{END}{rest.partition(END)[2]}"


def by_house(tests: list[str]) -> dict[Path, list[str]]:
    """Return the tests of each house, as pytest is given them in its folder."""
    house = f"{make.LOCAL_CLOUD.name}/"
    theirs = [test.removeprefix(house) for test in tests if test.startswith(house)]
    ours = [test for test in tests if not test.startswith(house)]
    return {folder: each for folder, each in ((ROOT, ours), (make.LOCAL_CLOUD, theirs)) if each}


def run_tests(python: Path, tests: list[str], folder: Path) -> str:
    """Run a house's tests and return pytest's JUnit report; SetupError if there is none."""
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch, "report.xml")
        command = [str(python), "-m", "pytest", "-q", "-n", "auto", "--dist", "loadfile"]
        command += ["-m", "not slow", "--tb=no", f"--junitxml={report}", *tests]
        try:
            subprocess.run(command, cwd=folder, timeout=SECONDS, check=False)
        except subprocess.TimeoutExpired:
            raise make.SetupError(f"the tests took more than {SECONDS} s") from None
        if not report.is_file():
            raise make.SetupError("pytest did not run; its message is above")
        return report.read_text(encoding="utf-8")


def compare_fields(python: Path) -> str:
    """Return which rules on the fields of Vertex AI the newest SDK no longer documents, or adds."""
    command = [str(python), "-m", "tools.vertex_fields", "--compare"]
    done = subprocess.run(
        command, cwd=make.LOCAL_CLOUD, capture_output=True, text=True, check=False
    )
    return done.stdout + done.stderr


def main() -> int:
    """Print what moved and what broke; 1 if something did."""
    parser = argparse.ArgumentParser("tools.drift", description=__doc__)
    parser.add_argument("tests", nargs="*", default=TESTS, help="other tests than the usual ones")
    tests = list(parser.parse_args().tests)
    before = read_lock(make.LOCK.read_text(encoding="utf-8"))
    shutil.rmtree(FOLDER, ignore_errors=True)  # the newest of today, not of the last time
    try:
        wanted = make.Wanted((), requirements(direct_requirements(), before))
        make.make(FOLDER, wanted)
        python = FOLDER / "bin" / "python"
        after = list_installed(python)
        changes = find_moved(before, after)
        make.install_local_cloud(python)
        install_packages(FOLDER)
        fields = compare_fields(python)
        reports = [run_tests(python, each, house) for house, each in by_house(tests).items()]
    except make.SetupError as problem:
        print(f"make: {problem}")
        return 1
    results = [read_report(report) for report in reports]
    count, failures = (
        sum(number for number, _ in results),
        [one for _, some in results for one in some],
    )
    print()
    print(table([("package", "locked", "newest"), *changes]) if changes else "No version moved.")
    result = f"{count} tests ran with these, {len(failures)} failed."
    print(f"\n{result}")
    if tests == list(TESTS):  # a part of them says nothing about the other SDKs
        written = f"With the newest versions, {count} tests ran and {len(failures)} failed."
        page = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(versions_page(page, before, after, result=written), encoding="utf-8")
    if failures:
        print(table([("broke", "by"), *((each.test, each.reason) for each in failures)]))
    if fields:
        print(f"\n{FIELDS_CHANGED}\n{fields}", end="")
    return int(bool(failures or fields))


if __name__ == "__main__":
    sys.exit(main())
