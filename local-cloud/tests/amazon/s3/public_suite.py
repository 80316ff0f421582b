"""moto's own tests of S3, from its sdist on PyPI, driven by boto3 against our S3.

`python -m tests.amazon.s3.public_suite` makes an environment of its own
(.venv-moto) with the suite in it, runs the tests, and says how many pass; `--write` also writes
public_suite.json, from which the page about the local cloud has the number.

A test does not apply if it is about something else than S3's wire: the files in ELSEWHERE, what
moto itself skips when it is pointed at a server, what sends no request to ours or some to another
server, what calls another service than S3, and the few in LEFT_OUT, whose outcome is chance. Every
other test counts, also where what it needs is missing here.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import local_cloud

ROOT = Path(__file__).resolve().parents[3]
RESULTS = Path(__file__).with_suffix(".json")
ENVIRONMENT = ROOT.parent / ".venv-moto"
VERSION = "5.2.5"
COMMAND = "python -m tests.amazon.s3.public_suite"
ELSEWHERE = {
    "test_multiple_accounts_server.py": "starts moto's own server",
    "test_s3_cloudformation.py": "CloudFormation",
    "test_s3_config.py": "AWS Config",
    "test_s3_custom_endpoint.py": "moto's names for other vendors' servers",
    "test_s3_eventbridge_integration.py": "EventBridge",
    "test_s3_file_handles.py": "files that moto keeps open",
    "test_s3_lambda_integration.py": "Lambda",
    "test_s3_utils.py": "moto's own functions",
    "test_server.py": "starts moto's own server",
}
BY_CHANCE = "expects buckets as they were made; S3 lists them by name, and the names are random"
LEFT_OUT = {
    "test_s3.py::test_list_buckets": BY_CHANCE,
    "test_s3.py::test_list_buckets_with_max_buckets": BY_CHANCE,
}
MISSING = re.compile(r"not implemented in the local cloud: S3 (\S+(?: \w+=)?)")
Outcomes = dict[str, dict[str, Any]]
REAL = "checked against the real service by their authors"


def prepare() -> Path:
    """The folder with the suite; made, with its environment, if it is not there yet."""
    suite = ENVIRONMENT / f"moto-{VERSION}"
    if suite.exists():
        return suite
    lock = ROOT.parent / "tools/lock/requirements.txt"
    pinned = lock.read_text(encoding="utf-8").splitlines()
    ours = [line for line in pinned if re.match(r"(boto3|botocore|requests)==", line)]
    wanted = [f"moto[s3]=={VERSION}", "flask", "flask-cors", "freezegun", "pytest"]
    wanted += ["pytest-timeout", "pip", *ours]
    uv = [sys.executable, "-m", "uv"]
    subprocess.run([*uv, "venv", "--clear", ENVIRONMENT], check=True)  # both talk on stderr alone
    subprocess.run([*uv, "pip", "install", "--python", ENVIRONMENT, *wanted], check=True)
    pip = [ENVIRONMENT / "bin" / "python", "-m", "pip", "--disable-pip-version-check"]
    source = ["--no-binary", ":all:", "--no-deps", f"moto=={VERSION}"]
    subprocess.run([*pip, "download", "--quiet", "--dest", ENVIRONMENT, *source], check=True)
    with (
        tarfile.open(ENVIRONMENT / f"moto-{VERSION}.tar.gz") as packed,
        tempfile.TemporaryDirectory(dir=ENVIRONMENT) as folder,
    ):
        packed.extractall(folder, filter="data")
        Path(folder, suite.name).rename(suite)  # whole or not at all
    return suite


def run(suite: Path) -> Outcomes:
    """The outcome of each test, against a local cloud of its own."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["LOCAL_CLOUD_HOME"] = str(Path(folder, "home"))
        local_cloud.activate()
        report = Path(folder, "report.json")
        more = {
            "TEST_SERVER_MODE": "true",
            "TEST_SERVER_MODE_ENDPOINT": os.environ["AWS_ENDPOINT_URL"],
            "PYTHONPATH": str(Path(__file__).parent),
            "SUITE_REPORT": str(report),
        }
        command = [ENVIRONMENT / "bin" / "python", "-m", "pytest", "tests/test_s3", "-q"]
        command += ["-p", "public_suite_plugin", "-p", "no:cacheprovider", "--tb=no"]
        command += ["--timeout=60", *(f"--ignore=tests/test_s3/{name}" for name in ELSEWHERE)]
        try:
            done = subprocess.run(
                command, cwd=suite, env=os.environ | more, check=False, stdout=sys.stderr
            )
            if done.returncode not in (0, 1):  # 1: tests have failed, as some do
                raise SystemExit(f"the suite did not run: its pytest ended with {done.returncode}")
            outcomes: Outcomes = json.loads(report.read_text(encoding="utf-8"))
        finally:
            local_cloud.stop()
    return outcomes


def summary(outcomes: Outcomes) -> dict[str, Any]:
    """What is written down: how many tests pass, why others fail, and which do not apply."""
    aside = {
        name: why
        for name, each in outcomes.items()
        if (why := LEFT_OUT.get(name) or _not_applicable(each))
    }
    count = {name: each for name, each in outcomes.items() if name not in aside}
    failed = {name: each["why"] for name, each in count.items() if each["outcome"] != "passed"}
    missing = {name: match[1] for name, why in failed.items() if (match := MISSING.search(why))}
    other = {name for name in failed if name not in missing}
    vague = {name for name in other if "NotImplemented" in failed[name] or "501" in failed[name]}
    return {
        "suite": "moto's own tests of S3",
        "version": VERSION,
        "date": datetime.date.today().isoformat(),
        "command": COMMAND,
        "all": _counted(count.values()),
        REAL: _counted(each for each in count.values() if each["is_verified"]),
        "fail, for an operation or a value is not implemented": _most(missing.values()),
        "fail, for another error than `not implemented` was expected": sorted(vague),
        "fail otherwise": sorted(other - vague),
        "do not apply": _most(aside.values()),
        "not run, for they are about something else": ELSEWHERE,
    }


def _not_applicable(outcome: dict[str, Any]) -> str:
    """Why a test does not count; "" if it does."""
    why = str(outcome["why"])
    if outcome["outcome"] == "skipped" and "not implemented" not in why:
        return "the suite skips it where it is pointed at a server"
    if outcome["servers"] != ["ours"]:
        return f"talks to {' and '.join(outcome['servers']) or 'no server'}"
    if (match := re.search(r"not implemented in the local cloud: (\S+)", why)) and match[1] != "S3":
        return f"calls {match[1].partition('.')[0]}"
    return ""


def _counted(outcomes: Iterable[dict[str, Any]]) -> dict[str, int]:
    counts = Counter(each["outcome"] for each in outcomes)
    return {"passed": counts["passed"], "run": counts.total()}


def _most(reasons: Iterable[str]) -> dict[str, int]:
    """How often each occurs, the most frequent first."""
    return dict(sorted(Counter(reasons).items(), key=lambda item: (-item[1], item[0])))


def main() -> int:
    """Run the suite and say how many tests pass; returns the exit code."""
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__)
    parser.add_argument("--write", action="store_true", help="write public_suite.json")
    is_to_be_written = parser.parse_args().write
    counts = summary(run(prepare()))
    text = json.dumps(counts, indent=2) + "\n"
    print(text)
    if is_to_be_written:
        RESULTS.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
