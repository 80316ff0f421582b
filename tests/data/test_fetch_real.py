"""The fetcher, against OpenML's own answers, recorded in scikit-learn's package, over real HTTP."""

import gzip
import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from sklearn.datasets import _openml

from data import fetch_real
from testing.examples import with_examples

RECORDED = files("sklearn") / "datasets/tests/data/openml/id_40945"
LIST = "/api/v1/json/data/list/data_name/titanic/limit/2/data_version/1"
ARFF = "/data/v1/download/16826755/Titanic.arff"


def recorded(name: str) -> bytes:
    return gzip.decompress((RECORDED / name).read_bytes())


class Recorder(ThreadingHTTPServer):
    """OpenML's five answers by path; a test may change one before it fetches."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.url = f"http://127.0.0.1:{self.server_port}"
        description = json.loads(recorded("api-v1-jd-40945.json.gz"))
        description["data_set_description"]["url"] = self.url + ARFF
        self.answers = {
            # The one answer that scikit-learn does not carry: which dataset has that name.
            LIST: json.dumps({"data": {"dataset": [{"did": 40945, "name": "Titanic"}]}}).encode(),
            "/api/v1/json/data/40945": json.dumps(description).encode(),
            "/api/v1/json/data/features/40945": recorded("api-v1-jdf-40945.json.gz"),
            "/api/v1/json/data/qualities/40945": recorded("api-v1-jdq-40945.json.gz"),
            ARFF: recorded("data-v1-dl-16826755.arff.gz"),
        }


class Answer(BaseHTTPRequestHandler):
    server: Recorder

    def do_GET(self) -> None:
        body = self.server.answers.get(self.path)
        self.send_response(503 if body is None else 200)
        self.send_header("Content-Length", str(len(body or b"")))
        self.end_headers()
        self.wfile.write(body or b"")

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def openml(monkeypatch: pytest.MonkeyPatch) -> Iterator[Recorder]:
    with Recorder() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        for name in ("_SEARCH_NAME", "_DATA_INFO", "_DATA_FEATURES", "_DATA_QUALITIES"):
            here = getattr(_openml, name).replace("https://www.openml.org", server.url)
            monkeypatch.setattr(_openml, name, here)
        monkeypatch.setattr(_openml.time, "sleep", lambda seconds: None)  # between its retries
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(fetch_real, "FOLDER", tmp_path / "real")
    return tmp_path / "real"


def older_files(folder: Path) -> dict[str, bytes]:
    folder.mkdir()
    for name in ("titanic_train.csv", "titanic_test.csv"):
        (folder / name).write_bytes(b"older " + name.encode())
    return contents(folder)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def assert_refused(capsys: pytest.CaptureFixture[str], *words: str) -> None:
    """The fetcher said its progress line, then one sentence that has ``words``."""
    out, err = capsys.readouterr()
    assert out.count("\n") == 1 and out.startswith("Fetching")
    assert err.count("\n") == 1 and err.endswith(".\n") and "Traceback" not in err
    assert not re.search(r"\. [A-Z]", err), "more than one sentence"
    for word in words:
        assert word in err


@pytest.mark.usefixtures("openml")
def test_1309_passengers_are_split_four_to_one(folder: Path) -> None:
    assert fetch_real.main() == 0
    parts = {name: pd.read_csv(folder / f"titanic_{name}.csv") for name in ("train", "test")}
    assert {name: len(part) for name, part in parts.items()} == {"train": 1047, "test": 262}
    whole = pd.concat(parts.values())
    assert sorted(whole["PassengerId"]) == list(range(1, 1310))
    assert parts["test"]["Survived"].mean() == pytest.approx(whole["Survived"].mean(), abs=0.002)


@pytest.mark.usefixtures("openml")
def test_the_columns_are_those_of_the_twin_and_missing_is_empty(folder: Path) -> None:
    fetch_real.main()
    twin = pd.read_csv(Path(fetch_real.__file__).parent / "titanic_train.csv")
    table = pd.read_csv(folder / "titanic_train.csv")
    assert list(table.columns) == list(twin.columns)
    assert list(table.dtypes) == list(twin.dtypes)
    whole = pd.concat([table, pd.read_csv(folder / "titanic_test.csv")])
    missing = {column: count for column, count in whole.isna().sum().items() if count}
    assert missing == {"Age": 263, "Fare": 1, "Cabin": 1014, "Embarked": 2}  # as OpenML says
    assert set(whole["Sex"]) == {"male", "female"}
    assert set(whole["Survived"]) == {0, 1}


@pytest.mark.usefixtures("openml")
def test_a_second_fetch_writes_the_same_bytes_and_leaves_nothing_else(folder: Path) -> None:
    fetch_real.main()
    first = contents(folder)
    fetch_real.main()
    assert contents(folder) == first
    assert set(first) == {"titanic_train.csv", "titanic_test.csv"}


@pytest.mark.usefixtures("openml")
def test_it_says_where_the_files_are_and_what_they_are(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fetch_real.main()
    out = capsys.readouterr().out
    first, *rest = out.splitlines()
    assert first.startswith("Fetching")
    assert str(folder / "titanic_train.csv") in out and str(folder / "titanic_test.csv") in out
    assert "licence" in rest[-1] and "https://www.openml.org/d/40945" in rest[-1]


def test_no_server_is_one_sentence_and_older_files_stay(
    openml: Recorder, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = older_files(folder)
    openml.server_close()
    assert fetch_real.main() == 2
    assert_refused(capsys, "OpenML", "could not be reached", "twin")
    assert contents(folder) == before


@pytest.mark.parametrize("path", [LIST, "/api/v1/json/data/40945", ARFF])
def test_a_refusing_server_is_one_sentence_and_older_files_stay(
    path: str, openml: Recorder, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = older_files(folder)
    del openml.answers[path]
    assert fetch_real.main() == 2
    assert_refused(capsys, "could not be reached", "503")
    assert contents(folder) == before


def test_half_a_table_is_one_sentence_and_older_files_stay(
    openml: Recorder, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = older_files(folder)
    openml.answers[ARFF] = openml.answers[ARFF][:50_000]
    assert fetch_real.main() == 2
    assert_refused(capsys, "not the passenger list", "checksum")
    assert contents(folder) == before


@with_examples(30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    path=st.sampled_from([LIST, "/api/v1/json/data/40945", "/api/v1/json/data/features/40945"]),
    answer=st.one_of(
        st.binary(max_size=40),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(max_size=5),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(
                    st.sampled_from(["data", "dataset", "did", "data_features", "feature"]), inner
                )
            ),
        ).map(lambda value: json.dumps(value).encode()),
    ),
)
def test_any_other_answer_is_refused_in_one_sentence(
    path: str,
    answer: bytes,
    openml: Recorder,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    right = openml.answers[path]
    openml.answers[path] = answer
    try:
        assert fetch_real.main() == 2
    finally:
        openml.answers[path] = right
    assert_refused(capsys, "OpenML", "try again later")
    assert not folder.exists()


@pytest.mark.parametrize("change", ["a row is missing", "a column is missing", "a blank outcome"])
def test_a_table_that_is_not_the_list_is_refused(change: str) -> None:
    frame = pd.DataFrame(dict.fromkeys(fetch_real.COLUMNS.values(), ["1"] * 1309))
    broken = {
        "a row is missing": frame.iloc[1:],
        "a column is missing": frame.drop(columns="fare"),
        "a blank outcome": frame.assign(survived=[None] + ["1"] * 1308),
    }
    assert len(fetch_real.familiar(frame)) == 1309
    with pytest.raises(fetch_real.FetchError, match="not the passenger list"):
        fetch_real.familiar(broken[change])


@pytest.mark.usefixtures("openml")
def test_a_folder_that_cannot_be_made_is_one_sentence(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder.write_text("a file is in the way")
    assert fetch_real.main() == 2
    assert_refused(capsys, str(folder), "could not be written")


def test_a_failed_write_keeps_both_older_files_and_leaves_no_part(tmp_path: Path) -> None:
    before = older_files(tmp_path / "real")
    texts = {"titanic_train.csv": "new", "titanic_test.csv": "new " * 10_000 + "\ud800"}
    with pytest.raises(UnicodeEncodeError):  # the second is not writable as UTF-8
        fetch_real.write_together(tmp_path / "real", texts)
    assert contents(tmp_path / "real") == before


@pytest.mark.usefixtures("openml")
@pytest.mark.parametrize("older", [False, True])
def test_a_second_file_that_cannot_be_put_in_place_undoes_the_first(
    older: bool, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    in_the_way = folder / "titanic_test.csv"
    in_the_way.mkdir(parents=True)
    if older:
        (folder / "titanic_train.csv").write_text("older")
    assert fetch_real.main() == 2
    assert_refused(capsys, str(folder), "could not be written")
    left = {path.name: path.is_file() and path.read_text() for path in folder.iterdir()}
    assert left == {in_the_way.name: False} | ({"titanic_train.csv": "older"} if older else {})


@pytest.mark.usefixtures("openml")
def test_the_files_can_be_read_by_whoever_may_read_new_files(folder: Path) -> None:
    fetch_real.main()
    (folder / "new").touch()
    assert len({path.stat().st_mode for path in folder.iterdir()}) == 1
