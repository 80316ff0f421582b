"""Which replicas start warm: those for which it makes no difference."""

from __future__ import annotations

import dataclasses
import os
import sys
from pathlib import Path

import pytest

from local_cloud.engine import system
from local_cloud.engine.base import server_base
from local_cloud.engine.environments.job_environment import JobEnvironment
from local_cloud.engine.spec import Replica
from local_cloud.engine.warm import suitability
from local_cloud.store import trees
from tests.engine.archives import sdist
from tests.lesson_code import TRAINING

pytestmark = pytest.mark.skipif(not system.LINUX, reason="forks on Linux only")

SCRIPT = "import sys\nimport torch\nprint(torch.rand(1))\n"


def starts_warm(
    folder: Path,
    code: str = SCRIPT,
    command: tuple[str, ...] = ("python", "script.py"),
    launched: bool = False,
    **variables: str,
) -> bool:
    """Return whether a script with this code, in a folder of its own, starts warm."""
    folder.mkdir(exist_ok=True)
    (folder / "script.py").write_text(code)
    python = JobEnvironment(folder.parent / ".python", server_base(folder))
    one = Replica("r", command, variables, folder, launched=folder if launched else None)
    return suitability.suits(one, folder, python)


@pytest.mark.parametrize(
    "code",
    [
        SCRIPT,
        "from torch import nn\n",
        "import numpy, torch\n",
        "try:\n    import torch.nn as nn\nexcept ImportError:\n    nn = None\n",
        "def main():\n    import torch\n",
        # Read before the import, or set after it: it has no effect in either start.
        "import os\nprint(os.environ['RANK'])\nimport torch\n",
        "import torch, os\nos.environ['OMP_NUM_THREADS'] = '1'\n",
    ],
)
def test_a_script_that_imports_torch_starts_warm(tmp_path: Path, code: str) -> None:
    assert starts_warm(tmp_path / "code", code)


@pytest.mark.parametrize(
    "code",
    [
        "print('hello')\n",
        "import torchmetrics_of_mine\n",
        "import os\nos.environ['OMP_NUM_THREADS'] = '1'\nimport torch\n",
        "import os\nos.environ.update(MKL_NUM_THREADS='1')\nimport torch\n",
        "import os\nos.environ.setdefault('CUDA_VISIBLE_DEVICES', '')\nfrom torch import nn\n",
        "import os\nos.putenv('PYTORCH_ENABLE_MPS_FALLBACK', '1')\nimport torch\n",
        "def main():\n    import torch\nimport os\nos.environ['KMP_BLOCKTIME'] = '0'\nmain()\n",
        "from dotenv import load_dotenv\nload_dotenv()\nimport torch\n",
    ],
)
def test_without_torch_or_with_what_it_reads_first_it_starts_cold(
    tmp_path: Path, code: str
) -> None:
    assert not starts_warm(tmp_path / "code", code)


def test_a_file_beside_the_script_may_set_it_too(tmp_path: Path) -> None:
    code = tmp_path / "code"
    assert starts_warm(code, "import settings\nimport torch\n")
    (code / "settings.py").write_text("import os\nos.environ['OMP_NUM_THREADS'] = '1'\n")
    assert not starts_warm(code, "import settings\nimport torch\n")


@pytest.mark.parametrize(
    ("command", "warm"),
    [
        (("python", "script.py", "--x"), True),
        (("python3", "-u", "script.py"), True),
        ((sys.executable, "-m", "script"), True),
        (("python", "-c", "import torch"), False),
        (("python", "-I", "script.py"), False),
        (("python", "-W", "error", "script.py"), False),
        (("python",), False),
        (("bash", "script.py"), False),
    ],
)
def test_a_script_or_a_module_of_python_starts_warm(
    tmp_path: Path, command: tuple[str, ...], warm: bool
) -> None:
    assert starts_warm(tmp_path / "code", command=command) is warm


def test_a_launcher_starts_warm_for_the_code_that_it_runs(tmp_path: Path) -> None:
    bash = ("bash", "/opt/ml/train.sh")
    assert starts_warm(tmp_path / "code", command=bash, launched=True)
    assert not starts_warm(tmp_path / "code", "print()\n", bash, launched=True)


@pytest.mark.parametrize(
    ("code", "warm"),
    [
        (SCRIPT, True),
        ("print('hello')\n", False),
        ("import os\nos.environ['OMP_NUM_THREADS'] = '1'\nimport torch\n", False),
    ],
)
def test_what_a_shells_line_installs_and_runs_starts_warm_for_its_code(
    tmp_path: Path, code: str, warm: bool
) -> None:
    sdist(tmp_path / "packed.tar.gz", code=code)
    line = "pip install -q /gcs/packed.tar.gz && python3 -m lcpacked"
    python = JobEnvironment(tmp_path / ".python", server_base(tmp_path))
    one = Replica("r", ("sh", "-c", line), {}, mounts={"/gcs": tmp_path})
    assert suitability.suits(one, tmp_path / "empty", python) is warm
    lost = dataclasses.replace(one, mounts={"/gcs": tmp_path / "elsewhere"})
    assert not suitability.suits(lost, tmp_path / "empty", python)


@pytest.mark.parametrize(
    ("variable", "warm"),
    [
        ("RANK", True),
        ("PYTHONPATH", True),
        ("CUDA_VISIBLE_DEVICES", True),
        ("OMP_NUM_THREADS", False),
        ("TORCH_LOGS", False),
        ("CUDA_LAUNCH_BLOCKING", False),
        ("PYTHONHASHSEED", False),
        ("LC_ALL", False),
    ],
)
def test_a_variable_that_is_read_at_the_beginning_needs_a_cold_start(
    tmp_path: Path, variable: str, warm: bool
) -> None:
    assert starts_warm(tmp_path / "code", **{variable: "1"}) is warm


def test_packages_of_a_jobs_own_and_other_images_start_cold(tmp_path: Path) -> None:
    assert starts_warm(tmp_path / "code")
    python = JobEnvironment(tmp_path / ".python", server_base(tmp_path))
    one = Replica("r", ("python", "script.py"), {}, tmp_path / "code")
    other = JobEnvironment(python.folder, dataclasses.replace(python.base, name="image"))
    assert not suitability.suits(one, tmp_path / "code", other)
    (python.packages / "torch-1.dist-info").mkdir(parents=True)
    assert not starts_warm(tmp_path / "code")


def test_more_code_than_is_looked_at_starts_cold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(suitability, "MOST_FILES", 2)
    code = tmp_path / "code"
    assert starts_warm(code)
    for number in range(2):
        (code / f"data-{number}").touch()
    assert not starts_warm(code)


def test_folders_deeper_than_any_code_start_cold(tmp_path: Path) -> None:
    code = tmp_path / "code"
    assert starts_warm(code)
    here = os.open(code, os.O_RDONLY)
    for _ in range(1500):  # more than Python's functions may call themselves
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    assert not starts_warm(code)
    trees.remove(code)


def test_it_can_be_turned_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCAL_CLOUD_WARM", "0")
    assert not starts_warm(tmp_path / "code")


def test_the_lessons_script_starts_warm(tmp_path: Path) -> None:
    assert starts_warm(tmp_path / "code", (TRAINING / "train_nn.py").read_text())
    assert suitability.code_suits([TRAINING])
