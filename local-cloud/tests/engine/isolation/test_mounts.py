"""Paths such as /gcs where nothing can be mounted: they are rewritten."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_cloud.engine.isolation.mounts import rewrite, rewritten
from local_cloud.engine.spec import Replica

GCS = {"/gcs": Path("/data/cloud")}


def test_a_replicas_command_and_environment_are_rewritten() -> None:
    command, variables = ("cat", "/gcs/b/x"), {"OUT": "/gcs/b", "ELSE": "/gcsx"}
    replica = rewritten(Replica("r0", command, variables, mounts=GCS))
    assert replica.command == ("cat", "/data/cloud/b/x")
    assert replica.environment == {"OUT": "/data/cloud/b", "ELSE": "/gcsx"}


class TestRewrite:
    @pytest.mark.parametrize(
        ("text", "rewritten"),
        [
            ("/gcs/b/x", "/data/cloud/b/x"),
            ("/gcs", "/data/cloud"),
            ("--train=/gcs/b/x", "--train=/data/cloud/b/x"),
            ("/gcs/a:/gcs/b", "/data/cloud/a:/data/cloud/b"),
            ("pip install /gcs/b/x.tar.gz && ls '/gcs/b'", None),
            ('{"path": "/gcs/b"}', '{"path": "/data/cloud/b"}'),
        ],
    )
    def test_where_a_path_begins(self, text: str, rewritten: str | None) -> None:
        assert rewrite(text, GCS) == (rewritten or text.replace("/gcs", "/data/cloud"))

    @pytest.mark.parametrize(
        "text",
        ["/mygcs/x", "/gcsx", "/gcs.old/x", "/gcs-2", "gs://gcs/x", "a/gcs/x", "//gcs/x", "$X/gcs"],
    )
    def test_not_elsewhere(self, text: str) -> None:
        assert rewrite(text, GCS) == text

    def test_the_longest_mount_counts(self) -> None:
        both = {"/opt": Path("/a"), "/opt/ml": Path("/b"), "/opt/ml/x/": Path("/c")}
        assert rewrite("/opt/ml/x/1 /opt/ml/2 /opt/3", both) == "/c/1 /b/2 /a/3"

    @given(st.text())
    def test_text_without_the_path_stays(self, text: str) -> None:
        text = text.replace("/gcs", "")
        assert "/gcs" in text or rewrite(text, GCS) == text
        assert rewrite(text, {}) == text

    @given(
        st.sampled_from(["", "--a=", " ", "x:", "'", '"', "(", "a,"]),
        st.text(st.characters(exclude_characters="/")),
    )
    def test_a_path_below_the_mount_becomes_one_below_the_folder(
        self, before: str, rest: str
    ) -> None:
        assert rewrite(f"{before}/gcs/{rest}", GCS) == f"{before}/data/cloud/{rest}"

    @given(st.text(), st.text())
    def test_a_letter_on_either_side_makes_it_another_path(self, before: str, after: str) -> None:
        before, after = before.replace("/gcs", ""), after.replace("/gcs", "")
        for text in (f"{before}x/gcs{after}", f"{before}/gcsx{after}"):
            assert len(re.findall("/gcs", text)) != 1 or rewrite(text, GCS) == text
