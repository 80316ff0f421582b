"""A small lesson, complete and without a fault, in a folder of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from testing import axe as axe_core
from testing.browser import Browser, find

EPISODE = """\
---
title: "Count things"
teaching: 15
exercises: 5
---

::: questions

- How are things counted?

:::

::: objectives

- Count three things with Python.

:::

## Look at the data

The [set-up page](../learners/setup.md#tools) and the [next part](#count-them) tell more.

![Three dots in a row](fig/dots.svg){alt="Three dots"}

```python
print("three")
```

```output
three
```

::: callout

### Why three

A small number is easy to check.

:::

```{.python .display .long}
COUNTING```

## Count them

1. Open a terminal.

   ```bash
   ls
   ```

2. Count.

```yaml
key:
    indented: true
```

::: challenge

### Exercise: count to four (5 minutes)

Change the number.

```python
number = 3
```

::: hint

#### Think of the next number

```{.python .display}
number = 3 + HINT
```

:::

::: solution

```python
number = 4
print(number)
```

```output
4
```

:::

::: instructor

Learners sometimes stop at three.

:::

:::

::: keypoints

- Things are counted one by one.

:::
"""

# With the rest of the page a quarter of an hour.
EPISODE = EPISODE.replace("COUNTING", "count()\n" * 144)

CONFIG = """\
carpentry: incubator
title: "Count things"
created: 2026-01-31
keywords: counting, lesson
life_cycle: pre-alpha
license: CC-BY 4.0
source: https://github.com/example/count-things
branch: main
contact: team@example.org
episodes:
- 01-count.md
learners:
instructors:
- instructor-notes.md
profiles:
"""

GITIGNORE = """\
episodes/*html
site/*
!site/README.md
.Rhistory
.Rapp.history
.RData
.Ruserdata
*-Ex.R
/*.tar.gz
/*.Rcheck/
.Rproj.user/
vignettes/*.html
vignettes/*.pdf
.httr-oauth
*_cache/
/cache/
*.utf8.md
*.knit.md
.Renviron
docs/
po/*~
"""

FILES = {
    ".gitignore": GITIGNORE,
    "config.yaml": CONFIG,
    "index.md": "---\nsite: sandpaper::sandpaper_site\n---\n\nA lesson about counting.\n\n"
    "::: objectives\n\n- Count things with Python.\n\n:::\n\n"
    "::: prereq\n\n## Before you start\n\nYou can read numbers.\n\n:::\n",
    "links.md": "[python]: https://www.python.org\n",
    "LICENSE.md": "---\ntitle: Licences\n---\n\nText: CC-BY 4.0.\n\nData: CC0 1.0.\n",
    "CODE_OF_CONDUCT.md": "---\ntitle: Code of conduct\n---\n\nWe keep [The Carpentries' code of "
    "conduct](https://docs.carpentries.org/policies/coc/).\n",
    "CONTRIBUTING.md": "---\ntitle: Contributing\n---\n\nOpen an issue.\n",
    "CITATION.cff": "cff-version: 1.2.0\nmessage: Please cite this lesson.\ntitle: Count things\n"
    "authors:\n- name: A team\n",
    "episodes/01-count.md": EPISODE,
    "episodes/fig/dots.svg": "<svg xmlns='http://www.w3.org/2000/svg'/>\n",
    "learners/setup.md": "---\ntitle: Set-up\n---\n\n## Tools\n\nInstall [Python][python].\n",
    "learners/reference.md": "---\ntitle: Reference\n---\n\n## Glossary\n\nNumber\n:   A count.\n",
    "instructors/instructor-notes.md": "---\ntitle: Notes\n---\n\nLeave time.\n",
    "profiles/learner-profiles.md": "---\ntitle: Profiles\n---\n\n## Ada\n\nA person who counts.\n",
}


@pytest.fixture
def clean_lesson(tmp_path: Path) -> Path:
    """The root of the small lesson, which a test may change."""
    root = tmp_path / "lesson"
    for name, text in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


@pytest.fixture(scope="module")
def one_browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    program = find()
    if program is None:
        pytest.skip("no Chromium or Chrome is installed; name one in the variable CHROMIUM")
    with Browser(program, tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture
def browser(one_browser: Browser) -> Browser:
    """The browser, as if nothing had been opened yet."""
    one_browser.said.clear()
    one_browser.look()
    return one_browser


@pytest.fixture(scope="session")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The script of axe-core."""
    return axe_core.script(tmp_path_factory.mktemp("axe"))
