"""A stranger's script and what its header says about it.

The header is the comment at the top: a sentence, then lines `KEY: VALUE`:

- `exit`: the exit code, or `failed` (whatever the code), or `stopped`;
- `log`: a text that the log holds; may be given several times;
- `model`: patterns of files in the model's folder, with commas between;
- `gone`: a file in the model's folder with the number of a process that may not outlive the job;
- `hyperparameters`: JSON; `arguments`: words besides, which only Vertex AI can give;
- `tuned`: the name of the tuned hyperparameter, else `lr`;
- `stop at`: a text; the job is cancelled when its log holds it;
- `replicas`: how many, else one;
- `only`: the places where it runs, a colon, and why not elsewhere.

A script of several files is a folder with `task.py`.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).with_name("scripts")
PLACES = ("vertex", "sagemaker", "vertex-trial", "sagemaker-trial")
KEYS = (
    "exit",
    "log",
    "model",
    "gone",
    "hyperparameters",
    "arguments",
    "tuned",
    "stop at",
    "replicas",
    "only",
)


@dataclass(frozen=True)
class Script:
    """One script: its files, and what is expected of it."""

    name: str
    about: str
    files: dict[str, bytes]
    said: dict[str, list[str]]

    def one(self, key: str, default: str = "") -> str:
        """The value of a key that is given once."""
        return self.said.get(key, [default])[0]

    @property
    def places(self) -> tuple[str, ...]:
        """Where it runs."""
        named, _, _ = self.one("only", ", ".join(PLACES)).partition(":")
        return tuple(named.split(", "))

    @property
    def hyperparameters(self) -> dict[str, Any]:
        """Its hyperparameters, without the tuned one."""
        content: dict[str, Any] = json.loads(self.one("hyperparameters", "{}"))
        return content

    @property
    def models(self) -> list[str]:
        """Patterns of the files that it leaves in the model's folder."""
        return [pattern for pattern in self.one("model").split(", ") if pattern]


def read(path: Path) -> Script:
    """The script at this path; ValueError for a header that cannot be read."""
    main = path / "task.py" if path.is_dir() else path
    header = re.match(r"(#.*\n)+", main.read_text(encoding="utf-8"))
    about, *lines = header[0].splitlines() if header else [""]
    said: dict[str, list[str]] = {}
    for line in lines:
        key, colon, value = line.removeprefix("# ").partition(": ")
        if key not in KEYS or not colon:
            raise ValueError(f"{main}: {line!r} is none of {', '.join(KEYS)}")
        said.setdefault(key, []).append(value)
    if "exit" not in said:
        raise ValueError(f"{main}: its header does not say how it ends")
    files = {"task.py": main.read_bytes()}
    if path.is_dir():
        files |= {str(one.relative_to(path)): one.read_bytes() for one in path.rglob("*.*")}
    files = {name: text for name, text in files.items() if "__pycache__" not in name}
    return Script(path.stem, about.removeprefix("# "), files, said)


def all_scripts() -> list[Script]:
    """Every script, by name."""
    paths = (path for path in FOLDER.iterdir() if path.name != "__pycache__")
    return sorted(map(read, paths), key=lambda script: script.name)
