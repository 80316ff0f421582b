"""Any number of replicas trains the model of one, whichever way the work is shared out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from testing.examples import with_examples
from tests.training.pool import LARGEST, Pool, train_as, weights_of
from tests.training.support import save, table


def flags_for(archive: Path, folder: Path, *flags: Any) -> tuple[Any, ...]:
    return ("--train", archive, "--val", archive, "--model_dir", folder, *flags)


def trained(
    pool: Pool, size: int, archive: Path, folder: Path, *flags: Any, exactly: bool = False
) -> torch.Tensor:
    """The weights that so many replicas give."""
    given = flags_for(archive, folder, *flags)
    ended = (
        [train_as(0, 1, given, exactly)] if size == 1 else pool.run(size, train_as, given, exactly)
    )
    assert [each.code for each in ended] == [0] * size, ended
    return weights_of(folder)


def metrics(folder: Path) -> Any:
    return json.loads((folder / "metrics.json").read_text())


tables = {
    "rows": st.integers(1, 80),
    "features": st.integers(1, 9),
    "seed": st.integers(0, 9),
    # In percent of the rows; 0 is the flag's "all rows". At most seven steps an epoch.
    "batch": st.just(0) | st.integers(17, 120),
}
layers = st.lists(st.integers(1, 12), min_size=1, max_size=3)


def flags_of(
    rows: int, hidden: list[int], batch: int, seed: int, epochs: int = 2
) -> tuple[Any, ...]:
    size = -(-rows * batch // 100)
    return (
        "--epochs",
        epochs,
        "--batch_size",
        size,
        "--seed",
        seed,
        "--hidden",
        ",".join(map(str, hidden)),
    )


def rows_of(folder: Path) -> list[list[int]]:
    """The rows that each replica trained on."""
    shares = [replica["rows"] for replica in metrics(folder)["replicas"]]
    return [list(range(own["start"], own["stop"])) for own in shares]


# ---- the rows shared out ------------------------------------------------------------------------
@pytest.mark.parametrize(("size", "examples"), [(2, 20), (3, 12), (4, 8), (LARGEST, 6)])
def test_replicas_of_a_table_of_any_shape_give_the_weights_of_one(
    pool: Pool, tmp_path_factory: pytest.TempPathFactory, size: int, examples: int
) -> None:
    @with_examples(examples)
    @given(**tables, hidden=layers)
    @example(rows=1, features=1, hidden=[1], batch=0, seed=0)
    @example(rows=3, features=7, hidden=[5, 4], batch=60, seed=0)
    @example(rows=80, features=7, hidden=[12], batch=98, seed=1)  # a last batch of one row
    def check(rows: int, features: int, hidden: list[int], batch: int, seed: int) -> None:
        folder = tmp_path_factory.mktemp("run")
        archive = save(folder / "data.npz", **table(rows, features, seed))
        flags = flags_of(rows, hidden, batch, seed)
        one = trained(pool, 1, archive, folder / "one", *flags, exactly=True)
        several = trained(pool, size, archive, folder / "several", *flags, exactly=True)
        torch.testing.assert_close(several, one, rtol=0, atol=1e-9)
        shares = rows_of(folder / "several")
        assert [row for own in shares for row in own] == list(range(rows))  # each of them once
        assert max(map(len, shares)) - min(map(len, shares)) <= 1

    check()


@pytest.mark.parametrize("batch", [0, 40])
def test_1_2_3_4_and_7_replicas_agree_as_they_are_run(
    pool: Pool, tmp_path: Path, batch: int
) -> None:
    archive = save(tmp_path / "data.npz", **table(rows=41))
    flags = flags_of(41, [64, 32], batch, 3, epochs=12)
    one = trained(pool, 1, archive, tmp_path / "1", *flags)
    for size in (2, 3, 4, LARGEST):
        several = trained(pool, size, archive, tmp_path / str(size), *flags)
        torch.testing.assert_close(several, one, rtol=0, atol=1e-5)


# ---- the layers shared out ----------------------------------------------------------------------
@pytest.mark.parametrize(
    ("size", "examples"), [(2, 16), pytest.param(4, 6, marks=pytest.mark.slow)]
)
def test_layers_of_any_shape_shared_out_give_the_weights_of_one(
    pool: Pool, tmp_path_factory: pytest.TempPathFactory, size: int, examples: int
) -> None:
    @with_examples(examples)
    @given(**tables, hidden=layers)
    @example(rows=1, features=1, hidden=[1], batch=0, seed=0)
    @example(rows=3, features=7, hidden=[1, 5, 2], batch=60, seed=0)
    @example(rows=41, features=7, hidden=[2, 3], batch=20, seed=0)
    def check(rows: int, features: int, hidden: list[int], batch: int, seed: int) -> None:
        hidden = [size * width if number % 2 == 0 else width for number, width in enumerate(hidden)]
        folder = tmp_path_factory.mktemp("run")
        archive = save(folder / "data.npz", **table(rows, features, seed))
        flags = flags_of(rows, hidden, batch, seed)
        one = trained(pool, 1, archive, folder / "one", *flags, exactly=True)
        flags += ("--parallelism", "model")
        several = trained(pool, size, archive, folder / "several", *flags, exactly=True)
        torch.testing.assert_close(several, one, rtol=0, atol=1e-9)
        assert rows_of(folder / "several") == [list(range(rows))] * size  # each sees all of them

    check()


@pytest.mark.parametrize("batch", [0, 40])
def test_2_and_4_replicas_with_shared_layers_agree_as_they_are_run(
    pool: Pool, tmp_path: Path, batch: int
) -> None:
    archive = save(tmp_path / "data.npz", **table(rows=41))
    flags = flags_of(41, [64, 32], batch, 3, epochs=12)
    one = trained(pool, 1, archive, tmp_path / "1", *flags)
    for size in (2, 4):
        shared = (*flags, "--parallelism", "model")
        several = trained(pool, size, archive, tmp_path / str(size), *shared)
        torch.testing.assert_close(several, one, rtol=0, atol=1e-4)
        assert metrics(tmp_path / str(size))["configuration"]["parallelism"] == "model"


def test_a_replica_with_shared_layers_holds_its_part_only(pool: Pool, tmp_path: Path) -> None:
    archive = save(tmp_path / "data.npz", **table(rows=41))
    flags = flags_of(41, [64, 64, 64], 0, 0)
    held = {}
    for name, size, more in (
        ("one", 1, ()), ("rows", 2, ()), ("layers", 2, ("--parallelism", "model")),
    ):  # fmt: skip
        trained(pool, size, archive, tmp_path / name, *flags, *more)
        held[name] = [replica["bytes"] for replica in metrics(tmp_path / name)["replicas"]]
    numbers = 7 * 64 + 2 * 64 * 64 + 64 + 3 * 64 + 1
    # Adam remembers two numbers for each weight, and of each of 8 tensors how many steps it took.
    assert held["one"] == [{"parameters": 4 * numbers, "optimiser": 8 * numbers + 8 * 4}]
    assert held["rows"] == held["one"] * 2  # each replica a whole model
    for own in held["layers"]:
        for kind, whole in held["one"][0].items():
            assert own[kind] <= 0.6 * whole


@pytest.mark.parametrize(
    ("size", "hidden", "odd"), [(2, "7,4", 7), (4, "6", 6), (3, "9,5,10", 10), (2, "1", 1)]
)
def test_widths_that_the_replicas_cannot_share_evenly_are_refused(
    pool: Pool, tmp_path: Path, size: int, hidden: str, odd: int
) -> None:
    archive = save(tmp_path / "data.npz")
    flags = flags_for(archive, tmp_path / "run", "--hidden", hidden, "--parallelism", "model")
    for ended in pool.run(size, train_as, flags):
        assert ended.code == 2 and ended.err.count("\n") == 1
        assert f"--parallelism model: {size} replicas cannot share [{odd}] columns" in ended.err
        assert f"choose widths in --hidden that {size} divides" in ended.err
    assert not (tmp_path / "run/model.pt").exists()


def test_one_replica_alone_has_all_layers_whichever_way_is_asked_for(
    pool: Pool, tmp_path: Path
) -> None:
    archive = save(tmp_path / "data.npz")
    alone = [
        trained(pool, 1, archive, tmp_path / kind, "--epochs", 3, "--parallelism", kind)
        for kind in ("data", "model")
    ]
    assert torch.equal(*alone)


# ---- both ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("parallelism", ["data", "model"])
def test_early_stopping_decides_alike_everywhere(
    pool: Pool, tmp_path: Path, parallelism: str
) -> None:
    labels = np.random.default_rng(1).integers(0, 2, 40)  # by chance: the loss soon rises
    archive = save(tmp_path / "data.npz", y_train=labels, y_val=1 - labels[:20])
    flags = ("--epochs", 500, "--learning_rate", 0.01, "--patience", 5)
    one = trained(pool, 1, archive, tmp_path / "1", *flags)
    several = trained(pool, 2, archive, tmp_path / "2", *flags, "--parallelism", parallelism)
    torch.testing.assert_close(several, one, rtol=0, atol=1e-5 if parallelism == "data" else 1e-4)
    assert metrics(tmp_path / "2")["epochs"] == metrics(tmp_path / "1")["epochs"]
    assert 5 < metrics(tmp_path / "2")["epochs"]["last"] < 500


def test_the_same_replicas_give_the_same_model_again_to_the_last_bit(
    pool: Pool, tmp_path: Path
) -> None:
    archive = save(tmp_path / "data.npz", **table(rows=41))
    for parallelism in ("data", "model"):
        flags = (*flags_of(41, [16, 8], 40, 3, epochs=5), "--parallelism", parallelism)
        first, again = (
            trained(pool, 2, archive, tmp_path / f"{parallelism}-{name}", *flags) for name in "ab"
        )
        assert torch.equal(first, again)
