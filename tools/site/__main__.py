"""`python -m tools.site [folder]`: write the lesson's pages into its folder site/."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tools.pages.folder import ROOT, PageError

try:
    from tools.site.build import write
except ModuleNotFoundError as missing:
    sys.exit(
        f"make site: this environment has no {missing.name}; one that was made with less than 6 GB "
        "free lacks what builds the site, so clone the lesson onto a larger disk"
    )


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return its exit code (2: a page or the folder is wrong)."""
    parser = argparse.ArgumentParser(prog="python -m tools.site", description=__doc__)
    parser.add_argument("root", nargs="?", type=Path, default=ROOT, help="the lesson's folder")
    root = parser.parse_args(arguments).root.resolve()
    site = root / "site"
    try:
        count = write(root, site)
    except PageError as error:
        print(error, file=sys.stderr)
        return 2
    except OSError as error:
        problem = f"cannot write {error.filename} ({error.strerror}); check the folder"
        print(problem, file=sys.stderr)
        return 2
    print(f"{count} pages: open {site / 'index.html'}")
    print(f"for instructors: {site / 'instructor' / 'index.html'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
