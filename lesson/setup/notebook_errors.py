"""One sentence instead of a traceback, for three errors that a traceback does not explain.

- The Vertex AI SDK's own `job.run()` is interrupted: its traceback has hundreds of
  lines, and none says that the job continues to run.
- A cell is run first after a restart of the kernel: a name that an earlier cell defines is missing.
- The answer to an exercise is a text without quotes: `letters = BCA`.

All other errors are shown as ever.
"""

from __future__ import annotations

import ast
import functools
import json
import linecache
import os
import re
import sys
import traceback
from pathlib import Path
from types import TracebackType
from typing import Any

from lesson.jobs.sending import interruption, still_runs

# The SDK's classes of jobs. SageMaker's SDK never shows an interrupt: AWS_helpers/interrupts.py.
JOBS = {
    "google.cloud.aiplatform.training_jobs": "_TrainingJob",
    "google.cloud.aiplatform.jobs": "_RunnableJob",
}


def install() -> None:
    """Have this process's IPython shell show these errors; without a shell, do nothing."""
    if "IPython" not in sys.modules:
        return
    from IPython.core.getipython import get_ipython

    if (shell := get_ipython()) is not None:
        load_ipython_extension(shell)


def load_ipython_extension(shell: Any) -> None:
    """Install it; a kernel does so when it starts, because its configuration names this module.

    IPython's own set_custom_exc() would not do: it counts a cell whose error it handles as run
    well, and "Run All" would continue below it.
    """
    if "showtraceback" in vars(shell):
        return  # installed already
    shown = shell.showtraceback

    @functools.wraps(shown)
    def showtraceback(*arguments: Any, **more: Any) -> None:
        explain(sys.exc_info()[1])
        shown(*arguments, **more)

    shell.showtraceback = showtraceback


def explain(error: BaseException | None) -> None:
    """Give an error a sentence that IPython shows instead of its traceback, if there is one."""
    sentence = ""
    if isinstance(error, KeyboardInterrupt):
        sentence = of_interrupt(error.__traceback__)
    elif isinstance(error, NameError):
        name, trace = error.name or "", error.__traceback__
        sentence = of_answer_without_quotes(name, trace) or of_missing_name(name, trace)
    if sentence:
        lines = [f"{type(error).__name__}: {sentence}"]
        vars(error)["_render_traceback_"] = lambda: lines


def of_interrupt(trace: TracebackType | None) -> str:
    """Return what to say where an SDK was waiting for a job; "" if none was."""
    job = _job(trace)
    if job is None:
        return ""
    try:
        return still_runs(job.display_name, "GCP_helpers")
    except RuntimeError:  # the SDK has not been told yet that the job exists
        return str(interruption())


def _job(trace: TracebackType | None) -> Any:
    """Return the job of the SDK whose method was running; None if there is none."""
    frames = [frame for frame, _ in traceback.walk_tb(trace)]
    for module, name in JOBS.items():
        if module in sys.modules:
            kind = vars(sys.modules[module])[name]
            for frame in frames:
                if isinstance(job := frame.f_locals.get("self"), kind):
                    return job
    return None


def of_answer_without_quotes(name: str, trace: TracebackType | None) -> str:
    """Return what to say of `letters = BCA` in the cell of an exercise; "" of any other line."""
    frames = [*traceback.walk_tb(trace)]
    if not frames:
        return ""
    frame, number = frames[-1]
    cell = linecache.getlines(frame.f_code.co_filename)
    line = "".join(cell[number - 1 : number])
    is_answer = re.fullmatch(rf"\w+ *= *{re.escape(name)} *(#.*)?\n?", line)
    if not is_answer or not any(".check(" in each for each in cell):
        return ""
    return f'{name} is not defined. If it is your answer, put it in quotes: "{name}"'


def of_missing_name(name: str, trace: TracebackType | None) -> str:
    """Return which cell to run, if a name is missing that another cell of the notebook defines."""
    frames = [frame for frame, _ in traceback.walk_tb(trace)]
    if not frames or frames[-1].f_globals.get("__name__") != "__main__":
        return ""  # not in a cell, nor in a function that a cell defines
    for source in _cells_of_this_notebook():
        if name in _names_defined(source):
            first = next(line for line in source.splitlines() if line and line[0] != "#")
            return (
                f"{name} is not defined. Did the kernel restart? Run the notebook's first code "
                f"cell, then the cells down to the one that begins with\n    {first}\n"
                "(to run all cells above this one: Run > Run All Above Selected Cell)"
            )
    return ""


def _cells_of_this_notebook() -> list[str]:
    """Return the sources of its code cells, as last saved; none where the notebook is not known."""
    path = Path(os.environ.get("JPY_SESSION_NAME", ""))  # set by Jupyter's server
    try:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    except (OSError, ValueError, KeyError):
        return []
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


def _names_defined(source: str) -> set[str]:
    """Return the names that a cell defines; none if it cannot be read."""
    from IPython.core.inputtransformer2 import TransformerManager

    reader = TransformerManager()  # type: ignore[no-untyped-call]
    try:
        nodes = list(ast.walk(ast.parse(reader.transform_cell(source))))
    except SyntaxError:
        return set()
    names = {
        node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    for node in nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            names |= {(each.asname or each.name).partition(".")[0] for each in node.names}
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
    return names
