"""What cells have shown in a run goes onto the page, below the cells."""

from __future__ import annotations

import io
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tools.notebooks.cells import Cell, Shown
from tools.pictures import shown

PAGE = """
```python
table
```

```{.output .shown}
old
lines
```

```python
curve
```

![A curve](fig/shown-curve.png){alt="old"}

The end.
"""


def stream(text: str) -> dict[str, Any]:
    return {"output_type": "stream", "name": "stdout", "text": text.splitlines(keepends=True)}


@pytest.mark.parametrize("before", ["old", ""])
def test_a_table_and_a_picture_replace_those_of_an_earlier_run(tmp_path: Path, before: str) -> None:
    made = io.BytesIO()
    Image.new("RGBA", (4, 3), "red").save(made, "PNG")
    source = b64encode(made.getvalue()).decode()
    picture = f'<img class="x" alt="It &lt; \n 1" style="" src="data:image/png;base64,{source}">'
    page = tmp_path / "02-page.md"
    text = PAGE.replace('alt="old"', f'alt="{before}"')
    page.write_text(text)
    (tmp_path / "fig").mkdir()
    outputs: list[list[dict[str, Any]]] = [
        [
            {"output_type": "stream", "name": "stderr", "text": ["a warning"]},
            {"execution_count": 1, "output_type": "execute_result", "data": {"text/plain": "new"}},
        ],
        [{"output_type": "display_data", "data": {"text/html": picture}}],
    ]
    cells = [
        Cell(True, "table", shown=Shown(6, 9, "old\nlines")),
        Cell(True, "curve", shown=Shown(15, 15, before, "fig/shown-curve.png")),
    ]
    shown.render(page, cells, outputs)
    text = text.replace("old\nlines", "new").replace(f'alt="{before}"', 'alt="It < 1"')
    assert page.read_text() == text
    with Image.open(tmp_path / "fig/shown-curve.png") as image:
        assert image.convert("RGB").getpixel((1, 1)) == (255, 0, 0)


def test_of_a_job_the_last_state_of_its_progress_is_shown() -> None:
    progress = {"text/html": "<progress>", "text/plain": "[####] succeeded"}
    warning = {"output_type": "stream", "name": "stderr", "text": ["a warning\n"]}
    table = {"execution_count": 1, "output_type": "execute_result", "data": {"text/plain": "table"}}
    panel = {"output_type": "display_data", "data": {"text/plain": "Output()", shown.WIDGET: {}}}
    bar = {"output_type": "display_data", "data": progress}
    outputs = [stream("sent\n"), warning, panel, bar, table]
    assert shown.text_of(outputs) == "sent\n[####] succeeded\ntable"


def test_of_a_long_log_the_middle_is_left_out() -> None:
    text = shown.text_of([stream("".join(f"{number}  \n" for number in range(100)))])
    lines = text.split("\n")
    assert len(lines) == shown.LINES + 1
    assert (lines[0], lines[shown.LINES // 2], lines[-1]) == ("0", "…", "99")
