"""How dense a page is: its characters for each minute that it plans."""

from __future__ import annotations

from tools.pages.pace import density
from tools.pages.scanner import scan

PAGE = """---
title: "One"
teaching: 1
exercises: 1
---

## Train

```python
train()
```

{shown}## Optional: More

More.

{shown}"""
SHOWN = "```{.output .shown}\nepoch 1\n```\n\n"


def test_what_a_run_has_shown_makes_a_page_no_denser() -> None:
    short = scan(PAGE.format(shown=SHOWN))
    long = scan(PAGE.format(shown=SHOWN.replace("1", "1" * 900)))
    assert density(short) == density(long)
    core, everything = density(long)
    assert core < everything
