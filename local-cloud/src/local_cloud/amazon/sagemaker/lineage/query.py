"""QueryLineage: what led to an entity, and what came of it.

Sources: the API reference of QueryLineage and QueryFilters, and what the system tests of the SDK's
version 2 expect of a query's vertices and edges (both read 2026).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from local_cloud.amazon.protocols.errors import not_implemented
from local_cloud.amazon.sagemaker.lineage.associations import DESTINATION, SOURCE, Associations
from local_cloud.amazon.sagemaker.lineage.vertices import Vertex, Vertices
from local_cloud.amazon.sagemaker.resources import listing
from local_cloud.amazon.sagemaker.resources.request import invalid
from local_cloud.json_types import Json

DEEPEST, MOST = (
    10,
    50,
)  # MaxDepth and MaxResults, where they are not given: the most that they can be
# Which end of an association a step leaves, and at which it arrives.
DIRECTIONS = {
    "Ascendants": [(DESTINATION, SOURCE)],
    "Descendants": [(SOURCE, DESTINATION)],
    "Both": [(DESTINATION, SOURCE), (SOURCE, DESTINATION)],
}


class LineageQuery:
    """Queries of the graph of associations."""

    def __init__(self, associations: Associations, vertices: Vertices) -> None:
        """Take the two ends of the graph: its edges and its vertices."""
        self._associations, self._vertices = associations, vertices

    def query(self, params: Json) -> Json:
        """QueryLineage."""
        if not params.get("StartArns"):
            raise not_implemented("QueryLineage without StartArns: name the entity to start from")
        if params.get("MaxResults", MOST) < 1 or params.get("MaxDepth", DEEPEST) < 1:
            raise invalid("MaxResults and MaxDepth must be 1 or more")
        (start,) = params["StartArns"]
        start = self._vertices.get(start).arn
        known = self._associations.all()
        filters, depth = params.get("Filters", {}), params.get("MaxDepth", DEEPEST)
        arns: list[str] = []  # of what is returned, the nearest first
        edges: list[Json] = []
        for leaving, arriving in DIRECTIONS[params.get("Direction", "Both")]:
            steps = walk(start, known, depth, leaving=leaving, arriving=arriving)
            reached = dict.fromkeys(step[arriving] for step in steps if step[arriving] != start)
            matched = [arn for arn in reached if _matches(self._vertices.get(arn), filters)]
            if params.get("IncludeEdges"):
                path = on_path(matched, steps, leaving=leaving, arriving=arriving)
                edges += [step for step in path if step not in edges]
                matched = [start, *(step[arriving] for step in path)]
            arns += matched
        return self._page(list(dict.fromkeys(arns)), edges, params)

    def _page(self, arns: Sequence[str], edges: Iterable[Json], params: Json) -> Json:
        """Return a page of the vertices, and the edges to those of this and earlier pages."""
        vertices = [self._vertices.get(arn).describe() for arn in arns]
        page = listing.page(vertices, {"MaxResults": MOST} | params, "Vertices")
        here = {vertex["Arn"] for vertex in page["Vertices"]}
        place = {arn: index for index, arn in enumerate(arns)}
        shown = (SOURCE, DESTINATION, "AssociationType")
        page["Edges"] = [
            {field: edge[field] for field in shown if field in edge}
            for edge in edges
            if max(edge[SOURCE], edge[DESTINATION], key=place.__getitem__) in here
        ]
        return page


def walk(
    start: str, associations: Sequence[Json], depth: int, *, leaving: str, arriving: str
) -> list[Json]:
    """Return the associations within so many steps from the start, the nearest first."""
    passed: list[Json] = []
    seen, border = {start}, {start}
    for _ in range(depth):
        steps = [one for one in associations if one[leaving] in border]
        passed += steps
        border = {one[arriving] for one in steps} - seen
        if not border:
            break
        seen |= border
    return passed


def on_path(
    wanted: Iterable[str], steps: Sequence[Json], *, leaving: str, arriving: str
) -> list[Json]:
    """Return those of the steps that lead to something wanted."""
    leads, size = set(wanted), -1
    while len(leads) != size:
        size = len(leads)
        leads |= {step[leaving] for step in steps if step[arriving] in leads}
    return [step for step in steps if step[arriving] in leads]


def _matches(vertex: Vertex, filters: Json) -> bool:
    """Say whether the filters let a vertex through; of its properties, one that fits is enough."""
    document, shown = vertex.document, vertex.describe()
    properties = filters.get("Properties")
    return (
        shown["Type"] in filters.get("Types", [shown["Type"]])
        and vertex.lineage_type in filters.get("LineageTypes", [vertex.lineage_type])
        and _is_between(document["CreationTime"], filters, "Created")
        and _is_between(document["LastModifiedTime"], filters, "Modified")
        and (not properties or bool(properties.items() & document.get("Properties", {}).items()))
    )


def _is_between(moment: float, filters: Json, word: str) -> bool:
    since, until = filters.get(f"{word}After", -math.inf), filters.get(f"{word}Before", math.inf)
    return bool(since <= moment <= until)
