"""What version 2 of the SDK sends: a program among the hyperparameters, run by our toolkit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from local_cloud.amazon.sagemaker.instances import toolkit
from tests.amazon.sagemaker.support import BUCKET, go, request, running, sdk2
from tests.engine.wheels import wheel

# What sagemaker-training 5.1.4 sets, but for those of each channel and hyperparameter.
VARIABLES = """
SM_CHANNELS SM_CURRENT_HOST SM_CURRENT_INSTANCE_GROUP SM_CURRENT_INSTANCE_GROUP_HOSTS
SM_CURRENT_INSTANCE_TYPE SM_DISTRIBUTION_INSTANCE_GROUPS SM_FRAMEWORK_MODULE SM_FRAMEWORK_PARAMS
SM_HOSTS SM_HPS SM_INPUT_CONFIG_DIR SM_INPUT_DATA_CONFIG SM_INPUT_DIR SM_INSTANCE_GROUPS
SM_INSTANCE_GROUPS_DICT SM_IS_HETERO SM_LOG_LEVEL SM_MODEL_DIR SM_MODULE_DIR SM_MODULE_NAME
SM_NETWORK_INTERFACE_NAME SM_NUM_CPUS SM_NUM_GPUS SM_NUM_NEURONS SM_OUTPUT_DATA_DIR SM_OUTPUT_DIR
SM_OUTPUT_INTERMEDIATE_DIR SM_RESOURCE_CONFIG SM_TRAINING_ENV SM_USER_ARGS SM_USER_ENTRY_POINT
"""
# Says what it met, as a model.
REPORT = """
import json, os, sys
host = os.environ["SM_CURRENT_HOST"]
with open(os.path.join(os.environ["SM_MODEL_DIR"], host + ".json"), "w") as file:
    json.dump({"arguments": sys.argv[1:], "environment": dict(os.environ)}, file)
"""
# One group of all processes, as a script forms it that knows torchrun's variables only.
TORCHRUN = """
import torch, torch.distributed as dist
dist.init_process_group("gloo")
total = torch.tensor([dist.get_rank() + 1])
dist.all_reduce(total)
with open(f"/opt/ml/model/{dist.get_rank()}", "w") as file:
    file.write(f"{total.item()} of {dist.get_world_size()}")
dist.destroy_process_group()
"""


def test_a_script_gets_its_hyperparameters_as_arguments_and_the_toolkits_variables(
    tmp_path: Path, how: str
) -> None:
    async def story() -> None:
        async with running(tmp_path / "with blank") as sagemaker:
            channels = {"train": sagemaker.put("train.npz", "data")}
            sent = sdk2(
                sagemaker,
                {"train.py": REPORT},
                **{"epochs": 3, "batch-size": 0.5, "train": "/opt/ml/input/data/train/train.npz"},
            )
            params = request(channels=channels, HyperParameters=sent, instances=2)
            await sagemaker.end(sagemaker.create(**params))
            model = sagemaker.archive("out/a-job/output/model.tar.gz")
        assert sorted(model) == ["algo-1.json", "algo-2.json"]
        seen = json.loads(model["algo-2.json"])
        words, environment = seen["arguments"], seen["environment"]
        assert words[:5] == ["--batch-size", "0.5", "--epochs", "3", "--train"]
        assert words[5].endswith("/input/data/train/train.npz")
        assert how == "rewritten" or words[5].startswith("/opt/ml/")
        assert json.loads(environment["SM_HOSTS"]) == ["algo-1", "algo-2"]
        assert json.loads(environment["SM_USER_ARGS"]) == words
        assert json.loads(environment["SM_HPS"])["epochs"] == 3
        assert environment["SM_HP_BATCH-SIZE"] == "0.5"
        assert environment["SM_CHANNEL_TRAIN"] == words[5].removesuffix("/train.npz")
        assert environment["SM_USER_ENTRY_POINT"] == "train.py"
        assert environment["SM_MODULE_NAME"] == "train"
        assert environment["SM_FRAMEWORK_PARAMS"] == "{}"
        assert environment["SAGEMAKER_JOB_NAME"] == "a-job"
        assert environment["MASTER_ADDR"] == "127.0.0.1"
        assert json.loads(environment["SM_TRAINING_ENV"])["is_master"] is False
        rest = {name for name in environment if name.startswith("SM_")}
        assert sorted(
            name for name in rest if not name.startswith(("SM_HP_", "SM_CHANNEL_"))
        ) == sorted(VARIABLES.split())
        assert "RANK" not in environment  # two copies of the script, as on the real service

    go(story())


def test_torch_distributed_is_torchrun_on_every_instance(tmp_path: Path) -> None:
    settings = {
        "SM_USER_ENTRY_POINT": "train.py",
        "SM_USER_ARGS": '["--epochs", "3"]',
        "SM_FRAMEWORK_PARAMS": '{"sagemaker_torch_distributed_enabled": true}',
        "SM_HOSTS": '["algo-1", "algo-2"]',
        "SM_CURRENT_HOST": "algo-2",
        "SM_NUM_GPUS": "0",
    }
    words = toolkit.command(tmp_path, settings, {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1234"})
    assert words[1:] == [
        "-m",
        "torch.distributed.run",
        "--nnodes=2",
        "--nproc_per_node=1",
        "--master_addr=127.0.0.1",
        "--master_port=1234",
        "--node_rank=1",
        "train.py",
        "--epochs",
        "3",
    ]


@pytest.mark.slow
def test_torch_distributed_makes_one_group_of_all_instances(tmp_path: Path) -> None:
    async def story() -> None:
        async with running(tmp_path) as sagemaker:
            sent = sdk2(
                sagemaker,
                {"train.py": TORCHRUN},
                sagemaker_torch_distributed_enabled=True,
                sagemaker_instance_type="ml.m5.large",
            )
            await sagemaker.end(sagemaker.create(**request(HyperParameters=sent, instances=2)))
            model = sagemaker.archive("out/a-job/output/model.tar.gz")
            assert model == {"0": b"3 of 2", "1": b"3 of 2"}

    go(story())


def test_a_tuners_values_may_be_bare(tmp_path: Path) -> None:
    """Version 3's tuner sends `train.py` where version 2 sends `"train.py"`."""

    async def story() -> None:
        async with running(tmp_path) as sagemaker:
            sent = sdk2(sagemaker, {"train.py": REPORT})
            bare = {name: value.strip('"') for name, value in sent.items()}
            bare |= {"lr": "0.1", "_tuning_objective_metric": "accuracy"}
            await sagemaker.end(sagemaker.create(**request(HyperParameters=bare)))
            model = sagemaker.archive("out/a-job/output/model.tar.gz")
            assert json.loads(model["algo-1.json"])["arguments"] == ["--lr", "0.1"]

    go(story())


def test_the_program_may_be_a_shell_script_or_named_in_the_environment(tmp_path: Path) -> None:
    async def story() -> None:
        async with running(tmp_path) as sagemaker:
            script = '#!/bin/sh\necho "$@" > $SM_MODEL_DIR/arguments\n'
            sent = sdk2(sagemaker, {"run.sh": script}, text="two words; $HOME")
            del sent["sagemaker_program"]
            params = request(HyperParameters=sent, Environment={"SAGEMAKER_PROGRAM": "run.sh"})
            await sagemaker.end(sagemaker.create(**params))
            model = sagemaker.archive("out/a-job/output/model.tar.gz")
            assert model == {"arguments": b"--text two words; $HOME\n"}

    go(story())


def test_a_failing_script_is_told_in_the_toolkits_words(tmp_path: Path) -> None:
    async def story() -> None:
        async with running(tmp_path) as sagemaker:
            sent = sdk2(sagemaker, {"train.py": "raise ValueError('no rows in train.npz')"})
            name = sagemaker.create(**request(HyperParameters=sent))
            job = await sagemaker.end(name, "Failed")
            reason = job["FailureReason"]
            assert reason.startswith(
                "AlgorithmError: ExecuteUserScriptError:\nExitCode 1\n"
                'ErrorMessage "ValueError: no rows in train.npz"\nCommand "'
            )
            assert reason.endswith('train.py", exit code: 1')
            assert "Traceback" in sagemaker.log(name)

    go(story())


def test_a_scripts_own_failure_file_is_left_as_it_is(tmp_path: Path) -> None:
    script = "open('/opt/ml/output/failure', 'w').write('no rows'); raise ValueError('other words')"

    async def story() -> None:
        async with running(tmp_path) as sagemaker:
            sent = sdk2(sagemaker, {"train.py": script})
            name = sagemaker.create(**request(HyperParameters=sent))
            job = await sagemaker.end(name, "Failed")
            assert job["FailureReason"] == "AlgorithmError: no rows, exit code: 1"

    go(story())


@pytest.mark.parametrize(
    ("files", "hyperparameters", "sentence"),
    [
        ({"t.py": "", "requirements.txt": "no-such>=3"}, {}, "you require no-such>=3"),
        ({"t.py": "", "requirements.txt": b"caf\xe9"}, {}, "did not contain valid UTF-8"),
        ({"t.py": ""}, {"sagemaker_mpi_enabled": True}, "MPI is not implemented"),
        ({"../../t.py": ""}, {}, "cannot be unpacked"),
    ],
)
def test_what_cannot_be_run_is_refused_in_a_sentence(
    tmp_path: Path,
    files: dict[str, str | bytes],
    hyperparameters: dict[str, object],
    sentence: str,
) -> None:
    async def story() -> None:
        async with running(tmp_path) as sagemaker:
            sent = sdk2(sagemaker, files, **hyperparameters)
            job = await sagemaker.end(sagemaker.create(**request(HyperParameters=sent)), "Failed")
            assert job["FailureReason"].startswith("ClientError: ")
            assert sentence in job["FailureReason"]

    go(story())


def test_requirements_are_installed_once_for_all_hosts_in_whatever_encoding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel(tmp_path / "wheels", "lctop", "1.0")
    monkeypatch.setenv("UV_FIND_LINKS", str(tmp_path / "wheels"))

    async def story() -> None:
        async with running(tmp_path / "home") as sagemaker:
            files: dict[str, str | bytes] = {
                "t.py": "import lctop; print('has', lctop.version)",
                "requirements.txt": "numpy>=1\nlctop==1.0\n".encode("utf-16"),
            }
            sent = request(HyperParameters=sdk2(sagemaker, files))
            sent["ResourceConfig"]["InstanceCount"] = 2
            name = sagemaker.create(**sent)
            await sagemaker.end(name)
            for host in ("algo-1", "algo-2"):
                log = sagemaker.log(name, host)
                assert log.count("local cloud: Installed lctop==1.0") == 1
                assert "has 1.0" in log

    go(story())


def test_code_that_is_not_there_is_named(tmp_path: Path) -> None:
    async def story() -> None:
        async with running(tmp_path) as sagemaker:
            sent = sdk2(sagemaker, {"t.py": ""})
            sagemaker.objects.delete(BUCKET, "code/sourcedir.tar.gz")
            job = await sagemaker.end(sagemaker.create(**request(HyperParameters=sent)), "Failed")
            assert "there is no object 'code/sourcedir.tar.gz'" in job["FailureReason"]

    go(story())


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)


class TestHyperparameters:
    @settings(max_examples=30)
    @given(st.dictionaries(st.text(min_size=1), VALUES))
    def test_of_version_2_arrive_as_they_were_given(self, given: dict[str, object]) -> None:
        sent = {name: json.dumps(value) for name, value in given.items()}
        assert toolkit.decode(sent) == given

    @pytest.mark.parametrize(
        ("sent", "decoded"),
        [("abc", "abc"), ("001", "001"), ("1e3", 1000.0), ("true", True), ("", ""), ("[1", "[1")],
    )
    def test_bare_values_count_as_json_where_they_are(self, sent: str, decoded: object) -> None:
        assert toolkit.decode({"x": sent}) == {"x": decoded}

    @settings(max_examples=30)
    @given(st.dictionaries(st.text(min_size=1), VALUES))
    def test_are_the_scripts_or_the_toolkits(self, given: dict[str, object]) -> None:
        users, own = toolkit.split(given | {"sagemaker_program": "x"})
        assert users | own == given | {"sagemaker_program": "x"}
        assert not users.keys() & own.keys()
        assert "sagemaker_program" in own

    @settings(max_examples=30)
    @given(st.dictionaries(st.text(min_size=1), VALUES))
    def test_become_pairs_of_arguments_by_name(self, given: dict[str, object]) -> None:
        words = toolkit.arguments(given)
        assert len(words) == 2 * len(given)
        dashes = [f"--{name}" if len(name) > 1 else f"-{name}" for name in sorted(given)]
        assert words[::2] == dashes

    def test_are_written_as_the_toolkit_writes_them(self) -> None:
        given = {"b": {"y": 2, "x": 1}, "alpha": None, "flag": True}
        assert toolkit.arguments(given) == ["--alpha", "", "-b", "x=1,y=2", "--flag", "True"]
        assert toolkit.text({"b": 1, "a": [None, "é"]}) == '{"a":[null,"\\u00e9"],"b":1}'
        assert (toolkit.text(None), toolkit.text("as it is")) == ("", "as it is")
