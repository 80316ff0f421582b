"""Hosts, shards, and where in a channel an object lies; the last words of a log."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_cloud.amazon.sagemaker.instances import layout
from local_cloud.amazon.sagemaker.jobs import failure_reason, launch
from local_cloud.engine.isolation import roots
from local_cloud.engine.spec import JobRefused, Outcome, State

KEYS = st.text(st.sampled_from("ab./-"), min_size=1, max_size=12)


class TestHosts:
    def test_are_sorted_as_text(self) -> None:
        names = layout.names(11)
        assert names[:3] == ("algo-1", "algo-10", "algo-11")
        assert layout.Host("algo-2", names, Path()).rank == 3

    @given(st.integers(1, 200))
    def test_are_as_many_as_asked_for(self, count: int) -> None:
        assert len(set(layout.names(count))) == count


class TestShards:
    @given(st.lists(KEYS), st.integers(1, 9))
    def test_are_all_of_the_keys_and_none_twice(self, keys: list[str], count: int) -> None:
        shards = [layout.shard(keys, rank, count) for rank in range(count)]
        assert sorted(key for shard in shards for key in shard) == sorted(keys)
        assert max(map(len, shards)) - min(map(len, shards)) <= 1


class TestBelow:
    @pytest.mark.parametrize(
        ("key", "prefix", "path"),
        [
            ("data/train/a.csv", "data/train", "a.csv"),
            ("data/train/a.csv", "data/train/", "a.csv"),
            ("data/train/deep/a.csv", "data/train/", "deep/a.csv"),
            ("data/train.npz", "data/train.npz", "train.npz"),
            ("data/train-01/a.csv", "data/train", "train-01/a.csv"),
            ("a.csv", "", "a.csv"),
            ("data//a.csv", "data", "a.csv"),
        ],
    )
    def test_is_what_the_key_has_behind_the_prefix(self, key: str, prefix: str, path: str) -> None:
        assert layout.below(key, prefix) == Path(path)

    def test_a_key_that_no_file_can_be_called_is_refused(self) -> None:
        assert layout.below("a/" + "ü" * 127, "a/") == Path("ü" * 127)
        with pytest.raises(JobRefused, match="rename the object"):
            layout.below("a/" + "ü" * 128, "a/")

    @given(KEYS, st.integers(0, 12))
    def test_never_leads_out_of_the_channel(self, key: str, length: int) -> None:
        try:
            path = layout.below(key, key[:length])
        except JobRefused:
            assert {".", ".."} & {*PurePosixPath(key).parts, *key.split("/")}
            return
        assert not path.is_absolute()
        assert ".." not in path.parts


class TestPlainPath:
    def test_is_made_once_and_forgotten_even_if_the_system_cleared_it_away(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(roots, "available", lambda: False)
        folder = tmp_path / "a blank"
        folder.mkdir()
        (host,) = launch.hosts(folder, 1)
        assert launch.hosts(folder, 1) == [host]
        made = host.ml.parent.parent
        assert " " not in str(made) and made.resolve() == folder.resolve()
        made.unlink()
        made.parent.rmdir()
        launch.forget(folder)
        assert list(folder.iterdir()) == []


class TestReasons:
    @pytest.mark.parametrize(
        ("log", "said"),
        [
            (["reading", "ValueError: no rows"], "ValueError: no rows"),
            (["ValueError: no rows", "", "  "], "ValueError: no rows"),
            (["the error", "Command failed with exit code 1. Traceback: Tr"], "the error"),
            (["the error", "++ handle_error", "++ EXIT_STATUS=1"], "the error"),
            (
                [
                    "the error",
                    "E1121 14:22:01.000000 12 site-packages/torch/distributed/elastic/x.py:984] f",
                    "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ",
                ],
                "the error",
            ),
            (
                [
                    "pip's error",
                    "Traceback (most recent call last):",
                    "subprocess.CalledProcessErr",
                ],
                "subprocess.CalledProcessErr",
            ),
            (
                [
                    "pip's error",
                    "Traceback (most recent call last):",
                    "subprocess.CalledProcessError: Command '['pip']' returned 1",
                ],
                "pip's error",
            ),
            ([], ""),
        ],
    )
    def test_are_the_scripts_own_last_line(self, log: list[str], said: str) -> None:
        assert failure_reason.own_words(log) == said

    @given(st.text(), st.integers(-64, 255))
    def test_fit_into_what_the_service_allows(self, said: str, code: int) -> None:
        outcome = Outcome(State.FAILED, "exit", "", "algo-1", code)
        reason = failure_reason.reason(outcome, "", [said * 500])
        assert len(reason) <= 1024
        assert reason.startswith("AlgorithmError: ")
        assert reason.endswith(f", exit code: {code if code >= 0 else 128 - code}")
