"""AutoML of pictures, driven by the real SDK: imported, trained on, predicted and explained."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from google.api_core import exceptions
from google.cloud import storage

from tests.automl.shapes import shape
from tests.google.vertex.support import BUCKET, IMAGE, Script

COUNT = 60  # pictures


def put(name: str, content: str | bytes) -> str:
    storage.Client().bucket(BUCKET).blob(f"shapes/{name}").upload_from_string(content)
    return f"gs://{BUCKET}/shapes/{name}"


@pytest.fixture(scope="module")
def uris(bucket: str) -> list[tuple[str, str, str]]:
    """The URI, colour and form of each picture."""
    kinds = [(colour, form) for colour in ("red", "blue") for form in ("circle", "square")]
    return [
        (put(f"{number}.png", shape(*kinds[number % 4], number)), *kinds[number % 4])
        for number in range(COUNT)
    ]


def create(aiplatform: ModuleType, kind: str, text: str, name: str = "list.csv") -> Any:
    schema = getattr(aiplatform.schema.dataset.ioformat.image, f"{kind}_label_classification")
    return aiplatform.ImageDataset.create(
        "shapes", gcs_source=put(name, text), import_schema_uri=schema
    )


@pytest.fixture(scope="module")
def dataset(aiplatform: ModuleType, uris: list[tuple[str, str, str]]) -> Iterator[Any]:
    uses = ["test" if place % 5 == 0 else "validation" if place % 5 == 1 else "training"
            for place in range(COUNT)]  # fmt: skip
    lines = [f"{use},{uri},{colour}\n" for use, (uri, colour, _) in zip(uses, uris, strict=True)]
    made = create(aiplatform, "single", "".join(lines))
    yield made
    made.delete()


@pytest.fixture(scope="module")
def model(aiplatform: ModuleType, dataset: Any) -> Iterator[Any]:
    job = aiplatform.AutoMLImageTrainingJob("colours", prediction_type="classification")
    made = job.run(dataset, model_display_name="colours", budget_milli_node_hours=24_000)
    yield made
    made.delete()


@pytest.fixture(scope="module")
def endpoint(model: Any) -> Iterator[Any]:
    made = model.deploy()
    yield made
    made.delete(force=True)


def sent(content: bytes) -> dict[str, str]:
    return {"content": base64.b64encode(content).decode()}


def test_pictures_are_imported_with_their_classes_and_exported_again(
    aiplatform: ModuleType, dataset: Any, uris: list[tuple[str, str, str]]
) -> None:
    assert aiplatform.ImageDataset(dataset.name).gca_resource.data_item_count == COUNT
    client = dataset.api_client
    items = list(client.list_data_items(parent=dataset.resource_name))
    assert {item.payload["imageGcsUri"] for item in items} == {uri for uri, _, _ in uris}
    assert {dict(item.labels)["aiplatform.googleapis.com/ml_use"] for item in items} == {
        "training", "validation", "test",
    }  # fmt: skip
    (mark,) = client.list_annotations(parent=items[0].name)
    assert mark.payload["displayName"] in ("red", "blue")
    (file,) = dataset.export_data(f"gs://{BUCKET}/exported/")
    blob = storage.Blob.from_uri(file, storage.Client())
    lines = [json.loads(line) for line in blob.download_as_text().splitlines()]
    assert len(lines) == COUNT and lines[0]["classificationAnnotation"]["displayName"]
    again = create(aiplatform, "single", blob.download_as_text(), "list.jsonl")
    assert aiplatform.ImageDataset(again.name).gca_resource.data_item_count == COUNT
    again.delete()


def test_a_network_learns_the_classes(model: Any) -> None:
    evaluation = model.get_model_evaluation().metrics
    assert evaluation["auPrc"] > 0.9
    matrix = evaluation["confusionMatrix"]
    assert [spec["displayName"] for spec in matrix["annotationSpecs"]] == ["blue", "red"]
    assert sum(map(sum, matrix["rows"])) == COUNT / 5


def test_a_picture_is_predicted_and_its_regions_explain_that(endpoint: Any) -> None:
    picture = sent(shape("red", "circle", 900))
    (answer,) = endpoint.predict([picture]).predictions
    assert answer["displayNames"] == ["red", "blue"] and len(answer["ids"]) == 2
    assert answer["confidences"][0] > 0.5
    settings = {"confidenceThreshold": 0.5, "maxPredictions": 5}
    (best,) = endpoint.predict([picture], parameters=settings).predictions
    assert best["displayNames"] == ["red"]
    (explained,) = endpoint.explain([picture]).explanations[0].attributions
    assert explained.output_display_name == "red"
    assert explained.instance_output_value == pytest.approx(answer["confidences"][0], abs=1e-6)
    attributions = np.array(explained.feature_attributions["content"])
    apart = explained.instance_output_value - explained.baseline_output_value
    assert attributions.shape == (8, 8)
    assert attributions.sum() == pytest.approx(apart, abs=1e-3)


def test_a_file_of_pictures_is_scored(model: Any, uris: list[tuple[str, str, str]]) -> None:
    """Each line names a picture in a bucket; one that is not there is an error of its own."""
    lines = [{"content": uri, "mimeType": "image/png"} for uri, _, _ in uris[:10]]
    lines.append({"content": f"gs://{BUCKET}/nothing.png", "mimeType": "image/png"})
    text = "".join(json.dumps(line) + "\n" for line in lines)
    storage.Client().bucket(BUCKET).blob("pictures.jsonl").upload_from_string(text)
    job = model.batch_predict(
        "pictures", f"gs://{BUCKET}/pictures.jsonl", gcs_destination_prefix=f"gs://{BUCKET}/scored"
    )
    assert job.completion_stats.successful_count == 10
    assert job.completion_stats.failed_count == 1
    (blob,) = [each for each in job.iter_outputs() if "results" in each.name]
    lines_scored = [json.loads(line) for line in blob.download_as_text().splitlines()]
    assert [each["instance"] for each in lines_scored] == lines[:10]  # as they were read
    best = [each["prediction"]["displayNames"][0] for each in lines_scored]
    assert sum(each == colour for each, (_, colour, _) in zip(best, uris, strict=False)) >= 9


def test_a_hostile_instance_is_refused(endpoint: Any) -> None:
    whole = shape("red", "circle", 1)
    wrong = [(sent(whole[:100]), "not a whole picture"), ({"content": "§"}, "not base64")]
    wrong += [(sent(b"no picture"), "not a whole picture"), ({"content": None}, "an instance is")]
    wrong += [({"content": "gs://bucket/name"}, "not implemented in the local cloud")]
    for instance, words in wrong:
        with pytest.raises(exceptions.BadRequest, match=words):
            endpoint.predict([instance])


@pytest.mark.slow
def test_several_labels_of_a_picture_are_learned(
    aiplatform: ModuleType, uris: list[tuple[str, str, str]]
) -> None:
    lines = [f"{uri},{colour},{form}\n" for uri, colour, form in uris]
    dataset = create(aiplatform, "multi", "".join(lines))
    job = aiplatform.AutoMLImageTrainingJob("both", multi_label=True)
    model = job.run(
        dataset, budget_milli_node_hours=24_000, training_fraction_split=0.6,
        validation_fraction_split=0.2, test_fraction_split=0.2,
    )  # fmt: skip
    assert model.get_model_evaluation().metrics["auPrc"] > 0.6
    made = model.deploy()
    (answer,) = made.predict([sent(shape("blue", "square", 901))]).predictions
    assert sorted(answer["displayNames"]) == ["blue", "circle", "red", "square"]
    made.delete(force=True)
    model.delete()
    dataset.delete()


# A custom job that counts the lines of each part of its dataset.
COUNTED = """
import json, os
from google.cloud import storage
found = {"format": os.environ["AIP_DATA_FORMAT"]}
for part in ("TRAINING", "VALIDATION", "TEST"):
    bucket, _, place = os.environ[f"AIP_{part}_DATA_URI"].removeprefix("gs://").partition("/")
    blobs = storage.Client().list_blobs(bucket, prefix=place.split("*")[0])
    lines = [json.loads(line) for blob in blobs for line in blob.download_as_text().splitlines()]
    found[part] = sorted({line["classificationAnnotation"]["displayName"] for line in lines})
    found[part].append(len(lines))
storage.Client().bucket(bucket).blob("counted.json").upload_from_string(json.dumps(found))
"""


def test_a_custom_job_gets_the_parts_of_the_list(
    aiplatform: ModuleType, dataset: Any, script: Script
) -> None:
    job = aiplatform.CustomTrainingJob("count", script(COUNTED), IMAGE)
    schema = aiplatform.schema.dataset.annotation.image.classification
    job.run(dataset, annotation_schema_uri=schema, machine_type="n1-standard-4")
    blob = storage.Client().bucket(BUCKET).blob("counted.json")
    both = ["blue", "red"]
    assert json.loads(blob.download_as_text()) == {
        "format": "jsonl",
        "TRAINING": [*both, 36], "VALIDATION": [*both, 12], "TEST": [*both, 12],
    }  # fmt: skip


def test_lists_that_are_wrong_name_the_line_and_import_nothing(
    aiplatform: ModuleType, dataset: Any, uris: list[tuple[str, str, str]]
) -> None:
    uri = uris[0][0]
    wrong = [
        (f"{uri},red\ngs://{BUCKET}/shapes/none.png,red\n", "line 2: "),
        (f"{uri},red,blue\n", "line 1: 2 labels"),
        ("/etc/passwd,red\n", "line 1: '/etc/passwd' is neither"),
        (f"gs://{BUCKET}/../secret.png,red\n", "line 1: "),
        ("training\n", "line 1: 'training' is neither"),
    ]
    schema = aiplatform.schema.dataset.ioformat.image
    for text, words in wrong:
        with pytest.raises(exceptions.BadRequest, match=words):
            dataset.import_data(put("wrong.csv", text), schema.single_label_classification)
    with pytest.raises(exceptions.BadRequest, match="an object with imageGcsUri"):
        dataset.import_data(put("wrong.jsonl", "[]\n"), schema.single_label_classification)
    with pytest.raises(exceptions.MethodNotImplemented, match="image_bounding_box"):
        dataset.import_data(uri, schema.bounding_box)
    assert aiplatform.ImageDataset(dataset.name).gca_resource.data_item_count == COUNT


def test_a_broken_picture_fails_the_training_by_its_name(
    aiplatform: ModuleType, uris: list[tuple[str, str, str]]
) -> None:
    broken = put("broken.png", shape("red", "circle", 1)[:90])
    lines = [f"{uri},{colour}\n" for uri, colour, _ in uris[:20]]
    dataset = create(aiplatform, "single", "".join([*lines, f"{broken},red\n"]))
    job = aiplatform.AutoMLImageTrainingJob("broken")
    with pytest.raises(RuntimeError, match=r"shapes/broken\.png is not a whole picture"):
        job.run(dataset, budget_milli_node_hours=24_000)
    dataset.delete()


def test_what_is_not_here_is_refused_by_name(aiplatform: ModuleType, dataset: Any) -> None:
    missing = exceptions.MethodNotImplemented
    detection = aiplatform.AutoMLImageTrainingJob("boxes", prediction_type="object_detection")
    with pytest.raises(missing, match="automl_image_object_detection"):
        detection.run(dataset)
    mobile = aiplatform.AutoMLImageTrainingJob("mobile", model_type="MOBILE_TF_VERSATILE_1")
    with pytest.raises(missing, match="the modelType 'MOBILE_TF_VERSATILE_1'"):
        mobile.run(dataset)
    table = aiplatform.AutoMLTabularTrainingJob(
        "table", optimization_prediction_type="regression", column_specs={"colour": "auto"}
    )
    with pytest.raises(exceptions.BadRequest, match="is not a dataset of the kind"):
        table.run(dataset, "size")
