"""On a hub, make the environment, its kernel and copies of the notebooks: `make hub` runs this.

`python3 -m tools.lab.hub` does the same without make, with any Python from 3.8. A hub is a
JupyterLab that somebody else has started, such as Vertex AI Workbench, SageMaker Studio, or a
JupyterHub. Its list of kernels gets a copy of the description of the lesson's kernel, which the
notebooks name.
"""

from __future__ import annotations

import subprocess
import sys

from tools.environment.kernel import KERNEL_FOLDER
from tools.environment.make import LOCK, ROOT
from tools.environment.make import main as make

VENV = ROOT / ".venv"
NEXT = """\
Now open {work} in the JupyterLab of this hub, and begin with start-here.md. If a notebook does not
find its kernel, reload the page."""


def main() -> None:
    """Make all three, unless they are there."""
    make([str(VENV), "-r", str(LOCK)])
    python = VENV / "bin" / "python"
    for words in (
        ["tools.lab.workbooks"],
        ["jupyter", "kernelspec", "install", "--user", str(VENV / KERNEL_FOLDER)],
        ["lesson.setup.places"],
    ):
        done = subprocess.run([str(python), "-m", *words], cwd=str(ROOT))
        if done.returncode:
            sys.exit(done.returncode)
    print(NEXT.format(work=ROOT / "work"))


if __name__ == "__main__":
    main()
