"""The events for TensorBoard, read back by TensorBoard's own readers."""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import Any

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.backend.event_processing.event_file_loader import EventFileLoader
from tensorboard.plugins.hparams import metadata as hparams
from tensorboard.summary.writer import event_file_writer
from tensorboard.summary.writer.record_writer import RecordWriter

from tests.training.pool import Pool, in_step, instead, train_as
from tests.training.support import FOR_LONG, Ended, as_replicas, save, train, wait_until
from training import train_nn


def read(folder: Path) -> Any:
    """What TensorBoard shows of a run."""
    accumulator = EventAccumulator(str(folder), size_guidance={"scalars": 0})
    accumulator.Reload()
    return accumulator


def history_of(run: Path) -> list[dict[str, str]]:
    with (run / "history.csv").open() as file:
        return list(csv.DictReader(file))


def steps_of(folder: Path) -> list[int]:
    return [event.step for event in read(folder).Scalars("val_loss")]


def test_the_curves_are_those_of_the_history(tmp_path: Path) -> None:
    run, logs = tmp_path / "run", tmp_path / "not there yet/logs"
    train(save(tmp_path / "a.npz"), run, "--epochs", 30, "--tensorboard_dir", logs)
    shown, history = read(logs), history_of(run)
    assert len(history) == 30
    for tag in ("loss", "val_loss", "val_accuracy"):
        events = shown.Scalars(tag)
        assert [event.step for event in events] == [int(row["epoch"]) for row in history]
        assert [event.value for event in events] == pytest.approx(
            [float(row[tag]) for row in history]
        )


def test_the_page_of_hyperparameters_has_the_flags(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    flags = ("--epochs", 2, "--learning_rate", 0.02, "--hidden", "16,8", "--restore_best", "false")
    train(save(tmp_path / "a.npz"), tmp_path / "run", *flags, "--tensorboard_dir", logs)
    contents = read(logs).PluginTagToContent("hparams")
    start = hparams.parse_session_start_info_plugin_data(contents[hparams.SESSION_START_INFO_TAG])
    shown = {name: getattr(v, v.WhichOneof("kind")) for name, v in start.hparams.items()}
    assert shown == {
        "epochs": 2, "learning_rate": 0.02, "batch_size": 0, "hidden": "16,8", "patience": 50,
        "min_delta": 0, "restore_best": False, "seed": 0, "parallelism": "data",
        "precision": "float32",
    }  # fmt: skip


def test_the_network_is_a_text(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    flags = ("--epochs", 1, "--hidden", "16", "--tensorboard_dir", logs)
    train(save(tmp_path / "a.npz"), tmp_path / "run", *flags)
    (event,) = read(logs).Tensors("network/text_summary")
    (text,) = event.tensor_proto.string_val
    assert "(2): Linear(in_features=16, out_features=1, bias=True)" in text.decode()


@pytest.mark.parametrize("brought", [(), (5, 24)], ids=["never", "early and late"])
def test_when_a_run_resumes_no_step_is_missing_or_there_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, brought: tuple[int, ...]
) -> None:
    archive, logs = save(tmp_path / "a.npz"), tmp_path / "logs"
    flags = ("--epochs", 40, "--checkpoint_every", 10, "--tensorboard_dir", logs)
    after_epoch = train_nn.Reports.after_epoch

    def bring(reports: train_nn.Reports, run: train_nn.Run) -> None:
        after_epoch(reports, run)
        if len(run.history) in brought and reports.board:
            reports.board.flush()

    def die() -> None:  # without a checkpoint of the epochs since the last
        raise SystemExit(137)

    monkeypatch.setattr(train_nn.Reports, "after_epoch", bring)
    # TensorBoard reads files in the order of their names. Those of one second and one process
    # differ in a count, as text: "10" is before "9". Runs that resume are other processes.
    monkeypatch.setattr(event_file_writer, "_global_uid", event_file_writer.AtomicCounter(0))
    with instead(add_up_gradients=in_step(26, die)):
        assert train(archive, tmp_path / "run", *flags).code == 137
    if brought:
        assert steps_of(logs)[-1] >= brought[-1]
    assert train(archive, tmp_path / "run", *flags).code == 0
    assert steps_of(logs) == list(range(1, 41))


def test_the_events_come_while_it_trains(tmp_path: Path) -> None:
    """As TensorBoard reads them: one reader that looks into the same file again and again."""
    archive, logs = save(tmp_path / "a.npz"), tmp_path / "logs"
    flags = (*FOR_LONG, "--tensorboard_dir", logs)
    with as_replicas(1, archive, tmp_path / "run", *flags) as replicas:
        wait_until(lambda: any(logs.glob("*")))
        (file,) = logs.iterdir()
        loader, steps = EventFileLoader(str(file)), list[int]()

        def further(more: int) -> bool:
            steps.extend(event.step for event in loader.Load())
            return max(steps, default=0) > more

        wait_until(lambda: further(0))
        seen = steps[-1]
        wait_until(lambda: further(seen))
        assert replicas.processes[0].poll() is None


def as_vertex_says(rank: int, size: int, flags: tuple[Any, ...], logs: str) -> Ended:
    """A replica whose environment names the folder for the events."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AIP_TENSORBOARD_LOG_DIR", logs)
        return train_as(rank, size, flags)


def test_only_the_first_replica_writes(pool: Pool, tmp_path: Path) -> None:
    archive, logs = save(tmp_path / "a.npz"), tmp_path / "logs"
    flags = ("--train", archive, "--val", archive, "--model_dir", tmp_path / "run", "--epochs", 3)
    ended = pool.run(2, as_vertex_says, flags, str(logs))
    assert [each.code for each in ended] == [0, 0], ended
    assert steps_of(logs) == [1, 2, 3]
    writers = {path.name.split(".")[-2] for path in logs.iterdir()}  # by the numbers of processes
    assert len(writers) == 1


def test_without_the_package_it_is_said_once_and_the_model_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in list(sys.modules):
        if name.startswith("torch.utils.tensorboard"):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "tensorboard", None)  # as if it were not there
    run = tmp_path / "run"
    done = train(save(tmp_path / "a.npz"), run, "--epochs", 3, "--tensorboard_dir", tmp_path / "l")
    assert done.code == 0 and (run / "model.pt").exists()
    assert done.out.count("nothing is written for TensorBoard (") == 1
    assert "); pip install tensorboard\n" in done.out
    assert "Traceback" not in done.out + done.err


def test_a_folder_that_cannot_be_written_to_is_refused_before_the_training(tmp_path: Path) -> None:
    archive = save(tmp_path / "a.npz")
    done = train(archive, tmp_path / "run", *FOR_LONG, "--tensorboard_dir", archive / "logs")
    assert done.code == 2 and "loss" not in done.out
    said = f"train_nn.py: --tensorboard_dir {archive}/logs: Not a directory; name another folder\n"
    assert done.err == said


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_disk_that_becomes_full_is_said_once_and_costs_no_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    def fill() -> None:
        monkeypatch.setattr(RecordWriter, "write", full)

    run, logs = tmp_path / "run", tmp_path / "logs"
    archive = save(tmp_path / "a.npz")
    with instead(add_up_gradients=in_step(2, fill)):
        done = train(archive, run, "--epochs", 9, "--tensorboard_dir", logs)
    assert done.code == 0 and (run / "metrics.json").exists()
    assert done.err == f"train_nn.py: --tensorboard_dir {logs}: No space left on device\n"


def test_a_bucket_that_the_service_names_and_nobody_mounts_costs_no_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Vertex AI names one for each job: a job must not fail by it where there are no mounts."""
    monkeypatch.setenv("AIP_TENSORBOARD_LOG_DIR", "gs://nobody-has-mounted-this/logs/")
    ended = train(save(tmp_path / "a.npz"), tmp_path / "run", "--epochs", 3)
    assert ended.code == 0
    assert "nothing is written for TensorBoard: gs://nobody-has-mounted-this/logs/" in ended.out
    assert (tmp_path / "run/model.pt").is_file()
