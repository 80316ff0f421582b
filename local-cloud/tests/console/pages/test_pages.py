"""Each page shows what the SDKs have made, and nothing that anybody named becomes HTML."""

from __future__ import annotations

import re
from html import unescape
from urllib.parse import quote, urlencode, urljoin

import pytest

from testing.visitor import Visitor
from tests.console.filled_cloud import BUCKET, HOSTILE, PIXEL, S3_BUCKET, Filled


def named(page: str, name: str) -> str:
    """The page of the thing with this name."""
    return f"/console/{page}?name={quote(name, safe='')}"


def test_the_overview_counts(filled: Filled, visitor: Visitor) -> None:
    page = visitor.get("/console/")
    assert "titanic-nn-sagemaker" in page and "titanic-nn" in page
    assert "<b>1</b> deployed" in page and "<b>2</b> buckets" in page


def test_a_finished_job_has_both_its_curves(filled: Filled, visitor: Visitor) -> None:
    page = visitor.get(f"/console/jobs/{filled.job}")
    assert "12.0 KiB" in page, "the bytes of parameters and optimiser"
    assert "3.0 KiB" in visitor.get(f"/console/jobs/{filled.training_job}")
    assert page.text.count("<figure") == 2 and "Loss, to epoch 60: loss 0.3573" in page


def test_a_study_shows_its_trials_and_the_best_in_parallel_coordinates(
    filled: Filled, visitor: Visitor
) -> None:
    assert "6 of 6" in visitor.get("/console/studies")
    page = visitor.get(named("study", filled.study))
    assert "the largest accuracy" in page and "– the best" in page
    assert "6 trials over rate, size, optimiser, accuracy." in page
    _, _, behind = page.text.partition('<figure class="chart parallel">')
    parallel, _, _ = behind.partition("</figure>")
    assert parallel.count('<polyline class="line') == 6
    assert visitor.get(named("study", "none")).status == 404


def test_an_experiment_shows_parameters_metrics_and_curves(
    filled: Filled, visitor: Visitor
) -> None:
    page = visitor.get("/console/experiments")
    assert "titanic-runs" in page
    page = visitor.get(named("experiment", filled.experiment))
    for words in ("rate-0-01", "learning_rate", "0.1000", "0.9000", "Complete"):
        assert words in page
    page = visitor.get(named("board", filled.board))
    assert "loss, to step 5" in page and page.text.count('<polyline class="line') == 2


def test_models_of_both_clouds(filled: Filled, visitor: Visitor) -> None:
    page = visitor.get("/console/models")
    assert "version 1 (default)" in page and "SageMaker models" in page
    query = urlencode({"kind": "vertex-models", "name": filled.model})
    assert "servingContainer" in visitor.get(f"/console/resource?{query}") or (
        "containerSpec" in visitor.get(f"/console/resource?{query}")
    )
    for kind, name in (("vertex-models", "none"), ("none", filled.model), ("job", filled.job)):
        query = urlencode({"kind": kind, "name": name})
        assert visitor.get(f"/console/resource?{query}").status == 404


def test_nothing_yet_says_what_to_do(filled: Filled, visitor: Visitor) -> None:
    for page in ("batches", "datasets"):
        assert 'class="empty"' in visitor.get(f"/console/{page}").text


def test_a_dataset_shows_the_statistics_of_its_columns(filled: Filled, visitor: Visitor) -> None:
    from google.cloud import aiplatform, storage

    uri = f"gs://{BUCKET}/ages.csv"
    text = f'Name,Age\n"{HOSTILE[:20]}",22\n"{HOSTILE[:20]}",38\n'
    storage.Client().bucket(BUCKET).blob("ages.csv").upload_from_string(text)
    made = aiplatform.TabularDataset.create(display_name="passengers", gcs_source=uri)
    query = urlencode({"kind": "datasets", "name": made.resource_name})
    page = visitor.get(f"/console/resource?{query}")
    assert "2 rows" in page and HOSTILE[:20] in page and HOSTILE[:20] not in page.text
    assert re.search(r"Age</th><td>number</td><td>0</td><td>2</td><td>30<", page.text)
    made.delete()
    gone = aiplatform.TabularDataset.create(display_name="gone", gcs_source=f"gs://{BUCKET}/no.csv")
    query = urlencode({"kind": "datasets", "name": gone.resource_name})
    assert "There are no statistics" in visitor.get(f"/console/resource?{query}")
    gone.delete()
    storage.Client().bucket(BUCKET).blob("ages.csv").delete()


def test_the_bill_says_what_still_costs_and_what_ends_it(filled: Filled, visitor: Visitor) -> None:
    page = visitor.get("/console/bill")
    assert "Still costs money" in page and "endpoint" in page and "<code>" in page.text
    assert "0.1095" in page and "n1-standard-2" in page
    assert "custom job" in page and "bucket gs://filled-gs" in page


def test_an_endpoint_shows_traffic_and_is_emptied_by_its_button(
    filled: Filled, visitor: Visitor
) -> None:
    assert "Serving" in visitor.get("/console/endpoints")
    address = named("endpoint", filled.endpoint.resource_name)
    page = visitor.get(address)
    assert "100 %" in page and "1 of 1 to 1" in page and "blue" in page
    assert "has deployed models" in visitor.press(address, "Delete the endpoint")
    assert "No model is deployed here" in visitor.press(address, "Undeploy it")
    visitor.press(address, "Delete the endpoint")
    assert visitor.get(address).status == 404
    assert "No endpoint." in visitor.get("/console/endpoints")


ODD = ("", "x", "..", "9" * 5000, "%00", "%FF", "%2e%2e%2f", "a/b", "'\"<b>", "projects/1/x", "-1")
QUERIES = (
    "jobs?page={}",
    "jobs?q={}",
    "jobs?state={}",
    "jobs/{}",
    "study?name={}",
    "experiment?name={}",
    "board?name={}",
    "resource?kind=vertex-models&name={}",
    "endpoint?name={}",
    "at/{}",
    "pipeline?name={}",
    "bucket?scheme=gs&name={}",
    "bucket?scheme=gs&name=filled-gs&prefix={}",
    "bucket?scheme=gs&name=filled-gs&after={}",
    "object?scheme=gs&name=filled-gs&key={}",
    "content?scheme=gs&name=filled-gs&key={}",
    "search?q={}",
    "endpoint-log?replica={}",
    "{}",
    "static/{}",
    "jobs/JOB/log?replica={}",
    "jobs/JOB/log?replica=workerpool0-0&from={}",
    "jobs/JOB/log?replica=workerpool0-0&before={}",
    "jobs/JOB?replica={}",
)


@pytest.mark.parametrize("query", QUERIES)
def test_no_odd_address_breaks_a_page(filled: Filled, visitor: Visitor, query: str) -> None:
    for odd in ODD:
        path = query.format(odd.replace("<", "%3C").replace('"', "%22")).replace("JOB", filled.job)
        answer = visitor.get(f"/console/{path}")
        assert answer.status in (200, 303, 404), (path[:80], answer.status, answer.text[:300])
        assert "<b>'" not in answer.text and "'\"<b>" not in answer.text


PAGES = ("", "jobs", "studies", "models", "endpoints", "experiments", "buckets", "bill", "search")


def test_all_links_are_relative_so_that_a_proxy_may_put_a_prefix_before_them(
    filled: Filled, visitor: Visitor
) -> None:
    deep = [f"jobs/{filled.job}", f"bucket?scheme=gs&name={BUCKET}", f"at/{filled.job}", "a/b/c"]
    for page in (*PAGES, *deep):
        answer = visitor.get(f"/console/{page}")
        links = re.findall(r'(?:href|src|action)="([^"]*)"', answer.text)
        links += filter(None, [answer.headers.get("location")])
        assert links, page
        for link in links:
            assert not link.startswith("/") and "//" not in link, link
            path = urljoin(f"/user/ada/proxy/1/console/{page}", unescape(link))
            assert path.startswith("/user/ada/proxy/1/console/"), link
            if "/static/" in path:
                own = path.removeprefix("/user/ada/proxy/1")
                assert visitor.get(own).status == 200, link


def of_object(page: str, key: str, **more: str) -> str:
    return f"/console/{page}?" + urlencode({"scheme": "gs", "name": BUCKET, "key": key, **more})


def test_buckets_are_browsed_by_folder(filled: Filled, visitor: Visitor) -> None:
    page = visitor.get("/console/buckets")
    assert BUCKET in page and S3_BUCKET in page
    page = visitor.get(f"/console/bucket?scheme=gs&name={BUCKET}")
    assert "data/" in page and "titanic.csv" not in page
    assert HOSTILE in page and "<img src=x" not in page.text
    assert "titanic.csv" in visitor.get(f"/console/bucket?scheme=gs&name={BUCKET}&prefix=data/")
    for bad in ("scheme=gs&name=none", "scheme=file&name=/etc", "scheme=gs&name=../records.sqlite"):
        assert visitor.get(f"/console/bucket?{bad}").status == 404


PREVIEWS = {
    "data/titanic.csv": "<td>Owen, &lt;b&gt;Mr&lt;/b&gt;</td>",
    "data/train.npz": "712 × 7, float32",
    "metrics.json": "&#34;accuracy&#34;: 0.82",
    "notes.txt": "loss fell &lt;script&gt;",
    "model.bin": "There is no preview of such files",
    "pictures/pixel.png": '<img class="picture" src="content?',
    "not-a-picture.png": "&lt;html&gt;",
    HOSTILE: "&lt;script&gt;alert(document.cookie)",
}


@pytest.mark.parametrize("key", PREVIEWS)
def test_a_file_is_shown_and_never_run(filled: Filled, visitor: Visitor, key: str) -> None:
    page = visitor.get(of_object("object", key)).text
    assert PREVIEWS[key] in page
    assert "<script>alert" not in page and "<img src=x" not in page


@pytest.mark.parametrize("key", ["not-a-picture.png", HOSTILE, "notes.txt", "data/titanic.csv"])
def test_what_is_no_picture_is_kept_as_a_file(filled: Filled, visitor: Visitor, key: str) -> None:
    answer = visitor.get(of_object("content", key))
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"].startswith("attachment;")
    assert "default-src 'self'" in answer.headers["content-security-policy"]


def test_a_picture_is_sent_as_what_it_is(filled: Filled, visitor: Visitor) -> None:
    answer = visitor.get(of_object("content", "pictures/pixel.png"))
    assert answer.headers["content-type"] == "image/png"
    assert int(answer.headers["content-length"]) == len(PIXEL)
    assert visitor.get(of_object("content", "none")).status == 404


def test_the_search_finds_everything_by_its_name(filled: Filled, visitor: Visitor) -> None:
    page = visitor.get("/console/search?q=TITANIC")
    for title in ("Jobs", "Tuning", "Vertex AI Model Registry", "Experiments", "Files"):
        assert f"<h2>{title}</h2>" in page.text
    assert HOSTILE in visitor.get("/console/search?q=onerror")
    assert "Nothing has this in its name" in visitor.get("/console/search?q=zzz")
    assert "Type a part of a name" in visitor.get("/console/search?q=")


def test_a_failure_is_rehearsed_by_a_button_and_taken_back(
    filled: Filled, visitor: Visitor
) -> None:
    page = visitor.press("/console/failures", "Rehearse no quota")
    assert "the next job" in page and "once" in page
    forged = {"failure": "no quota", "form_token": "0"}
    assert visitor.post("/console/failures/rehearse", forged).status == 403
    page = visitor.press("/console/failures", "Cancel all")
    assert 'class="empty"' in page.text


def test_what_the_reader_made_comes_before_what_sdks_upload(
    filled: Filled, visitor: Visitor
) -> None:
    page = visitor.get(f"/console/bucket?scheme=gs&name={BUCKET}").text
    names = re.findall(r'<th scope="row"><a[^>]+>([^<]+)</a>', page)
    of_sdks = [name.startswith("aiplatform-") for name in names]
    assert any(of_sdks) and of_sdks == sorted(of_sdks)
