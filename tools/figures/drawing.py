"""The shapes of which the diagrams are made, and the few colours and widths that they share."""

from __future__ import annotations

from xml.sax.saxutils import escape

WIDTH = 640  # of every picture: with type of 20, a line holds about fifty letters
TYPE = 20  # larger than the text of a page at full width, 11 px on a screen 360 px wide
LINE = 26  # from one line of text to the next
STROKE = 2

INK = "#1c242c"  # text and lines
PAPER = "#ffffff"
GROUND = "#eef3f8"  # a machine, or whatever holds other things
STORE = "#fdf1d6"  # what lies in a bucket
MIDDLE = "#9fc5e8"  # hatched wherever it is used
DARK = "#0b5394"  # what a picture is about; text on it is white

# The same three patterns as the bars of lesson.plots.comparison.
PATTERNS = f"""\
  <defs>
    <pattern id="dots" width="8" height="8" patternUnits="userSpaceOnUse">
      <rect width="8" height="8" fill="{PAPER}"/>
      <circle cx="4" cy="4" r="1.4" fill="{INK}"/>
    </pattern>
    <pattern id="lines" width="9" height="9" patternUnits="userSpaceOnUse">
      <rect width="9" height="9" fill="{MIDDLE}"/>
      <path d="M-1,1 L1,-1 M0,9 L9,0 M8,10 L10,8" stroke="{INK}" stroke-width="1"/>
    </pattern>
  </defs>"""
DOTS, LINES = "url(#dots)", "url(#lines)"


class Drawing:
    """A picture that grows by one shape after the other; later ones lie on top."""

    def __init__(self, title: str, description: str, height: int) -> None:
        """Begin with white paper, WIDTH wide. `description` says what can be seen, in words."""
        self.title = title
        self.description = description
        self.height = height
        self.shapes: list[str] = []
        self.box(0, 0, WIDTH, height, PAPER, line=None, round=0)

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        fill: str = PAPER,
        *,
        line: str | None = INK,
        round: int = 8,
    ) -> None:
        """A rectangle with round corners."""
        edge = f' stroke="{line}" stroke-width="{STROKE}"' if line else ""
        corner = f' rx="{round}"' if round else ""
        self.shapes.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}"{corner} '
            f'fill="{fill}"{edge}/>'
        )

    def bucket(self, x: float, y: float, width: float, height: float) -> None:
        """A drum, the usual sign for a store; text has room below its lid."""
        rim = 12
        self.box(x, y + rim, width, height - 2 * rim, STORE, line=None, round=0)
        right, low = x + width, y + height - rim
        arc = f"A{width / 2:g},{rim} 0 0"
        self.path(
            f"M{x:g},{y + rim:g} V{low:g} {arc},0 {right:g},{low:g} V{y + rim:g} "
            f"{arc},0 {x:g},{y + rim:g} {arc},0 {right:g},{y + rim:g}",
            fill=STORE,
        )
        self.path(f"M{x:g},{y + rim:g} {arc},1 {right:g},{y + rim:g}", fill=STORE)

    def path(self, steps: str, fill: str = "none") -> None:
        """Lines along the steps, in SVG's own words."""
        self.shapes.append(
            f'<path d="{steps}" fill="{fill}" stroke="{INK}" stroke-width="{STROKE}" '
            'stroke-linecap="round" stroke-linejoin="round"/>'
        )

    def arrow(self, *points: tuple[float, float], both: bool = False) -> None:
        """A line through the points, with a head at its end, or one at each end."""
        self.path("M" + " L".join(f"{x:g},{y:g}" for x, y in points))
        self._head(points[-2], points[-1])
        if both:
            self._head(points[1], points[0])

    def _head(self, before: tuple[float, float], tip: tuple[float, float]) -> None:
        """Lines run along x or y only, so a head has one of four directions."""
        (x, y), long, half = tip, 13, 7
        right = (tip[0] > before[0]) - (tip[0] < before[0])
        down = (tip[1] > before[1]) - (tip[1] < before[1])
        base_x, base_y = x - right * long, y - down * long
        corners = (
            f"{base_x - down * half:g},{base_y - right * half:g} "
            f"{base_x + down * half:g},{base_y + right * half:g}"
        )
        self.shapes.append(f'<polygon points="{x:g},{y:g} {corners}" fill="{INK}"/>')

    def text(
        self,
        x: float,
        y: float,
        *lines: str,
        anchor: str = "middle",
        bold: bool = False,
        fill: str = INK,
    ) -> None:
        """Lines of text; y is the middle of the first line."""
        weight = ' font-weight="bold"' if bold else ""
        for number, line in enumerate(lines):
            base = y + number * LINE + 7  # so that letters stand in the middle
            self.shapes.append(
                f'<text x="{x:g}" y="{base:g}" text-anchor="{anchor}"{weight} fill="{fill}">'
                f"{escape(line)}</text>"
            )

    def label(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        *lines: str,
        fill: str = PAPER,
        bold: bool = False,
    ) -> None:
        """A box with text in its middle."""
        self.box(x, y, width, height, fill)
        first = y + height / 2 - (len(lines) - 1) * LINE / 2
        colour = PAPER if fill == DARK else INK
        self.text(x + width / 2, first, *lines, bold=bold, fill=colour)

    def svg(self) -> str:
        """The whole file."""
        shapes = "\n".join(f"  {shape}" for shape in self.shapes)
        patterns = f"{PATTERNS}\n" if "url(#" in shapes else ""
        return f"""\
<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{self.height}" \
viewBox="0 0 {WIDTH} {self.height}" role="img" aria-labelledby="title desc" \
font-family="sans-serif" font-size="{TYPE}">
  <title id="title">{escape(self.title)}</title>
  <desc id="desc">{escape(self.description)}</desc>
{patterns}{shapes}
</svg>
"""
