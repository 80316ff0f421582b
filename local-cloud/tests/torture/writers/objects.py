"""Objects in both clouds' buckets: new ones, and some again and again."""

from __future__ import annotations

from testing.tally import Tally
from tests.torture.rig import BUCKET
from tests.torture.writers.acknowledgements import Key
from tests.torture.writers.writer import Writer

SIZES = (1, 100, 20_000)  # how often its mark is in an object


class ObjectWriter(Writer):
    """Each object is full of a mark, `CLIENT COUNT `, so that a part of another one shows."""

    kind = "object"

    def write(self, count: int) -> None:
        """Write an object to each cloud; every other one in the place of an older one."""
        key = f"w{self.number}/{count if count % 2 else f'again/{count % 40}'}"
        mark, times = f"{self.number} {count} ", self.chosen.choice(SIZES)
        for method, path in (
            ("PUT", f"/aws/{BUCKET}/{key}"),
            ("POST", f"/upload/storage/v1/b/{BUCKET}/o?uploadType=media&name={key}"),
        ):
            with self.acknowledged.write({reading(path): (mark, times)}):
                self.send(method, path, mark.encode() * times)

    def compare(self, tally: Tally) -> None:
        """Read each object."""
        self.acknowledged.compare(self._find, tally)

    def _find(self, path: Key) -> object:
        """Return an object's mark, and how often it is in it; what else it may be as it is."""
        status, content = self.rig.ask("GET", str(path))
        if status == 404:
            return None
        mark = b" ".join(content.split(b" ", 2)[:2]) + b" "
        times = content.count(mark)
        whole = status == 200 and content == mark * times
        return (mark.decode(), times) if whole else (status, len(content), content[:100])


def reading(path: str) -> str:
    """Where an object that was written to this path is read."""
    if path.startswith("/aws"):
        return path
    return f"/storage/v1/b/{BUCKET}/o/{path.partition('name=')[2].replace('/', '%2F')}?alt=media"
