"""Contexts, actions, artifacts, associations and queries, by boto3 and by version 3 of the SDK."""

from __future__ import annotations

import itertools
import time
import warnings
from types import SimpleNamespace
from typing import Any

import pytest

from local_cloud.client.control import Status

NUMBERS = itertools.count(1)
Graph = dict[str, str]


@pytest.fixture(scope="module")
def sdk(cloud: Status) -> SimpleNamespace:
    """The client and the SDK's classes."""
    with warnings.catch_warnings(action="ignore"):  # the SDK warns of its own modules
        import boto3
        from botocore.exceptions import ClientError
        from sagemaker.core import lineage, resources, shapes
        from sagemaker.core.helper.session_helper import Session

    return SimpleNamespace(
        client=boto3.client("sagemaker"),
        ClientError=ClientError,
        lineage=lineage,
        resources=resources,
        shapes=shapes,
        session=Session(default_bucket="lineage-by-hand"),
    )


@pytest.fixture
def name() -> str:
    """A name that nothing else has."""
    return f"lineage-test-{next(NUMBERS):03}"


@pytest.fixture
def graph(sdk: SimpleNamespace, name: str) -> Graph:
    """Two artifacts that lead to a model, which an action deploys to an endpoint: their ARNs.

    It is the graph of test_graph_visualize in the SDK's own system tests.
    """
    client, made = sdk.client, {}
    for word, kind in (("image", "Image"), ("data", "DataSet"), ("model", "Model")):
        artifact = {
            "ArtifactName": f"{name}-{word}",
            "Source": {"SourceUri": f"s3://{name}/{word}"},
            "ArtifactType": kind,
            "Properties": {"of": word},
        }
        made[word] = client.create_artifact(**artifact)["ArtifactArn"]
    source = {"SourceUri": name}
    action = {"ActionName": name, "ActionType": "ModelDeployment", "Source": source}
    made["deploy"] = client.create_action(**action)["ActionArn"]
    context = {"ContextName": name, "ContextType": "Endpoint", "Source": source}
    made["endpoint"] = client.create_context(**context)["ContextArn"]
    for one, other, kind in (
        ("image", "model", "ContributedTo"),
        ("data", "model", "AssociatedWith"),
        ("model", "deploy", "ContributedTo"),
        ("deploy", "endpoint", "AssociatedWith"),
    ):
        client.add_association(
            SourceArn=made[one], DestinationArn=made[other], AssociationType=kind
        )
    return made


def query(sdk: SimpleNamespace, graph: Graph, start: str, **params: Any) -> set[str]:
    """The names in the graph of a query's vertices."""
    names = {arn: word for word, arn in graph.items()}
    graph_found = sdk.client.query_lineage(StartArns=[graph[start]], **params)
    return {names[vertex["Arn"]] for vertex in graph_found["Vertices"]}


def refused(call: Any, code: str, sentence: str, **params: Any) -> None:
    """Require that a call is refused in these words."""
    from botocore.exceptions import ClientError

    with pytest.raises(ClientError, match=sentence) as refusal:
        call(**params)
    assert refusal.value.response["Error"]["Code"] == code


def test_a_query_walks_in_its_direction(sdk: SimpleNamespace, graph: Graph) -> None:
    assert query(sdk, graph, "model", Direction="Ascendants") == {"image", "data"}
    assert query(sdk, graph, "model", Direction="Descendants") == {"deploy", "endpoint"}
    assert query(sdk, graph, "model") == {"image", "data", "deploy", "endpoint"}
    assert query(sdk, graph, "data") == {"model", "deploy", "endpoint"}
    assert query(sdk, graph, "data", MaxDepth=2) == {"model", "deploy"}


def test_filters_choose_what_is_returned(sdk: SimpleNamespace, graph: Graph) -> None:
    def chosen(**filters: Any) -> set[str]:
        return query(sdk, graph, "endpoint", Direction="Ascendants", Filters=filters)

    assert chosen(Types=["DataSet", "Model"]) == {"data", "model"}
    assert chosen(LineageTypes=["Action"]) == {"deploy"}
    assert chosen(Types=["Model"], LineageTypes=["Action"]) == set()
    assert chosen(Properties={"of": "data", "no": "such"}) == {"data"}
    assert chosen(CreatedAfter=time.time() + 60) == set()
    assert chosen(ModifiedBefore=time.time() + 60) == {"deploy", "model", "data", "image"}


def test_edges_are_those_of_the_path_to_what_was_found(sdk: SimpleNamespace, graph: Graph) -> None:
    graph_found = sdk.client.query_lineage(
        StartArns=[graph["endpoint"]], IncludeEdges=True, Filters={"Types": ["DataSet"]}
    )
    path = ["endpoint", "deploy", "model", "data"]
    assert [vertex["Arn"] for vertex in graph_found["Vertices"]] == [graph[word] for word in path]
    types = [(vertex["Type"], vertex["LineageType"]) for vertex in graph_found["Vertices"][1:]]
    assert types == [("ModelDeployment", "Action"), ("Model", "Artifact"), ("DataSet", "Artifact")]
    wanted = [
        (graph["deploy"], graph["endpoint"], "AssociatedWith"),
        (graph["model"], graph["deploy"], "ContributedTo"),
        (graph["data"], graph["model"], "AssociatedWith"),
    ]
    edges = [tuple(edge.values()) for edge in graph_found["Edges"]]
    assert edges == wanted


def test_a_query_has_pages_and_each_edge_is_on_one(sdk: SimpleNamespace, graph: Graph) -> None:
    wish = {"StartArns": [graph["model"]], "IncludeEdges": True, "MaxResults": 2}
    pages: list[Any] = []
    token: dict[str, str] = {}
    while not pages or token:
        pages.append(sdk.client.query_lineage(**wish, **token))
        token = {name: pages[-1][name] for name in ["NextToken"] if name in pages[-1]}
    assert [len(page["Vertices"]) for page in pages] == [2, 2, 1]
    assert sum(len(page["Edges"]) for page in pages) == 4
    refused(sdk.client.query_lineage, "NotImplemented", "without StartArns")


def test_a_circle_of_associations_comes_to_an_end(sdk: SimpleNamespace, graph: Graph) -> None:
    sdk.client.add_association(SourceArn=graph["endpoint"], DestinationArn=graph["image"])
    assert query(sdk, graph, "model", IncludeEdges=True, Direction="Descendants") == {
        "model",
        "deploy",
        "endpoint",
        "image",
    }


def test_associations_are_listed_by_their_ends(sdk: SimpleNamespace, graph: Graph) -> None:
    def listed(**params: Any) -> list[str]:
        associations = sdk.client.list_associations(**params)["AssociationSummaries"]
        return [one["SourceName"].rpartition("-")[2] for one in associations]

    model = graph["model"]
    assert listed(DestinationArn=model) == ["data", "image"]  # the newest first
    assert listed(DestinationArn=model, SortBy="SourceType", SortOrder="Descending") == [
        "image",
        "data",
    ]
    assert listed(DestinationArn=model, SourceType="Image") == ["image"]
    assert listed(DestinationArn=model, AssociationType="AssociatedWith") == ["data"]
    (associations,) = sdk.client.list_associations(SourceArn=model)["AssociationSummaries"]
    assert associations["DestinationType"] == "ModelDeployment"


def test_what_is_there_is_not_made_again(sdk: SimpleNamespace, graph: Graph, name: str) -> None:
    client, invalid = sdk.client, "ValidationException"
    source = {"SourceUri": f"s3://{name}/data"}
    again = {"ArtifactName": "other", "Source": source, "ArtifactType": "Other"}
    refused(client.create_artifact, invalid, "already exists", **again)
    context = {"ContextName": name, "ContextType": "Other", "Source": source}
    refused(client.create_context, invalid, "must be unique .* already exists", **context)
    ends = {"SourceArn": graph["image"], "DestinationArn": graph["model"]}
    refused(client.add_association, invalid, "must be unique .* already exists", **ends)
    ends["SourceArn"] = f"{graph['image']}0"
    refused(client.add_association, "ResourceNotFound", "does not exist", **ends)


def test_an_entity_goes_after_its_associations(
    sdk: SimpleNamespace, graph: Graph, name: str
) -> None:
    client = sdk.client
    delete, said = client.delete_artifact, "has associations: delete them first"
    refused(delete, "ValidationException", said, ArtifactArn=graph["image"])
    refused(delete, "ValidationException", "Either ArtifactArn or Source must be specified")
    client.delete_association(SourceArn=graph["image"], DestinationArn=graph["model"])
    ends = {"SourceArn": graph["image"], "DestinationArn": graph["model"]}
    refused(client.delete_association, "ResourceNotFound", "does not exist", **ends)
    client.delete_artifact(Source={"SourceUri": f"s3://{name}/image"})
    assert client.list_artifacts(SourceUri=f"s3://{name}/image")["ArtifactSummaries"] == []


def test_properties_are_added_and_removed(sdk: SimpleNamespace, graph: Graph, name: str) -> None:
    sdk.client.update_artifact(
        ArtifactArn=graph["data"], Properties={"rows": "714"}, PropertiesToRemove=["of"]
    )
    artifact = sdk.client.describe_artifact(ArtifactArn=graph["data"])
    assert artifact["Properties"] == {"rows": "714"}
    assert artifact["LastModifiedTime"] > artifact["CreationTime"]
    sdk.client.update_action(ActionName=name, Status="Completed", Description="it answers")
    action = sdk.client.describe_action(ActionName=graph["deploy"])
    assert (action["Status"], action["Description"]) == ("Completed", "it answers")
    many = {f"p{number}": "" for number in range(30)}
    update = sdk.client.update_artifact
    full = {"ArtifactArn": graph["data"], "Properties": many}
    refused(update, "ValidationException", "30 at most", **full)


@pytest.mark.filterwarnings("ignore:The .sagemaker.lineage.*module:DeprecationWarning")
def test_the_lineage_classes_of_the_sdk(sdk: SimpleNamespace, name: str) -> None:
    lineage, session = sdk.lineage, {"sagemaker_session": sdk.session}
    data = lineage.Artifact.create(
        artifact_name=f"{name}-data",
        source_uri=f"s3://{name}/data",
        artifact_type="DataSet",
        tags=[{"Key": "of", "Value": "passengers"}],
        **session,
    )
    context = lineage.Context.create(
        context_name=name, context_type="Study", source_uri=name, properties={"a": "1"}, **session
    )
    lineage.Association.create(
        source_arn=data.artifact_arn,
        destination_arn=context.context_arn,
        association_type="ContributedTo",
        **session,
    )
    context.properties, context.properties_to_remove = {"b": "2"}, ["a"]
    context.save()
    assert lineage.Context.load(name, **session).properties == {"b": "2"}
    rows = lineage.LineageQuery(sdk.session).query(
        start_arns=[context.context_arn],
        query_filter=lineage.LineageFilter(sources=[lineage.LineageSourceEnum.DATASET]),
        direction=lineage.LineageQueryDirectionEnum.ASCENDANTS,
        include_edges=False,
    )
    (vertex,) = rows.vertices
    assert vertex.to_lineage_object().source.source_uri == f"s3://{name}/data"
    table = lineage.LineageTableVisualizer(sdk.session).show(context_arn=context.context_arn)
    assert table.values.tolist() == [
        [f"{name}-data", "Input", "DataSet", "ContributedTo", "artifact"]
    ]
    tags = sdk.client.list_tags(ResourceArn=data.artifact_arn)["Tags"]
    assert tags == [{"Key": "of", "Value": "passengers"}]
    context.delete(disassociate=True)
    data.delete()
    assert sdk.client.list_artifacts(SourceUri=f"s3://{name}/data")["ArtifactSummaries"] == []


def test_the_resources_of_the_sdk(sdk: SimpleNamespace, name: str) -> None:
    source = sdk.shapes.ActionSource(source_uri=name)
    action = sdk.resources.Action.create(action_name=name, source=source, action_type="Review")
    assert action.get_name() == name
    (everything,) = sdk.resources.Action.get_all(source_uri=name)
    assert everything.action_type == "Review"
    action.delete()
    with pytest.raises(sdk.ClientError, match="does not exist"):
        action.refresh()
