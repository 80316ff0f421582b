"""How a script in any folder finds the lesson's packages: `import GCP_helpers` works there.

Only the environment's own Python finds them. A job reads the packages of the environment too, from
an environment of its own: it has what was sent with it and nothing else, as on the services.
"""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("lesson", "GCP_helpers", "AWS_helpers")

MODULE = "rented_machines_packages"  # a .pth file imports it whenever Python starts
FINDER = '''\
"""Written by tools/environment/packages.py, which says what for."""

import os
import sys
from importlib.machinery import PathFinder

ROOT, PACKAGES = {root!r}, {packages!r}


class LessonFinder:
    """Asked last, so that what lies beside a script or in a notebook's folder comes first."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name in PACKAGES and __file__.startswith(os.path.join(sys.prefix, "")):
            return PathFinder.find_spec(name, [ROOT])
        return None


sys.meta_path.append(LessonFinder)
'''


def install_packages(environment: Path, root: Path = ROOT) -> None:
    """Have the Python of an environment find the lesson's packages in `root`."""
    code = FINDER.format(root=str(root), packages=PACKAGES)
    for folder in environment.glob("lib/python3*/site-packages"):
        (folder / f"{MODULE}.py").write_text(code, encoding="utf-8")
        (folder / f"{MODULE}.pth").write_text(f"import {MODULE}\n", encoding="utf-8")
