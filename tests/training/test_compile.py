"""--compile true: the same training in steps that torch has compiled."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.training.pool import weights_of
from tests.training.support import save, table, train
from training import train_nn

# torch's own, as its compiler is imported.
pytestmark = pytest.mark.filterwarnings(r"ignore:`torch\.jit:DeprecationWarning")


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    return save(tmp_path / "a.npz", **table(rows=100))


@pytest.mark.slow  # the C++ compiler takes up to half a minute
def test_a_compiled_run_gives_the_model_that_any_other_gives(archive: Path, tmp_path: Path) -> None:
    from torch._dynamo.utils import counters

    counters.clear()
    flags = ("--device", "cpu", "--epochs", 20, "--learning_rate", 0.01, "--batch_size", 32)
    usual = train(archive, tmp_path / "usual", *flags)
    assert not counters["frames"]
    compiled = train(archive, tmp_path / "compiled", *flags, "--compile", "true")
    assert (usual.code, compiled.code) == (0, 0), compiled
    assert counters["frames"]["ok"] >= 2, counters  # to train, and to validate
    torch.testing.assert_close(weights_of(tmp_path / "compiled"), weights_of(tmp_path / "usual"))


def test_without_a_compiler_it_is_refused_in_one_sentence(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch._inductor.config.cpp.cxx", (None, str(tmp_path / "none")))
    done = train(archive, tmp_path / "run", "--device", "cpu", "--compile", "true")
    assert done.code == 2
    assert done.err.startswith("train_nn.py: --compile true: ") and done.err.count("\n") == 1
    assert "No working C++ compiler" in done.err
    assert not (tmp_path / "run/model.pt").exists()


def test_xla_needs_no_other_compiler() -> None:
    with pytest.raises(train_nn.Refused, match="XLA compiles by itself"):
        train_nn.compile_model(torch.nn.Linear(1, 1), torch.device("xla"))
