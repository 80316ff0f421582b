"""A clean start: as after cloning, but with the learner's own notebooks."""

from __future__ import annotations

import shutil
from pathlib import Path

from lesson import LessonError, target


def clean_start(root: Path) -> None:
    """Empty the local cloud and `runs` in this folder, and say what was done."""
    if target() == "cloud":
        raise LessonError(
            "LESSON_TARGET is cloud, and reset() empties the local cloud only; on the real services"
            " cleanup() lists what the lesson made, and cleanup(dry_run=False) deletes it"
        )
    import local_cloud

    emptied = local_cloud.reset()
    print(f"The local cloud has no buckets, jobs, models or logs any more ({emptied.home.folder}).")
    print(f"{_empty(root / 'runs')} files were removed from runs/.")
    print(f"Your notebooks in work/ ({len(list((root / 'work').glob('*.ipynb')))}) are untouched.")
    print("Now restart the kernel of each notebook that is open, and begin with its first cell.")


def _empty(folder: Path) -> int:
    """Remove what is in the folder, not the folder: it may be a link to another disk."""
    if not folder.is_dir():
        return 0
    count = sum(path.is_file() for path in folder.rglob("*"))
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
    return count
