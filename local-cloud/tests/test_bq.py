"""bq works here with only the lines that `python -m local_cloud env` prints.

Each command takes seconds to start, so one test is fast and the rest is slow.
"""

from __future__ import annotations

import json
import os
import shutil

import pytest
from google.cloud import bigquery, storage

from local_cloud.client.control import Status
from tests.shell import Shell

pytestmark = pytest.mark.skipif(
    not shutil.which("bq"), reason="the Google Cloud CLI is not installed"
)
QUERY = ("query", "--nouse_legacy_sql", "--format=json")


@pytest.fixture(scope="module")
def shell(cloud: Status, tmp_path_factory: pytest.TempPathFactory) -> Shell:
    shell = Shell(tmp_path_factory.mktemp("at home"))
    (shell.folder / "p.csv").write_text("name,age\nAnn,30\nBob,\n")
    client = bigquery.Client()
    for dataset in ("of_bq", "made_by_bq"):
        client.delete_dataset(dataset, delete_contents=True, not_found_ok=True)
    client.create_dataset("of_bq")
    client.query_and_wait("CREATE TABLE of_bq.t AS SELECT 1 AS x, 'a' AS y")
    return shell


def test_a_query_goes_through_and_no_secret_is_shown(shell: Shell) -> None:
    done = shell.run("bq", *QUERY, "SELECT x, y FROM of_bq.t")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [{"x": "1", "y": "a"}]
    secret = os.environ["LOCAL_CLOUD_VERTEX_URL"].rsplit("/", 1)[1]
    assert secret not in done.stdout + done.stderr


@pytest.mark.slow
def test_datasets_and_tables_are_made_shown_and_removed(shell: Shell) -> None:
    def bq(*words: str) -> str:
        return shell.out("bq", *words)

    bq("mk", "made_by_bq")
    assert "made_by_bq" in bq("ls")
    bq("load", "--autodetect", "made_by_bq.p", "p.csv")
    shown = json.loads(bq("show", "--format=json", "made_by_bq.p"))
    assert (shown["numRows"], shown["schema"]["fields"][1]["type"]) == ("2", "INTEGER")
    rows = json.loads(bq("head", "--format=json", "made_by_bq.p"))
    assert rows == [{"name": "Ann", "age": "30"}, {"name": "Bob", "age": None}]
    bq("cp", "made_by_bq.p", "made_by_bq.q")
    assert bq("ls", "made_by_bq").count("TABLE") == 2
    bq("rm", "-f", "-t", "made_by_bq.p")
    bq("rm", "-r", "-f", "made_by_bq")
    assert "made_by_bq" not in bq("ls")


@pytest.mark.slow
def test_a_table_is_extracted_to_a_bucket_and_loaded_from_it(shell: Shell) -> None:
    bucket = storage.Client().create_bucket("with-bq")
    shell.out("bq", "extract", "of_bq.t", "gs://with-bq/t.csv")
    assert bucket.blob("t.csv").download_as_text() == "x,y\n1,a\n"
    shell.out("bq", "load", "--autodetect", "of_bq.back", "gs://with-bq/t.csv")
    assert json.loads(shell.out("bq", *QUERY, "SELECT x FROM of_bq.back")) == [{"x": "1"}]
    bucket.delete(force=True)


@pytest.mark.slow
def test_a_refusal_says_what_is_wrong(shell: Shell) -> None:
    for words, said in (
        (("show", "of_bq.none"), "Not found: Table"),
        ((*QUERY, "SELECT none FROM of_bq.t"), "Unrecognized name: none"),
        (("query", "--use_legacy_sql", "SELECT 1"), "--nouse_legacy_sql"),
    ):
        done = shell.run("bq", *words)
        assert done.returncode != 0
        assert said in " ".join((done.stdout + done.stderr).split())
