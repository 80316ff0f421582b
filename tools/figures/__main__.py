"""Write the diagrams: `python -m tools.figures` writes, `--check` only looks."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tools.figures import (
    architecture,
    baselines,
    batch_scoring,
    channels,
    checkpoint_life,
    commands,
    containers,
    data_split,
    endpoint,
    gcs_names,
    job_states,
    layers,
    one_step,
    own_machine,
    package,
    pipeline,
    replicas,
    study,
    three_places,
    what_ends,
    where_jobs_fail,
)
from tools.folder import ROOT

FOLDER = Path("episodes") / "fig"
FIGURES = {
    "architecture.svg": architecture.draw,
    "baselines.svg": baselines.draw,
    "batch-scoring.svg": batch_scoring.draw,
    "channels.svg": channels.draw,
    "checkpoint-life.svg": checkpoint_life.draw,
    "commands.svg": commands.draw,
    "containers.svg": containers.draw,
    "data-split.svg": data_split.draw,
    "endpoint.svg": endpoint.draw,
    "gcs-names.svg": gcs_names.draw,
    "job-states.svg": job_states.draw,
    "replicas.svg": replicas.draw,
    "layers.svg": layers.draw,
    "one-step.svg": one_step.draw,
    "own-machine.svg": own_machine.draw,
    "package.svg": package.draw,
    "pipeline.svg": pipeline.draw,
    "study.svg": study.draw,
    "three-places.svg": three_places.draw,
    "what-ends.svg": what_ends.draw,
    "where-jobs-fail.svg": where_jobs_fail.draw,
}


def build(root: Path) -> dict[Path, str]:
    """Every picture as text, by path."""
    return {root / FOLDER / name: draw().svg() for name, draw in FIGURES.items()}


def check(root: Path) -> list[str]:
    """One sentence for each picture that is missing or not what the source draws."""
    return [
        f"{path.relative_to(root)} is not what tools/figures draws; run `make notebooks`"
        for path, text in build(root).items()
        if not path.is_file() or path.read_text(encoding="utf-8") != text
    ]


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return its exit code (1: a picture is stale)."""
    parser = argparse.ArgumentParser(prog="python -m tools.figures", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; name what is stale")
    parser.add_argument("root", nargs="?", type=Path, default=ROOT, help="the lesson's folder")
    options = parser.parse_args(arguments)
    if options.check:
        messages = check(options.root)
        print("\n".join(messages) or "the diagrams are up to date")
        return 1 if messages else 0
    for path, text in build(options.root).items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
