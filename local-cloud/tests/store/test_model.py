"""Whatever is done to it, by clients and by jobs, the store holds what a dictionary would hold."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from local_cloud.store.errors import NoSuchObject
from local_cloud.store.objects import Objects
from local_cloud.store.records import Records
from local_cloud.store.values import Condition

PARTS = st.sampled_from(["a", "b", "/", "/", ".", "\n", "é", "x" * 250])
NAMES = st.lists(PARTS, min_size=1, max_size=5).map("".join)
NAMES = NAMES.filter(lambda name: len(name.encode()) <= 1024)
CONTENTS = st.binary(max_size=5)


class Store(RuleBasedStateMachine):
    """The store beside a dictionary of name -> content."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.open()
        self.objects.create_bucket("k", {})
        self.model: dict[str, bytes] = {}
        self.generations: dict[str, int] = {}

    def open(self) -> None:
        self.records = Records(Path(self.folder.name) / "records.sqlite")
        self.objects = Objects(Path(self.folder.name) / "buckets", self.records)

    def teardown(self) -> None:
        self.records.close()
        self.folder.cleanup()

    @rule(name=NAMES, content=CONTENTS)
    def put(self, name: str, content: bytes) -> None:
        body = self.objects.upload_file()
        body.write_bytes(content)
        live = self.objects.get("k", name).generation if name in self.model else 0
        made = self.objects.put("k", name, body, when=Condition(generation=live))
        assert made.generation > self.generations.get(name, 0)
        self.model[name], self.generations[name] = content, made.generation

    @rule(name=NAMES)
    def delete(self, name: str) -> None:
        if name in self.model:
            self.objects.delete("k", name)
            del self.model[name]
        else:
            with pytest.raises(NoSuchObject):
                self.objects.delete("k", name)

    @rule(names=st.lists(st.sampled_from("ab"), min_size=1, max_size=3), content=CONTENTS)
    def a_job_writes(self, names: list[str], content: bytes) -> None:
        file = self.objects.folder.joinpath("k", *names)
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        except (FileExistsError, NotADirectoryError, IsADirectoryError):
            return  # what any program meets that takes a file for a folder
        os.utime(file, ns=(0, time.time_ns() - 10**9))
        self.model["/".join(names)] = content

    @rule(name=NAMES, other=NAMES)
    def copy(self, name: str, other: str) -> None:
        if name in self.model:
            self.objects.copy(("k", name), ("k", other), lambda _: ("", {}))
            self.model[other] = self.model[name]

    @rule()
    def restart(self) -> None:
        self.records.close()
        self.open()

    @rule(
        prefix=NAMES | st.just(""),
        start=NAMES,
        end=NAMES,
        delimiter=st.sampled_from(["", "/", "a"]),
    )
    def a_part_is_listed(self, prefix: str, start: str, end: str, delimiter: str) -> None:
        expected = set()
        for name in self.model:
            if name.startswith(prefix) and start <= name < end:
                rest, is_cut, _ = name[len(prefix) :].partition(delimiter or "\0")
                expected.add(prefix + rest + is_cut if is_cut else name)
        listed = list(self.objects.names("k", prefix, start=start, end=end, delimiter=delimiter))
        assert listed == sorted(expected, key=str.encode)
        for at, last in enumerate(listed):
            rest = self.objects.names(
                "k", prefix, start=start, end=end, after=last, delimiter=delimiter
            )
            assert list(rest) == listed[at + 1 :]

    @invariant()
    def it_holds_what_the_dictionary_holds(self) -> None:
        listed = list(self.objects.list("k"))
        assert [stored.name for stored in listed] == sorted(self.model, key=str.encode)
        for stored in listed:
            assert stored == self.objects.get("k", stored.name)
            same, file = self.objects.open("k", stored.name)
            with file:
                assert file.read(same.size) == self.model[stored.name]


TestStore = Store.TestCase
TestStore.settings = settings(max_examples=8, stateful_step_count=20)


@pytest.mark.slow
class TestStoreForLonger(TestStore):
    """The same, with more examples."""

    settings = settings(max_examples=60, stateful_step_count=20)
