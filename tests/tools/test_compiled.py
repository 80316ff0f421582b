"""What is compiled when the lesson's environment is made, and what is left to the first import."""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from pathlib import Path

from lesson import ROOT, preparation
from tools.environment.compiled import compile_packages, is_left_out

# What the jobs of the lesson and of its examples import beside the script.
JOBS = """\
import boto3, hypertune, keras, pandas, torch.utils.tensorboard
import google.cloud.bigquery, google.cloud.storage, sklearn.ensemble
import kfp.dsl.executor_main
"""
# Run the script, then print the files of all modules.
RUN = """\
import json, runpy, sys
script = sys.argv.pop(1)
exec(sys.argv.pop(1))
sys.argv.pop(0)
sys.argv.insert(0, script)
sys.path.insert(0, script.rpartition("/")[0])
try:
    runpy.run_path(script, run_name="__main__")
finally:  # a script may end by an exit
    files = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    print(json.dumps([file for file in files if file]))
"""


def test_everything_is_compiled_but_tests_and_what_no_job_imports(tmp_path: Path) -> None:
    venv.create(tmp_path / "tests/new", symlinks=True)  # a folder above may have any name
    (packages,) = (tmp_path / "tests/new").glob("lib/python3*/site-packages")
    files = ["used/part.py", "one.py", "broken/template.py", "google/cloud/there.py"]
    left_out = ["used/tests/one.py", "mlflow/part.py", "google/genai/it.py"]
    for name in files + left_out:
        (packages / name).parent.mkdir(parents=True, exist_ok=True)
        (packages / name).write_text("def {{ name }}" if "broken" in name else "")
    compile_packages(tmp_path / "tests/new")
    compiled = {file.name.partition(".")[0] for file in packages.rglob("*.pyc")}
    assert compiled == {"part", "one", "there"}
    assert not list(packages.glob("mlflow/**/*.pyc")) + list(packages.glob("used/tests/**/*.pyc"))


def test_a_job_imports_only_what_is_compiled(tmp_path: Path) -> None:
    """It cannot keep what it compiles: each job would do so again."""
    data = preparation.prepare(ROOT / "data/titanic_train.csv", tmp_path)
    flags = [f"--train={data.train}", f"--val={data.val}", "--epochs=2", f"--model_dir={tmp_path}"]
    script = str(ROOT / "training/train_nn.py")
    done = subprocess.run(
        [sys.executable, "-c", RUN, script, JOBS, *flags],
        env={"_KFP_RUNTIME": "true", "KERAS_BACKEND": "torch", "HOME": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    files = json.loads(done.stdout.splitlines()[-1])
    assert any("/site-packages/torch/" in file for file in files)
    assert not [file for file in files if is_left_out(file)]
