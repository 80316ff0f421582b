"""Another user of the machine at the kernels of `make lab`."""

from __future__ import annotations

from pathlib import Path

import pytest

from testing.other_user import Stranger
from testing.tally import Tally
from tests.tools import kernel_attack
from tests.tools.running_lab import RunningLab


@pytest.mark.slow
def test_another_user_of_the_machine_reads_no_notebook(tmp_path: Path) -> None:
    tally = kernel_attack.run(tmp_path, 10)
    if tally.skipped:
        pytest.skip(tally.skipped)
    assert tally.well, tally.problems


@pytest.mark.slow
def test_the_same_attack_reads_kernels_that_listen_on_tcp(tmp_path: Path) -> None:
    try:
        stranger = Stranger()
    except LookupError as problem:
        pytest.skip(str(problem))
    tally = Tally("kernels elsewhere")
    with RunningLab(tmp_path / "lab", transport="tcp") as lab:
        kernel_attack.attack(lab, stranger, tally, 10)
    assert "LET IN: kernels: an output was read" in tally.problems
