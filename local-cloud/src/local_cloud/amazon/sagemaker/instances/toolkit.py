"""What the framework containers' toolkit does: tell a script what it is to know, and run it.

Stands in for sagemaker-training-toolkit and sagemaker-pytorch-training-toolkit, and runs inside a
job with the standard library only: `python -I toolkit.py /opt/ml`. The code has been unpacked into
its folder `code` already. Sources: those toolkits' environment.py, mapping.py, entry_point.py,
torch_distributed.py and errors.py (read 2026).
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from local_cloud.json_types import Json

LOG_LEVEL = 20  # logging.INFO
# What the toolkit keeps to itself: the names it knows, and all with the prefix.
OWN = ("_tuning_objective_metric",)
PREFIX = "sagemaker_"
OTHERWISE = ("hps", "framework_params", "channels")  # called otherwise in SM_TRAINING_ENV
KNOWN = (  # of the prefixed ones, those that are no parameters of a framework
    "sagemaker_program",
    "sagemaker_submit_directory",
    "sagemaker_container_log_level",
    "sagemaker_job_name",
    "sagemaker_region",
    "sagemaker_s3_output",
)


def decode(hyperparameters: Mapping[str, str]) -> Json:
    """Decode values that are JSON, and leave all others as they are."""
    decoded: Json = {}
    for name, value in hyperparameters.items():
        try:
            decoded[name] = json.loads(value)
        except ValueError:
            decoded[name] = value
    return decoded


def split(hyperparameters: Json) -> tuple[Json, Json]:
    """Return (the script's hyperparameters, the toolkit's)."""
    own = {
        name: value
        for name, value in hyperparameters.items()
        if name in OWN or name.startswith(PREFIX)
    }
    return {name: hyperparameters[name] for name in hyperparameters.keys() - own.keys()}, own


def arguments(hyperparameters: Json) -> list[str]:
    """`--name value` for each, by name; `-n value` for a name of one letter."""
    words = []
    for name, value in sorted(hyperparameters.items()):
        words += [f"--{name}" if len(name) > 1 else f"-{name}", _argument(value)]
    return words


def _argument(value: Any) -> str:
    if isinstance(value, dict):
        return ",".join(f"{name}={item}" for name, item in sorted(value.items()))
    return "" if value is None else str(value)


def text(value: Any) -> str:
    """Return a variable's text.

    Strings stay as they are, None becomes nothing, the rest compact JSON.
    """
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def variables(base: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the SM_* variables and the few others that the toolkit exports."""
    resources, inputs, hyperparameters = (
        json.loads((base / "input" / "config" / f"{name}.json").read_text(encoding="utf-8"))
        for name in ("resourceconfig", "inputdataconfig", "hyperparameters")
    )
    users, own = split(decode(hyperparameters))
    program = environment.get("SAGEMAKER_PROGRAM") or str(own.get("sagemaker_program"))
    channels = {name: str(base / "input" / "data" / name) for name in inputs}
    groups = resources["instance_groups"]
    names = [group["instance_group_name"] for group in groups]
    gpus = [gpu for gpu in environment.get("CUDA_VISIBLE_DEVICES", "").split(",") if gpu]
    facts: Json = {
        "hosts": resources["hosts"],
        "network_interface_name": resources["network_interface_name"],
        "hps": users,
        "user_entry_point": program,
        "framework_params": {name: own[name] for name in sorted(own) if name not in KNOWN + OWN},
        "resource_config": resources,
        "input_data_config": inputs,
        "output_data_dir": str(base / "output" / "data"),
        "channels": sorted(channels),
        "current_host": resources["current_host"],
        "current_instance_type": resources["current_instance_type"],
        "current_instance_group": resources["current_group_name"],
        "current_instance_group_hosts": resources["hosts"],
        "instance_groups": names,
        "instance_groups_dict": {group["instance_group_name"]: group for group in groups},
        "distribution_instance_groups": names,
        "is_hetero": len(groups) > 1,
        "module_name": program.removesuffix(".py"),
        "log_level": own.get("sagemaker_container_log_level", LOG_LEVEL),
        "framework_module": environment.get("SAGEMAKER_TRAINING_MODULE"),
        "input_dir": str(base / "input"),
        "input_config_dir": str(base / "input" / "config"),
        "output_dir": str(base / "output"),
        "num_cpus": os.cpu_count(),
        "num_gpus": len(gpus),
        "num_neurons": 0,
        "model_dir": str(base / "model"),
        "module_dir": own.get("sagemaker_submit_directory", str(base / "code")),
        "output_intermediate_dir": str(base / "output" / "intermediate"),
    }
    facts["training_env"] = {
        "additional_framework_parameters": facts["framework_params"],
        "channel_input_dirs": channels,
        "hyperparameters": users,
        "is_master": resources["current_host"] == resources["hosts"][0],
        "job_name": environment.get("TRAINING_JOB_NAME"),
        "master_hostname": resources["hosts"][0],
        "distribution_hosts": resources["hosts"],
        "topology": [],
        **dict.fromkeys(("is_smddpmprun_installed", "is_smddprun_installed"), False),
        "is_modelparallel_enabled": None,
        **{name: value for name, value in facts.items() if name not in OTHERWISE},
    }
    facts["user_args"] = arguments(users)
    facts |= {f"channel_{name}": folder for name, folder in channels.items()}
    facts |= {f"hp_{name}": value for name, value in users.items()}
    return {
        **{f"SM_{name.upper()}": text(value) for name, value in facts.items()},
        "CURRENT_HOST": resources["current_host"],
        "SAGEMAKER_JOB_NAME": str(own.get("sagemaker_job_name", "")),
        "SAGEMAKER_REGION": str(own.get("sagemaker_region", environment.get("AWS_REGION", ""))),
        "NCCL_SOCKET_IFNAME": resources["network_interface_name"],
        "NCCL_IB_DISABLE": "1",
        "NCCL_DEBUG": "WARN",
        "PYTHONPATH": os.pathsep.join(
            filter(None, [str(base / "code"), environment.get("PYTHONPATH")])
        ),
    }


def command(base: Path, told: Mapping[str, str], environment: Mapping[str, str]) -> list[str]:
    """Return what runs the program; its folder is the code's."""
    program = told["SM_USER_ENTRY_POINT"]
    words = json.loads(told["SM_USER_ARGS"])
    frameworks = json.loads(told["SM_FRAMEWORK_PARAMS"])
    if frameworks.get("sagemaker_torch_distributed_enabled") is True:
        return [*_torchrun(told, frameworks, environment), program, *words]
    if (base / "code" / "setup.py").exists():
        return [sys.executable, "-m", told["SM_MODULE_NAME"], *words]
    if program.endswith(".py"):
        return [sys.executable, program, *words]
    return ["/bin/sh", "-c", 'chmod +x "./$0" && exec "./$0" "$@"', program, *words]


def _torchrun(
    told: Mapping[str, str], frameworks: Json, environment: Mapping[str, str]
) -> list[str]:
    hosts = json.loads(told["SM_HOSTS"])
    each = frameworks.get("sagemaker_mpi_num_of_processes_per_host") or told["SM_NUM_GPUS"]
    words = [sys.executable, "-m", "torch.distributed.run"]
    words += [f"--nnodes={len(hosts)}", f"--nproc_per_node={max(1, int(each))}"]
    if len(hosts) > 1:
        rank = hosts.index(told["SM_CURRENT_HOST"])
        words += [
            f"--master_addr={environment['MASTER_ADDR']}",
            f"--master_port={environment['MASTER_PORT']}",
            f"--node_rank={rank}",
        ]
    return words


def run(words: list[str], folder: Path, environment: Mapping[str, str]) -> tuple[int, str]:
    """Run to the end: the exit code, and the last line that the program wrote as an error."""
    # The whole job is asked to end, the program too: this waits to see how it does.
    signal.signal(signal.SIGTERM, lambda number, frame: None)
    read, write = os.pipe()
    wait = _start(words, folder, environment=environment, read=read, errors=write)
    os.close(write)
    last: deque[str] = deque(maxlen=1)
    with os.fdopen(read, "rb") as errors:
        for line in errors:
            sys.stderr.buffer.write(line)
            sys.stderr.buffer.flush()
            last += [said] if (said := line.decode(errors="replace").strip()) else []
    return wait(), "".join(last)


def _start(
    words: list[str], folder: Path, *, environment: Mapping[str, str], read: int, errors: int
) -> Callable[[], int]:
    """Start the program and return what waits for its exit code.

    A script is forked if this process has been and still may be: torch is imported already.
    """
    forking = sys.modules.get("fork_process")  # engine/warm/fork_process.py
    if forking and words[0] == sys.executable and (folder / words[1]).is_file():
        pid = forking.fork_to_run(words[1:], folder, environment=environment, pipe=(read, errors))
        if pid:
            return lambda: os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return subprocess.Popen(words, cwd=folder, env=environment, stderr=errors).wait


def main() -> int:
    """Run the program; its failure is told in output/failure and in the exit code 1."""
    base = Path(sys.argv[1])
    told = variables(base, os.environ)
    words = command(base, told, os.environ)
    print("Invoking script with the following command:", *words, sep=" ", end="\n\n", flush=True)
    code, last = run(words, base / "code", {**os.environ, **told})
    output = base / "output"
    if code == 0:
        (output / "success").touch()
        return 0
    if not (output / "failure").exists():
        shown = " ".join(words)
        message = f'ExecuteUserScriptError:\nExitCode {code}\nErrorMessage "{last}"'
        (output / "failure").write_text(f'{message}\nCommand "{shown}"', encoding="utf-8")
    return 1


if __name__ == "__main__":
    sys.exit(main())
