"""The kernel of the notebooks: how JupyterLab finds it, and how it finds the lesson."""

from __future__ import annotations

import json
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# The kernel that the notebooks name: on a hub, JupyterLab's own "python3" is another environment's.
KERNEL = {"display_name": "Rented machines", "language": "python", "name": "rented-machines"}
KERNEL_FOLDER = Path("share/jupyter/kernels", KERNEL["name"])  # below the environment

# IPython reads this when a kernel starts. Notebooks also find the folders that scripts elsewhere do
# not (packages.py), such as training/.
IPYTHON = "etc/ipython"  # below the environment
KERNEL_CONFIG = """\
# Written by tools/environment/kernel.py: notebooks find the lesson wherever Jupyter was started.
import sys

sys.path.insert(0, {root!r})
c = get_config()
c.InteractiveShellApp.extensions = ["lesson.setup.notebook_errors"]
"""


def install_lesson(configuration: Path, root: Path = ROOT) -> None:
    """Have notebook kernels find the lesson's packages in `root`.

    `configuration` is a folder in which IPython looks for settings: that of an environment, or of
    a profile, which comes before it.
    """
    configuration.mkdir(parents=True, exist_ok=True)
    file = configuration / "ipython_kernel_config.py"
    file.write_text(KERNEL_CONFIG.format(root=str(root)), encoding="utf-8")


def install_kernel(environment: Path) -> None:
    """Describe the kernel of an environment where its own JupyterLab looks; a hub's has a copy."""
    python = str(environment.absolute() / "bin" / "python")
    argv = [python, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    shown = {name: KERNEL[name] for name in ("display_name", "language")}
    file = environment / KERNEL_FOLDER / "kernel.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"argv": argv, **shown}, indent=1), encoding="utf-8")
