"""Put small bugs into the code, one at a time, and count those that the tests do not notice.

mutmut and cosmic-ray do this too, but with one command of tests for the whole project, and with
the mutant in the process that tests it. Here the code runs in other processes (servers, jobs,
scripts that are sent as files), and each file has tests of its own: a mutant is a changed file in
a copy of the project, and only the tests that mirror the file, or import it, run against it. A
seed draws the mutants, so that a run can be repeated; `--minutes` bounds each package. With
`--make-test` only those of the tests run that `make test` runs: what does a newcomer's command see?
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast

from tools.copies import copy as copy_project

ROOT = Path(__file__).resolve().parent.parent
PATIENCE = 60.0  # seconds beside thrice the usual time, after which a mutant counts as killed


@dataclass(frozen=True)
class Package:
    """Files to change, and the folder of the tests that mirror them."""

    files: str  # a pattern
    tests: str
    names: tuple[str, ...] = ()  # tests that are named after something else
    functions: tuple[str, ...] = ()  # those to change alone, by how their names begin; else all


PACKAGES = {
    "engine": Package("local-cloud/src/local_cloud/engine/**/*.py", "local-cloud/tests/engine"),
    "store": Package("local-cloud/src/local_cloud/store/*.py", "local-cloud/tests/store"),
    "guard": Package(
        "local-cloud/src/local_cloud/http/guard.py", "local-cloud/tests/http",
        ("test_guard.py", "../console/site/test_sign_in.py"),
    ),
    "cleanup (shared)": Package(
        "lesson/services/cleaning.py", "tests/helpers", ("test_cleaning.py",)
    ),
    "cleanup (Google)": Package(
        "GCP_helpers/cleaning.py", "tests/GCP_helpers",
        ("test_cleaning.py", "../helpers/test_cleaning.py", "../helpers/test_serving.py"),
    ),
    "cleanup (Amazon)": Package(
        "AWS_helpers/cleaning.py", "tests/AWS_helpers",
        ("test_cleaning.py", "../helpers/test_cleaning.py", "../helpers/test_tuning.py",
         "../helpers/test_serving.py"),
    ),
    "script's checks": Package(
        "training/train_nn.py", "tests/training",
        ("test_refusals.py", "test_bad_rows.py", "test_big_tables.py", "test_results.py",
         "test_training.py", "test_tables.py"),
        ("require", "number", "count", "parse_flags", "read_archive", "read_table", "read_parts"),
    ),
    "script's files": Package(
        "training/train_nn.py", "tests/training", ("test_buckets.py", "test_bad_checkpoints.py"),
        ("read_bytes", "read_checkpoint"),
    ),
    "script's replicas": Package(
        "training/train_nn.py", "tests/training", ("test_replicas.py", "test_sagemaker.py"),
        ("find_", "own_range"),
    ),
}  # fmt: skip

# What a slip of the hand makes of an operator.
SWAPPED: dict[str, str] = {
    "Lt": "LtE", "LtE": "Lt", "Gt": "GtE", "GtE": "Gt", "Eq": "NotEq", "NotEq": "Eq",
    "Is": "IsNot", "IsNot": "Is", "In": "NotIn", "NotIn": "In", "And": "Or", "Or": "And",
    "Add": "Sub", "Sub": "Add", "Mult": "Add", "Div": "Mult", "FloorDiv": "Mult",
    "BitOr": "BitAnd", "BitAnd": "BitOr",
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """A file with one change."""

    file: Path  # below the project's folder
    line: int
    before: str
    after: str
    text: str  # the whole file, changed

    def __str__(self) -> str:
        """Where it is, and what it changes."""
        before, after = (" ".join(each.split()) for each in (self.before, self.after))
        return f"{self.file}:{self.line}: {before} -> {after}"


def swapped(operator: ast.AST) -> Any:
    """The other operator; the same where there is none."""
    name = type(operator).__name__
    return getattr(ast, SWAPPED.get(name, name))()


def bug(node: ast.AST) -> ast.AST | None:
    """The node with a small bug in it, if one fits."""
    other: Any = copy.deepcopy(node)
    match other:
        case ast.Compare(ops=[operator]):
            other.ops = [swapped(operator)]
        case ast.BoolOp(op=operator) | ast.BinOp(op=operator):
            other.op = swapped(operator)
        case ast.UnaryOp(op=ast.Not()):
            return cast(ast.AST, other.operand)
        case ast.IfExp(test=test):
            other.test = ast.UnaryOp(ast.Not(), test)
        case ast.Constant(value=bool(value)):
            other.value = not value
        case ast.Constant(value=int(value)):
            other.value = value + 1
        case ast.Return(value=ast.expr() as value) if getattr(value, "value", True) is not False:
            other.value = ast.Constant(None)
        case ast.Expr(value=ast.Call() | ast.Await()) | ast.Raise() | ast.AugAssign():
            return ast.Pass()
        case ast.Continue() | ast.Break():
            return ast.Pass()
    return other if ast.dump(other) != ast.dump(node) else None


def code(node: ast.AST) -> Iterator[ast.AST]:
    """The node and all below it that runs: no annotations, no text with values in it."""
    if isinstance(node, ast.JoinedStr):  # up to Python 3.11 positions inside it are wrong
        return
    yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from code(child)


def idle(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """The statements `continue` at the end of a loop's body, where `pass` does the same."""
    match body[-1:]:
        case [ast.Continue() as last]:
            yield last
        case [ast.If() | ast.Try() | ast.With() as last]:
            branches = [last, *getattr(last, "handlers", ())]
            for branch in branches:
                yield from idle(branch.body)
            yield from idle(getattr(last, "orelse", []))


def mutants_of(root: Path, file: Path, functions: tuple[str, ...] = ()) -> list[Mutant]:
    """Every mutant of a file, or of its functions whose names begin so."""
    source = (root / file).read_text(encoding="utf-8")
    tree = ast.parse(source)
    tops = [
        top for top in tree.body
        if not functions or (isinstance(top, ast.FunctionDef) and top.name.startswith(functions))
    ]  # fmt: skip
    nodes = [node for top in tops for node in code(top)]
    loops = [node for node in nodes if isinstance(node, ast.For | ast.While)]
    same = {id(each) for loop in loops for each in idle(loop.body)}
    mutants = []
    for node in nodes:
        if id(node) not in same and (other := bug(node)) is not None:
            before, after = ast.get_source_segment(source, node) or "", ast.unparse(other)
            text = replaced(source, node, after)
            mutants.append(Mutant(file, cast(Any, node).lineno, before, after, text))
    return mutants


def replaced(source: str, node: Any, text: str) -> str:
    """The source with other text for this node; columns of a node count bytes."""
    lines = source.encode().splitlines(keepends=True)
    start = sum(map(len, lines[: node.lineno - 1])) + node.col_offset
    end = sum(map(len, lines[: node.end_lineno - 1])) + node.end_col_offset
    whole = b"".join(lines)
    return (whole[:start] + text.encode() + whole[end:]).decode()


def mirrors(root: Path, file: Path, package: Package) -> list[str]:
    """The tests that mirror a file, and those in their folder that import it; else the folder."""
    folder = root / package.tests
    if package.names:
        return [f"{package.tests}/{name}" for name in package.names]
    imported = re.compile(rf"\b{file.parent.name}(\.| import .*\b){file.stem}\b")
    paths = [
        path.relative_to(root).as_posix() for path in sorted(folder.rglob("test_*.py"))
        if path.stem == f"test_{file.stem}" or imported.search(path.read_text(encoding="utf-8"))
    ]  # fmt: skip
    return paths or [package.tests]


def of_make_test(root: Path, tests: list[str]) -> list[str]:
    """Those of the tests that `make test` runs; if there are none, what it runs nearest to them."""
    named = [Path(os.path.normpath(test)) for test in tests]
    runs = files_of_make_test(root, "local-cloud" if named[0].parts[0] == "local-cloud" else ".")
    found = [file for file in runs if any(file.is_relative_to(each) for each in named)]
    folder = named[0]
    while not found:
        folder = folder.parent
        found = [file for file in runs if file.is_relative_to(folder)]
    return [file.as_posix() for file in found]


@cache
def files_of_make_test(root: Path, house: str) -> list[Path]:
    """The test files that `make test` runs in the lesson's folder, or in the local cloud's."""
    printed = subprocess.check_output(
        [sys.executable, "-m", "tests.groups"], cwd=root / house, text=True
    )
    return [Path(house, name) for name in printed.split() if name.endswith(".py")]


def passes(root: Path, tests: list[str], limit: float | None = None) -> bool:
    """Whether the tests pass within so many seconds."""
    # What a mutant leaves may be what shutil cannot remove, as pytest would try in its next run.
    folder = tempfile.mkdtemp(prefix="mutant-")
    os.chmod(folder, 0o1777)  # as /tmp: some tests run as another user
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"]
    process = subprocess.Popen(
        [*command, "-m", "not slow", *tests],
        cwd=root, env=os.environ | {"TMPDIR": folder, "PYTHONPATH": str(root / "local-cloud/src")},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    try:
        return process.wait(limit) == 0
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return False
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run(
    root: Path, package: Package, draw: random.Random, seconds: float, *, make_test: bool = False
) -> Counter[str]:
    """Try mutants of a package until the time is over; print those that survive."""
    files = [path.relative_to(root) for path in sorted(root.glob(package.files))]
    drawn = [each for file in files for each in mutants_of(root, file, package.functions)]
    draw.shuffle(drawn)
    end = time.monotonic() + seconds
    count: Counter[str] = Counter()
    limits: dict[str, float] = {}  # by tests; 0: they fail without a mutant, and say nothing
    for mutant in drawn:
        if time.monotonic() > end:
            break
        tests = mirrors(root, mutant.file, package)
        if make_test:
            tests = of_make_test(root, tests)
        key = " ".join(tests)
        if key not in limits:
            start = time.monotonic()
            sound = passes(root, tests)
            limits[key] = sound and 3 * (time.monotonic() - start) + PATIENCE
            if not sound:
                print(f"  these fail without a mutant, and are left out: {key}", flush=True)
        if not limits[key]:
            continue
        path = root / mutant.file
        before = path.read_bytes()
        path.write_text(mutant.text, encoding="utf-8")
        survived = passes(root, tests, limits[key])
        path.write_bytes(before)
        count["survived" if survived else "killed"] += 1
        if survived:
            print(f"  {mutant}", flush=True)
    return count


def main(arguments: list[str] | None = None) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser("tests.mutants", description=__doc__)
    parser.add_argument("packages", nargs="*", metavar="PACKAGE", help=", ".join(PACKAGES))
    parser.add_argument("--minutes", type=float, default=5.0, help="for each package")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--make-test", action="store_true", help="its tests alone, not all")
    told = parser.parse_args(arguments)
    if unknown := set(told.packages) - set(PACKAGES):
        parser.error(f"there is no {', '.join(sorted(unknown))}; there are {', '.join(PACKAGES)}")
    with tempfile.TemporaryDirectory(prefix="mutants-") as name:
        root = Path(name)
        root.chmod(0o755)  # some tests run code of it as another user
        copy_project(ROOT, root)
        (root / ".venv").symlink_to(ROOT / ".venv")
        for package in told.packages or PACKAGES:
            print(f"{package}:", flush=True)
            # A text seeds the same way in every run.
            draw = random.Random(f"{told.seed} {package}")
            count = run(root, PACKAGES[package], draw, told.minutes * 60, make_test=told.make_test)
            tried = count.total()
            share = f"{count['survived'] / tried:.0%}" if tried else "none"
            print(
                f"{package}: {tried} tried, {count['killed']} killed, "
                f"{count['survived']} survived ({share})",
                flush=True,
            )


if __name__ == "__main__":
    main()
