"""Which experiment and which TensorBoard belong to a job, and the way back.

The service names both by the id of the job, or of its study, if the job's request has a
`tensorboard`; a request with an `experiment` names the context itself.
"""

from __future__ import annotations

import math
from urllib.parse import urlencode

from local_cloud.console.records import jobs
from local_cloud.console.site import words
from local_cloud.platform import Platform
from local_cloud.store.records import Records

CONTEXTS, BOARDS, RUNS = "vertex-contexts", "vertex-experiments", "vertex-runs"


def of_job(records: Records, shown: jobs.Shown) -> dict[str, str]:
    """Return the pages of a job's experiment and TensorBoard, by what they are."""
    pages = {}
    owner = words.short(shown.study) or shown.job.id
    experiment = words.short(shown.request.get("experiment", "")) or owner
    for name, document in records.list(CONTEXTS):
        if words.short(name) == experiment and document.get("schemaTitle") == "system.Experiment":
            pages["Experiment"] = link("experiment", name)
    for name, _ in records.list(BOARDS):
        if words.short(name) in (owner, experiment):
            pages["TensorBoard"] = link("board", name)
    return pages


def board_of(records: Records, experiment: str) -> str:
    """Return the name of an experiment's TensorBoard; "" if it has none."""
    wanted = words.short(experiment)
    return next((name for name, _ in records.list(BOARDS) if words.short(name) == wanted), "")


def experiment_of(records: Records, board: str) -> str:
    """Return the context of a TensorBoard's experiment; "" if it has none."""
    wanted = words.short(board)
    return next((name for name, _ in records.list(CONTEXTS) if words.short(name) == wanted), "")


def owner_of(platform: Platform, name: str) -> str:
    """Return the page of the job or study for which a service made this; "" if it was neither."""
    wanted = words.short(name)
    for study in platform.studies.all():
        if words.short(study.id) == wanted:
            return link("study", study.id)
    return f"jobs/{wanted}" if jobs.find(platform, wanted) else ""


def jobs_of_runs(platform: Platform) -> dict[str, str]:
    """Return the page of the job that each run of an experiment is, by the run's id."""
    pages = {}
    for job in platform.engine.jobs():
        if run := jobs.describe(platform, job).request.get("experimentRun"):
            pages[words.short(str(run))] = f"jobs/{job.id}"
    return pages


def last_values(records: Records, run: str) -> dict[str, float]:
    """Return the last value of each tag of a TensorBoard's run."""
    values = {}
    for series, one in records.list("vertex-timeSeries", f"{run}/"):
        points = [
            (float(point.get("step", 0)), float(point["scalar"].get("value", 0.0)))
            for _, point in records.list("vertex-points", f"{series}/")
            if "scalar" in point
        ]
        finite = [point for point in points if math.isfinite(point[1])]
        if finite:
            values[str(one.get("displayName", ""))] = max(finite)[1]
    return values


def link(page: str, name: str) -> str:
    """Return the page of what has this name, relative to the console's root."""
    return f"{page}?" + urlencode({"name": name})
