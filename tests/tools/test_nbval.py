"""Expected output is compared: times, ids, prices and folders may differ, and nothing else."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from nbval.plugin import get_sanitize_patterns

from tools.notebooks import __main__ as notebooks
from tools.pages.folder import ROOT

CONFIG = ROOT / "tests/nbval.cfg"


def sanitised(text: str) -> str:
    for pattern, replacement in get_sanitize_patterns(CONFIG.read_text(encoding="ascii")):
        text = re.sub(pattern, replacement, text)
    return text


def test_every_rule_is_read():
    assert len(get_sanitize_patterns(CONFIG.read_text())) == CONFIG.read_text().count("\nregex: ")


@pytest.mark.parametrize(
    ("expected", "run"),
    [
        ("took 3.2 s", "took 12.75 s"),
        ("took 1 min 5 s", "took 3.2 s"),
        ("took 12 ms, 3 µs", "took 8.1 ms, 40 µs"),
        ("| 3.2 s | a", "|  12 s | a"),
        ("at 2026-11-20 11:00:59", "at 2027-01-01 00:10:00"),
        ("on 2026-11-20 at 11:00", "on 2026-11-21 at 23:59"),
        ("2026-11-20T11:00:59.123Z", "2026-11-20T11:00:58Z"),
        ("job train-20261120-110059", "job train-20270101-000000"),
        ("job 1234567890123456789", "job 9876543210987654321"),
        ("id 0123abcd4567ef", "id fedcba987654"),
        ("run 8d8ac610-566d-4ef0-9c22-186b2a5ed793", "run 00000000-0000-0000-0000-000000000000"),
        ("<object at 0x7f3a>", "<object at 0x55aa99>"),
        ("http://127.0.0.1:8080/x", "http://127.0.0.1:41234/x"),
        ("about $0.22 an hour", "about $1,234.50 an hour"),
        ("0.22 USD", "10.5 USD"),
        ("wrote /home/ada/lesson/runs/model.pt", "wrote /tmp/x/runs/model.pt"),
    ],
)
def test_excepted_parts_may_differ(expected, run):
    assert sanitised(expected) == sanitised(run)


@pytest.mark.parametrize(
    ("expected", "run"),
    [
        ("accuracy 0.812", "accuracy 0.813"),
        ("loss 0.123456789012345", "loss 0.543210987654321"),
        ("712 rows, 179 rows", "711 rows, 179 rows"),
        ("epoch 10 of 100", "epoch 11 of 100"),
        ("took 3.2 s", "took 3.2 steps"),
        ("wrote /tmp/a/model.pt", "wrote /tmp/a/other.pt"),
        ("gs://bucket/train.npz", "gs://other/train.npz"),
        ("1000 samples", "2000 samples"),
        ("rows[0:10]", "rows[0:20]"),
        ("cost $0.22", "cost unknown"),
        ("torch 2.13.0", "torch 2.14.0"),
    ],
)
def test_everything_else_is_compared(expected, run):
    assert sanitised(expected) != sanitised(run)


EPISODE = """\
---
title: "A lesson"
---

```python
print("Passengers: 712, in 0.00001 s, $9.99, in /no/such/folder/x.csv")
```

```output
Passengers: {count}, in 3.2 s, $0.22, in /home/ada/x.csv
```

```python
import random
print(random.random())
```

```python
{silent}
```

```output
```
"""


def run_nbval(*roots: Path) -> str:
    """What is said of the learners' notebooks of these lessons, run as `make test` runs them."""
    command = [sys.executable, "-m", "pytest", "-c", str(ROOT / "pyproject.toml")]
    command += ["--rootdir", str(roots[0].parent), "-p", "no:cacheprovider", "--color=no", "-rA"]
    command += ["--nbval", "--nbval-sanitize-with", str(CONFIG), "--nbval-kernel-name", "python3"]
    command += [str(root / "notebooks/01-a.ipynb") for root in roots]
    done = subprocess.run(command, cwd=roots[0].parent, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout


def make_lesson(root: Path, count: int, silent: str) -> Path:
    """A lesson of one page, with just enough around it for the opening cell."""
    for name, text in {
        "index.md": "---\nsite: sandpaper::sandpaper_site\n---\n",
        "notebooks/lesson/__init__.py": "def opening():\n    print('LESSON_TARGET=local')\n",
        "episodes/01-a.md": EPISODE.replace("{count}", str(count)).replace("{silent}", silent),
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    notebooks.write(root)
    return root


def test_a_notebook_passes_with_the_expected_output_and_fails_with_another(tmp_path):
    said = run_nbval(
        make_lesson(tmp_path / "same", 712, "number = 2"),
        make_lesson(tmp_path / "other", 713, "print('not silent')"),
    )
    assert "2 failed, 6 passed" in said
    assert re.findall("^PASSED same/", said, re.MULTILINE) == ["PASSED same/"] * 4
    assert "Cell outputs differ" in said
    assert "Unexpected output fields" in said
    assert "712" in said and "713" in said
