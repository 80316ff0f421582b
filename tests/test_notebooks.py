"""The plugin that starts each notebook alone, and what the pages say to those who join late."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from tests import notebooks
from tools.copies import copy, copy_compiled, files

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "episodes").glob("*.md"))
NOT_COMPILED = "PYTHONDONTWRITEBYTECODE"
SENTENCE = "It prepares everything that this page needs, even if you start here:\n\n```python\n"

LEAVES = """%%capture
import boto3, local_cloud
from pathlib import Path
Path("../runs").mkdir()
Path("../runs/model.pt").write_text("made by this notebook")
Path("../../left").write_text("likewise")
local_cloud.activate()
boto3.client("s3").create_bucket(Bucket="left")
"""
FINDS = """
import local_cloud
from pathlib import Path
print(sorted(path.name for path in Path("..").iterdir()))
print(sorted(path.name for path in Path("../..").iterdir()))
cloud = local_cloud.status()
print(cloud.running, [cloud.facts[kind] for kind in ("buckets", "jobs", "deployments")])
"""
NEEDS = "print(open('../runs/old.pt').read())"
STATES = "# The last digits depend on the processor: within 0.02\nprint('accuracy', 0.83)"
BILLS = """%%capture
import boto3, local_cloud
local_cloud.activate()
client = boto3.client("sagemaker")
role = boto3.client("iam").get_role(RoleName="SageMakerExecutionRole")["Role"]["Arn"]
image = "763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-inference:2.6.0-cpu-py312"
model = {"ModelName": "model", "PrimaryContainer": {"Image": image}}
variant = {"VariantName": "all", "ModelName": "model", "InstanceType": "ml.m5.large"}
client.create_model(ExecutionRoleArn=role, **model)
client.create_endpoint_config(
    EndpointConfigName="endpoint", ProductionVariants=[variant | {"InitialInstanceCount": 1}]
)
_ = client.create_endpoint(EndpointName="endpoint", EndpointConfigName="endpoint")
"""
NOTHING = """['data.csv', 'notebooks', 'untracked.py']
['ipython', 'lesson']
True [0, {}, 0]
"""


def notebook(code: str, printed: str = "") -> nbformat.NotebookNode:
    """A notebook of one cell, with what it is expected to print."""
    outputs = [nbformat.v4.new_output("stream", name="stdout", text=printed)] if printed else []
    cell = nbformat.v4.new_code_cell(code, outputs=outputs, execution_count=1)
    return nbformat.v4.new_notebook(cells=[cell])


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with six notebooks, where somebody has worked: runs/ is there, git ignores it."""
    for name in ("notebooks", "runs"):
        (tmp_path / name).mkdir()
    for name in ("data.csv", "untracked.py", "runs/old.pt"):
        (tmp_path / name).write_text("something")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    (tmp_path / ".git/info/exclude").write_text("runs/\n.*\n__pycache__/\n")
    subprocess.run(["git", "add", "data.csv"], cwd=tmp_path, check=True)
    nbformat.write(notebook(LEAVES), tmp_path / "notebooks/01-leaves.ipynb")
    nbformat.write(notebook(FINDS, NOTHING), tmp_path / "notebooks/02-finds.ipynb")
    nbformat.write(notebook(NEEDS, "something\n"), tmp_path / "notebooks/03-needs.ipynb")
    nbformat.write(notebook(STATES, "accuracy 0.82\n"), tmp_path / "notebooks/04-near.ipynb")
    nbformat.write(notebook(STATES, "accuracy 0.80\n"), tmp_path / "notebooks/05-far.ipynb")
    nbformat.write(notebook(BILLS), tmp_path / "notebooks/06-bills.ipynb")
    return tmp_path


def test_a_notebook_finds_nothing_of_another_one_and_shows_what_its_page_says(
    project: Path,
) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--color=no"]
    done = subprocess.run(
        [*command, "-p", "tests.notebooks", "--nbval", "--rootdir", str(project), "notebooks"],
        cwd=project,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert "2 failed, 4 passed, 1 error" in done.stdout, done.stdout
    assert "FAILED notebooks/03-needs.ipynb" in done.stdout
    assert "FAILED notebooks/05-far.ipynb" in done.stdout
    assert "ERROR notebooks/06-bills.ipynb" in done.stdout
    assert "06-bills.ipynb leaves on the local cloud what still bills: {'deploy" in done.stdout
    assert [path.name for path in (project / "runs").iterdir()] == ["old.pt"]  # all else in copies


def test_a_notebook_has_nothing_of_the_environment_that_tests_have_made(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = dict(os.environ)
    monkeypatch.setattr(notebooks, "_environment", before | {"SET": "at first"})
    monkeypatch.setenv("SET", "by a test")
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", "of this worker's local cloud")
    alone = notebooks.Alone(project / "notebooks/01-leaves.ipynb", project)
    inside = dict(os.environ)
    alone.end()
    assert inside["SET"] == "at first"
    assert inside["LOCAL_CLOUD_HOME"] != before["LOCAL_CLOUD_HOME"]
    assert inside.get("STORAGE_EMULATOR_HOST") == before.get("STORAGE_EMULATOR_HOST")
    assert os.environ["SET"] == "by a test"
    assert os.environ["LOCAL_CLOUD_HOME"] == before["LOCAL_CLOUD_HOME"]


def test_a_copy_has_what_git_would_take_and_its_links(tmp_path: Path) -> None:
    copy(ROOT, tmp_path)
    assert set(files(ROOT)) == {
        str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()
    }
    assert not (tmp_path / "runs").exists() and not (tmp_path / "work").exists()
    assert (tmp_path / "GCP_helpers/train_nn.py").is_symlink()


def test_a_copy_that_has_what_is_compiled_compiles_only_what_has_changed(tmp_path: Path) -> None:
    (tmp_path / "first").mkdir()
    subprocess.run(["git", "init", "-q"], cwd=tmp_path / "first", check=True)
    for name in ("same", "changed"):
        (tmp_path / f"first/{name}.py").write_text("value = 1\n")
    look = [sys.executable, "-v", "-c", "import same, changed; print(same.value, changed.value)"]
    compiling = {name: text for name, text in os.environ.items() if name != NOT_COMPILED}
    subprocess.run(look, cwd=tmp_path / "first", env=compiling, check=True, capture_output=True)
    copy(tmp_path / "first", tmp_path / "second")
    copy_compiled(tmp_path / "first", tmp_path / "second")
    (tmp_path / "second/changed.py").write_text("value = 22\n")
    done = subprocess.run(
        look, cwd=tmp_path / "second", env=compiling, check=True, capture_output=True, text=True
    )
    assert done.stdout == "1 22\n"
    compiled = re.findall(r"# code object from (\S+\.py)$", done.stderr, re.MULTILINE)
    assert [Path(path).name for path in compiled] == ["changed.py"]


@pytest.mark.parametrize("page", PAGES[2:], ids=lambda page: page.stem)
def test_every_page_after_the_first_two_says_which_cell_catches_up(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert text.count(SENTENCE) == 1, "one cell makes what the pages before have made"
    assert "```python\n" not in text[: text.index(SENTENCE)], "it is the first"
    cell = text[text.index(SENTENCE) + len(SENTENCE) :].partition("```")[0]
    assert re.search(r"\bconnect\(|\bprepare\(", cell)
