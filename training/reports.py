"""Tell those who watch a run how far it is: Vertex AI's tuner, TensorBoard, and history.csv."""

from __future__ import annotations

import contextlib
import importlib
import io
import math
import os
import re
import socket
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from typing import Any

story: Any  # train_nn.py, which loads this file

MEASUREMENTS = 48  # of each of two metrics: cloudml-hypertune's file keeps the latest 100
POINTS = 1000  # of a curve: TensorBoard shows no more
SHOWN = ("epochs", "learning_rate", "batch_size", "hidden", "patience", "min_delta",
         "restore_best", "seed", "parallelism")  # fmt: skip


class Reports:
    """What replica 0 reports, while the run lasts and when it ends."""

    def __init__(self, t: Any, say: Callable[..., None]) -> None:
        """t: further than nothing if the run resumes from a checkpoint."""

        def made(make: Callable[[], Any], package: str) -> Any:
            try:
                return make()
            except Exception as problem:  # noqa: BLE001 - protobuf has errors of its own
                say(f"{package} is not told of this run ({problem}); install it with pip")

        self.tuner, self.events, self.due = None, None, math.inf
        if folder := t.flags.tensorboard_dir:
            about, advice = f"--tensorboard_dir {folder}: ", "; name another folder"
            story.exchange(lambda: None if t.rank else check_folder(folder), about, advice)
        if t.rank:
            return
        self.due = time.perf_counter() + 1
        if folder:
            self.events = made(lambda: Events(t), "tensorboard")
        if is_trial():
            load = partial(importlib.import_module, "hypertune")
            self.tuner = made(lambda: load().HyperTune(), "cloudml-hypertune")
        for epoch, _, *metrics, _ in t.history:  # the tuner's file begins anew
            self.measure(t, epoch, *metrics)

    def measure(self, t: Any, epoch: int, loss: float, accuracy: float, last: bool = False) -> None:
        """Tell the tuner of an epoch, if it is the last or one of those spread over the run."""
        before, now = (e * (MEASUREMENTS - 1) // t.flags.epochs for e in (epoch - 1, epoch))
        if self.tuner and (last or before < now):
            try:
                tell = self.tuner.report_hyperparameter_tuning_metric
                tell("validation_loss", loss, epoch)
                tell("validation_accuracy", accuracy, epoch)
            except OSError as problem:
                sys.stderr.write(f"train_nn.py: the tuner is told no more, {problem}\n")
                self.tuner = None

    def after_epoch(self, t: Any) -> None:
        """Tell of an epoch; of the last one, end() tells."""
        if t.epoch > t.flags.epochs:
            return
        epoch, _, *metrics, _ = t.history[-1]
        self.measure(t, epoch, *metrics)
        if (now := time.perf_counter()) < self.due:
            return
        with contextlib.suppress(Exception):  # a failure that lasts is reported at the end
            columns = ("epoch", "loss", "val_loss", "val_accuracy", "seconds")
            lines = [",".join(map(str, row)) for row in (columns, *t.history)]
            content = "\n".join([*lines, ""]).encode()
            # An earlier run's metrics.json would say that these are the results of a whole run.
            so_far = {"metrics.json": None, "history.csv": content}
            story.write_files(t.flags.model_dir, so_far)
            if self.events:
                self.events.write(t)
        self.due = now + max(1, 20 * (time.perf_counter() - now))  # takes 1/20 of the time at most

    def end(self, t: Any, loss: float, accuracy: float) -> None:
        """Tell of the model that is written."""
        self.measure(t, len(t.history), loss, accuracy, last=True)
        try:
            if self.events:
                self.events.write(t, ended=True)
        except Exception as problem:  # noqa: BLE001 - storage clients raise anything
            sys.stderr.write(f"train_nn.py: the events for TensorBoard are not whole, {problem}\n")


def is_trial() -> bool:
    """Return whether this is a trial of a hyperparameter tuning job."""
    names = ("CLOUD_ML_TRIAL_ID", "CLOUD_ML_HP_METRIC_FILE")
    task = re.search(r'"trial": *"?\d', os.environ.get("CLUSTER_SPEC", ""))
    return bool(task or any(map(os.environ.get, names)))


def check_folder(folder: str) -> None:
    """Write to a folder, and leave nothing there: one that refuses it is named before training."""
    if "://" in story.mounted(folder):
        name = f"events.{os.getpid()}"
        story.write_files(folder, {name: b""})
        story.write_files(folder, {name: None})
    else:
        os.makedirs(story.mounted(folder), exist_ok=True)
        tempfile.TemporaryFile(dir=story.mounted(folder)).close()


class Events:
    """A file of events for TensorBoard: the curves, the hyperparameters and the layers."""

    # RecordWriter frames the events for TensorBoard's EventFileWriter too. That one, and torch's
    # SummaryWriter around it, would import TensorFlow where it is installed, and write in a thread:
    # there an error is printed as a traceback, and the last one may be lost.
    def __init__(self, t: Any) -> None:
        """Let TensorBoard discard what an earlier run reported after the resumed checkpoint."""
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.compat.proto.graph_pb2 import GraphDef
        from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData
        from tensorboard.plugins.hparams.summary_v2 import hparams_pb
        from tensorboard.summary.writer.record_writer import RecordWriter

        self.event, self.plugin_data = Event, HParamsPluginData
        self.folder = story.mounted(t.flags.tensorboard_dir.rstrip("/"))
        self.name = f"events.out.tfevents.{time.time():.6f}.{socket.gethostname()}.{os.getpid()}"
        self.content = io.BytesIO()  # of the file; an object is uploaded as a whole
        self.records, self.new = RecordWriter(self.content), list[Any]()
        self.every = math.ceil(t.flags.epochs / POINTS)
        shown = {name: getattr(t.flags, name) for name in SHOWN}
        shown["hidden"] = ",".join(map(str, t.flags.hidden))
        self.add(file_version="brain.Event:2")
        self.add(step=t.reported + 1, session_log={"status": "START"})
        self.add(graph_def=GraphDef(node=describe(t.model)).SerializeToString())
        self.add(summary=hparams_pb(shown))

    def add(self, **event: Any) -> None:
        """Add an event, of now unless it says when."""
        self.new.append(self.event(**{"wall_time": time.time(), **event}))

    def write(self, t: Any, ended: bool = False) -> None:
        """Add the epochs that are new, and write what is."""
        begun, tags = time.time() - t.history[-1][-1], ("loss", "val_loss", "val_accuracy")
        for epoch, *row, seconds in t.history[t.reported :]:
            if epoch % self.every == 0 or epoch == 1 or (ended and epoch == len(t.history)):
                values = [{"tag": t, "simple_value": v} for t, v in zip(tags, row, strict=True)]
                self.add(step=epoch, wall_time=begun + seconds, summary={"value": values})
        t.reported = len(t.history)
        if ended:
            info = {"status": 1, "end_time_secs": time.time()}  # 1: it succeeded
            content = self.plugin_data(session_end_info=info).SerializeToString()
            metadata = {"plugin_data": {"plugin_name": "hparams", "content": content}}
            value = {"tag": "_hparams_/session_end_info", "metadata": metadata}
            self.add(summary={"value": [value]})
        written = self.content.tell()
        for event in self.new:
            self.records.write(event.SerializeToString())
        self.new = []
        if "://" in self.folder:
            story.write_files(self.folder, {self.name: self.content.getvalue()})
            return
        with open(f"{self.folder}/{self.name}", "ab") as file:  # readers look for what is added
            file.write(self.content.getvalue()[written:])


def describe(model: Any) -> list[dict[str, Any]]:
    """Return a graph's nodes: the layers, one after the other, as torch prints them."""
    nodes: list[dict[str, Any]] = [{"name": "X", "op": "Placeholder"}]
    for place, layer in model.named_children():
        kind, text = type(layer).__name__, {"layer": {"s": str(layer).encode()}}
        before = [nodes[-1]["name"]]
        nodes.append({"name": f"{place}.{kind}", "op": kind, "input": before, "attr": text})
    return nodes
