"""--device xla: PyTorch/XLA, which computes on TPUs, on its own back end for CPUs.

Nobody has a TPU here. `make test-all` makes an environment with torch_xla and the torch that it
is for; what it compiles takes seconds, so all of this is slow.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import torch

from testing.other_environments import tool
from tests.torch_versions.running import (
    SCRIPT,
    codes,
    flags,
    on_vertex,
    run,
    said,
    save_table,
    started,
    weights,
)

FLAGS = ("--epochs", 40, "--batch_size", 16, "--device")
WHOLE = ("--epochs", 20, "--device")
COUNTING = """\
import runpy, sys, torch_xla.debug.metrics as metrics

try:
    del sys.argv[0]
    runpy.run_path(sys.argv[0], run_name="__main__")
finally:
    sys.stderr.write(str(metrics.metric_data("CompileTime")[0]))
"""
ON_CPUS = {"PJRT_DEVICE": "CPU"}


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_table(tmp_path_factory.mktemp("data") / "data.npz")


def test_where_torch_xla_is_missing_one_sentence_names_it(archive: Path, tmp_path: Path) -> None:
    ended = run(sys.executable, *flags(archive, tmp_path / "run", *FLAGS, "xla"))
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("train_nn.py: --device xla: here torch can use ")
    assert ended.err.endswith("; install torch_xla for it\n")


@pytest.mark.slow
def test_xla_trains_the_model_of_the_cpu_and_compiles_its_step_once(
    archive: Path, tmp_path: Path
) -> None:
    """Else each epoch would take as long as the first one, or longer."""
    python = tool("torch-xla", "python")
    for device in ("cpu", "xla"):
        words = flags(archive, tmp_path / device, *FLAGS, device)
        ended = run(python, *words, **ON_CPUS)
        assert ended.code == 0, ended.err
    torch.testing.assert_close(
        weights(tmp_path / "xla"), weights(tmp_path / "cpu"), rtol=0, atol=1e-5
    )
    written = json.loads((tmp_path / "xla" / "metrics.json").read_text())
    assert written["device"].startswith("xla")
    (counting := tmp_path / "counting.py").write_text(COUNTING)
    compiled = []
    for epochs in (10, 20):
        words = flags(archive, tmp_path / "again", *FLAGS, "xla", "--epochs", epochs)
        ended = run(python, str(SCRIPT), *words, script=counting, **ON_CPUS)
        compiled.append(int(ended.err.splitlines()[-1]))
    assert compiled[0] == compiled[1]


@pytest.mark.slow
def test_two_replicas_on_xla_train_the_model_of_one(archive: Path, tmp_path: Path) -> None:
    """All rows at a time: of smaller batches each replica's share has its own, changing size."""
    python = tool("torch-xla", "python")
    environments = [{**each, **ON_CPUS} for each in on_vertex()]
    words = flags(archive, tmp_path / "xla", *WHOLE, "xla")
    with started(python, environments, tmp_path / "logs", str(SCRIPT), *words) as processes:
        assert codes(processes) == [0, 0], said(tmp_path / "logs")
    assert run(python, *flags(archive, tmp_path / "cpu", *WHOLE, "cpu")).code == 0
    torch.testing.assert_close(
        weights(tmp_path / "xla"), weights(tmp_path / "cpu"), rtol=0, atol=1e-5
    )
