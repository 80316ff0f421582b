"""Save all that the next step depends on, and resume from it after SIGTERM or a loss."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import pickle
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

story: Any  # train_nn.py, which loads this file

# SIGABRT's code: Vertex AI takes it for a passing error, and starts the job up to three times more.
RESTART = 134
# The number of the step, and the digest by which damage is noticed.
NAME = re.compile(r"step-(\d{9})-([0-9a-f]{16})\.pt(\.part)?")


class Stopped(SystemExit):
    """This run was asked to end."""


class Checkpoints:
    """A replica's checkpoints, in a folder of its own; the newest two are kept.

    Where the replicas share out rows, rank 0's are everyone's.
    """

    def __init__(self, flags: Any) -> None:
        """flags: checkpoint_dir is set to the folder in use."""
        service = Path(os.environ.get("SM_MODEL_DIR") or os.devnull).with_name("checkpoints")
        own = service if service.is_dir() else f"{flags.model_dir.rstrip('/')}/checkpoints"
        self.by_default = not flags.checkpoint_dir and not service.is_dir()
        flags.checkpoint_dir = str(flags.checkpoint_dir or own)
        self.flags, self.asked, self.before = flags, False, signal.getsignal(signal.SIGTERM)
        self.t: Any = None  # from resume() on
        self.writing = threading.Thread()

    # SIGTERM is obeyed at once, but in the training after the step under way.
    def __enter__(self) -> Checkpoints:
        """Hear SIGTERM from now on."""
        self.before = signal.signal(signal.SIGTERM, self._ask)
        return self

    def __exit__(self, _: object, problem: object, __: object) -> None:
        """Wait for what is being written: a run after this one would find it half done."""
        self._settle()
        signal.signal(signal.SIGTERM, self.before)
        if isinstance(problem, Stopped):
            when = f", in epoch {self.t.epoch}" if self.t else ""
            after = "; started again, it resumes from its checkpoint"
            sys.stderr.write(f"train_nn.py: ended before its time{when}{after}\n")

    def _ask(self, *_: object) -> None:
        """Hear the signal; what watches a replica and its service may both send it."""
        again, self.asked = self.asked, True
        if not self.t and not again:
            raise Stopped(RESTART)
        if self.t and not self.t.shared:
            self.t.stop = 1  # the others hear of it with the gradients

    def _ask_others(self, t: Any, compute_gradients: Callable[..., Any], *step: Any) -> Any:
        """Compute gradients; all of those who share layers learn in this step if one has to end."""
        loss, asked = compute_gradients(*step), t.optimizer.weights.new_tensor(float(self.asked))
        t.stop = int(story.sum_over_replicas(asked, t.world_size) > 0)
        return loss

    def leave(self, t: Any) -> None:
        """Save and leave, because one of the replicas was asked to."""
        self._save(t)
        raise Stopped(RESTART)

    def after_epoch(self, t: Any) -> None:
        """Save if it is time to."""
        if (t.epoch - 1) % self.flags.checkpoint_every == 0:
            self._save(t)

    def end(self, _: Any, __: float, ___: float) -> None:
        """Remove the checkpoints of a training whose results are written."""
        self._settle()
        if self.holds:
            self.clear()

    def _save(self, t: Any) -> None:
        """Begin to write a checkpoint, which does not hold up the training."""
        if not self.holds:
            return
        state = {
            "about": self.about, "weights": t.optimizer.weights, "adam": t.optimizer.state,
            "best_weights": t.best_weights, "best_loss": t.best_loss, "best_epoch": t.best_epoch,
            "epoch": t.epoch, "losses": [(float(loss), rows) for loss, rows in t.losses],
            "shuffle": t.shuffled if t.losses else t.shuffle.get_state(),
            "history": torch.tensor(t.history, dtype=torch.float64),
            "resumed": t.resumed, "log": t.log,
        }  # fmt: skip
        torch.save(state, content := io.BytesIO())
        self._settle()
        step = int(t.optimizer.state[2])
        self.writing = threading.Thread(target=self._write, args=(step, content.getvalue()))
        self.writing.start()

    def _settle(self) -> None:
        """Wait until the last one is written."""
        if self.writing.ident:  # it was started
            self.writing.join()

    def _write(self, step: int, content: bytes) -> None:
        """Write a checkpoint; if it cannot be written, say so: the training continues without."""
        name = f"step-{step:09d}-{hashlib.sha256(content).hexdigest()[:16]}.pt"
        try:
            story.write_files(self.path, {name: content})
            self._tidy(keep=2)
        except Exception as problem:  # noqa: BLE001 - storage clients raise anything
            reason = getattr(problem, "strerror", "") or str(problem) or type(problem).__name__
            said = f"no checkpoint, {self.where} {reason}".splitlines()[0]
            sys.stderr.write(f"train_nn.py: {said}\n")

    def _tidy(self, keep: int) -> None:
        """Delete what is half written, and all but the newest checkpoints."""
        found = self._names()
        whole = [name for name, match in found if not match[3]]
        for name in {name for name, _ in found} - {*whole[len(whole) - keep :]}:
            self.folder.delete(name)

    def _names(self) -> list[tuple[str, re.Match[str]]]:
        """Return the checkpoints in the folder, in the order of their numbers."""
        names = sorted(self.folder.names())
        return [(name, match) for name in names if (match := NAME.fullmatch(name))]

    def clear(self) -> None:
        """Remove the checkpoints, and the folders that nobody but the run has named."""
        with contextlib.suppress(Exception):  # the results are there, whatever is in the way here
            self._tidy(keep=0)
            (own := Path(story.mounted(self.path))).rmdir()
            if self.by_default:
                own.parent.rmdir()

    def resume(self, t: Any, say: Callable[..., None]) -> None:
        """Take the newest whole checkpoint that all replicas have which keep their own."""
        self._begin(t)
        lists = story.exchange(lambda: self._whole() if self.holds else None, f"{self.where} ")
        held = [{step for step, _ in found} for found in lists if found is not None]
        step, own = max(set.intersection(*held), default=0), dict(lists[t.rank] or ())
        content = bytearray()
        story.exchange(lambda: content.extend(self._read(own, step)), f"{self.where} ")
        if step:
            if t.world_size > 1 and not t.shared:
                content = broadcast(content)
            story.exchange(lambda: self._take(content, t))
            say(f"resumes from a checkpoint, in epoch {t.epoch}")
            if launch := getattr(story, "launch", None):
                launch.report(step)
        elif any(held):
            print("train_nn.py: no checkpoint that all replicas have; begins anew", flush=True)
        if t.shared:
            t.compute_gradients = partial(self._ask_others, t, t.compute_gradients)
        self.t = t

    def _begin(self, t: Any) -> None:
        """Find the own folder, and note what a checkpoint must agree with."""
        self.holds = t.shared or t.rank == 0
        self.path = f"{self.flags.checkpoint_dir.rstrip('/')}/worker-{t.rank}"
        self.where = f"--checkpoint_dir {self.path}:"
        same = ("hidden", "seed", "learning_rate", "min_delta", "precision")
        self.about = {
            "features": t.table.X.shape[1], **{name: vars(self.flags)[name] for name in same},
            "batch_size": min(self.flags.batch_size or t.table.rows, t.table.rows),
            "training table": t.table.digest, "validation table": t.val.digest,
            "number of replicas that share layers": t.world_size if t.shared else 1,
        }  # fmt: skip

    def _whole(self) -> list[tuple[int, str]]:
        """Return step and name of each whole checkpoint; refuse those of another training."""
        found = []
        self.folder = story.companion("folders", "--checkpoint_every").open_folder(self.path)
        story.write_files(self.path, {})  # better refused now than after an epoch
        for name, match in self._names():
            content = self.folder.read(name)
            if match[3] or hashlib.sha256(content).hexdigest()[:16] != match[2]:
                print(f"train_nn.py: {self.where} {name} is damaged and of no use", flush=True)
                self.folder.delete(name)
                continue
            with self._readable(content) as state:
                about = {what: state["about"].get(what) for what in self.about}
            for what, here in self.about.items():
                story.require(about[what] == here, f"{self.where} holds a checkpoint of another "
                              f"training, whose {what} is {about[what]} and not {here}; name "
                              "another --checkpoint_dir, or delete it")  # fmt: skip
            found.append((int(match[1]), name))
        return found

    def _read(self, own: Mapping[int, str], step: int) -> bytes:
        """Return the content of this checkpoint; later ones, which others lack, are of no use."""
        for each in (each for each in own if each > step):
            self.folder.delete(own[each])
        return bytes(self.folder.read(own[step])) if step in own else b""

    @contextlib.contextmanager
    def _readable(self, content: bytes | bytearray) -> Iterator[Any]:
        """Load a checkpoint; what does not fit into this script is said in one sentence."""
        try:
            yield torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
        except (ArithmeticError, AttributeError, EOFError, LookupError, RuntimeError, TypeError,
                ValueError, pickle.UnpicklingError):  # fmt: skip
            why = f"{self.where} holds a checkpoint that this script did not write"
            raise story.Refused(f"{why}; name another --checkpoint_dir, or delete it") from None

    def _take(self, content: bytearray, t: Any) -> None:
        """Be where the checkpoint is; refuse one that this script did not write."""
        weights, epochs = t.optimizer.weights, t.flags.epochs
        with self._readable(content) as state:
            story.require(state["epoch"] <= epochs + 1, f"{self.where} the checkpoint is beyond "
                          f"--epochs {epochs}; name more, or another --checkpoint_dir")  # fmt: skip
            own, found = [weights, *t.optimizer.state], [state["weights"], *state["adam"]]
            if state["best_epoch"]:
                own.append(weights)
                found.append(state["best_weights"])
                t.best_weights = found[-1].to(weights.device)
            if [each.shape for each in own] != [each.shape for each in found]:
                raise ValueError
            for tensor, value in zip([weights, *t.optimizer.state], found, strict=False):
                tensor.copy_(value)
            t.epoch, t.best_epoch = int(state["epoch"]), int(state["best_epoch"])
            t.best_loss = float(state["best_loss"])
            t.resumed = [*map(int, state["resumed"]), t.epoch]
            history = state["history"].view(t.epoch - 1, 5).tolist()
            t.history = [(int(epoch), *row) for epoch, *row in history]
            t.losses = [(torch.tensor(x, device=weights.device), n) for x, n in state["losses"]]
            t.shuffle.set_state(state["shuffle"])
            t.log[:] = map(str, state["log"])


def broadcast(content: bytearray) -> bytearray:
    """Return rank 0's content on all replicas."""
    size = story.exchange(lambda: len(content))[0]
    sent = torch.frombuffer(content or bytearray(size), dtype=torch.uint8)
    sent = sent.to("cuda" if dist.get_backend() == "nccl" else "cpu")
    dist.broadcast(sent, 0)
    return bytearray(sent.cpu().numpy())
