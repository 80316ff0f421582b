"""What version 3 of the SDK sends: its own drivers run as they are, but for their addresses."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pytest

from local_cloud.engine.isolation import roots
from local_cloud.engine.warm import fork_process, fork_server
from tests.amazon.sagemaker.support import go, request, running, sdk3

# One process per host joins the others by what version 3 tells: the sum of the ranks says so.
JOIN = """
import argparse, json, os, torch, torch.distributed as dist
parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int)
parser.add_argument("--flag")
args = parser.parse_args()
hosts = sorted(json.loads(os.environ["SM_HOSTS"]))
if "TORCHELASTIC_RUN_ID" in os.environ or len(hosts) == 1:
    os.environ.setdefault("RANK", "0"); os.environ.setdefault("WORLD_SIZE", "1")
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1"); os.environ.setdefault("MASTER_PORT", "0")
else:
    os.environ["RANK"] = str(hosts.index(os.environ["SM_CURRENT_HOST"]))
    os.environ["WORLD_SIZE"] = str(len(hosts))
    os.environ["MASTER_ADDR"] = os.environ["SM_MASTER_ADDR"]
    os.environ["MASTER_PORT"] = os.environ["SM_MASTER_PORT"]
dist.init_process_group("gloo")
total = torch.tensor([dist.get_rank() + 1])
dist.all_reduce(total)
print(f"total={total.item()} world={dist.get_world_size()}")
if dist.get_rank() == 0:
    seen = {"total": total.item(), "world": dist.get_world_size(), "args": vars(args)}
    seen["environment"] = {k: v for k, v in os.environ.items() if k.startswith("SM_")}
    with open(os.path.join(os.environ["SM_MODEL_DIR"], "seen.json"), "w") as file:
        json.dump(seen, file)
dist.destroy_process_group()
"""


def torchrun(count: int | None = None) -> Any:
    with warnings.catch_warnings(action="ignore"):
        from sagemaker.train.distributed import Torchrun

    return Torchrun(process_count_per_node=count)


@pytest.mark.parametrize(
    ("instances", "launcher", "world"),
    [
        (2, None, 2),
        pytest.param(1, "torchrun", 2, marks=pytest.mark.slow),
        pytest.param(2, "torchrun", 2, marks=pytest.mark.slow),
    ],
)
def test_the_sdks_drivers_run_where_nothing_can_be_mounted(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    instances: int,
    launcher: str | None,
    world: int,
) -> None:
    """The tests with the SDK itself show how they run where the machine allows mounts."""
    monkeypatch.setattr(roots, "available", lambda: False)

    async def story() -> None:
        async with running(tmp_path / "with blank") as sagemaker:
            distributed = torchrun(world // instances) if launcher else None
            sent = sdk3(sagemaker, tmp_path, {"task.py": JOIN}, distributed, entry_script="task.py")
            hyperparameters = {"epochs": "3", "flag": "true"}
            params = request(instances=instances, **sent, HyperParameters=hyperparameters)
            await sagemaker.end(sagemaker.create(**params))
            seen = json.loads(sagemaker.archive("out/a-job/output/model.tar.gz")["seen.json"])
            assert seen["world"] == world
            assert seen["total"] == world * (world + 1) // 2
            assert seen["args"] == {"epochs": 3, "flag": "true"}
            environment = seen["environment"]
            assert json.loads(environment["SM_CHANNELS"]) == ["code", "sm_drivers"]
            assert environment["SM_CURRENT_HOST"] == "algo-1"
            assert environment["SM_HOST_COUNT"] == str(instances)
            assert environment["SM_NUM_GPUS"] == "0"
            assert "SECRET" not in sagemaker.log("a-job")

    go(story())


def test_the_interpreters_path_may_hold_a_blank(tmp_path: Path) -> None:
    """Where the local cloud's folder is called `my jobs`, say."""

    async def story() -> None:
        async with running(tmp_path / "my jobs") as sagemaker:
            code = {"task.py": "import sys; print('ran by', sys.executable)"}
            sent = sdk3(sagemaker, tmp_path, code, None, entry_script="task.py")
            await sagemaker.end(sagemaker.create(**request(**sent)))
            assert f"ran by {tmp_path}/my jobs/" in sagemaker.log("a-job")

    go(story())


@pytest.mark.skipif(not roots.available(), reason="this machine allows no mounts")
def test_the_script_that_a_driver_starts_is_forked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fork_server, "IMPORTED", ("numpy",))  # is ready sooner than torch
    monkeypatch.setattr(fork_server, "FREE", 0)  # whatever else this machine does
    script = (
        "import os, sys\nprint(sys.argv[1:], os.getcwd() == sys.path[0], os.environ['SM_HPS'])\n"
        "if False:\n    import torch\nsys.exit(3)\n"
    )

    async def story() -> None:
        async with running(tmp_path) as sagemaker:
            sent = sdk3(sagemaker, tmp_path, {"task.py": script}, None, entry_script="task.py")
            params = request(**sent, HyperParameters={"epochs": "3"})
            await sagemaker.end(sagemaker.create(**params), "Failed")
            log = sagemaker.log("a-job")
            said = "['--epochs', '3'] True {\"epochs\": 3}"
            assert f"{fork_process.NOTE}\n{said}\nCommand failed with exit code 3." in log, log

    go(story())
