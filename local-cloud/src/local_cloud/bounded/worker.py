"""The process of process.call(): `python -m local_cloud.bounded.worker`, the task on its input.

The limits hold before the function's module is loaded. The answer is JSON on the output.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from typing import NoReturn

from local_cloud.bounded.errors import DamagedFile, OverLimit, size
from local_cloud.bounded.limits import DAMAGED, OUT_OF_MEMORY, OVER_LIMIT, Limits, limit

NICE = 5  # others go first


def main() -> None:
    """Call the function, write its answer."""
    task = json.load(sys.stdin)
    os.nice(NICE)
    limits = Limits(**task["limits"])
    limit(limits)
    try:
        function = getattr(importlib.import_module(task["module"]), task["function"])
        answer = json.dumps(function(*task["arguments"], **task["named"]))
        if len(answer) > limits.answer:
            raise OverLimit(f"what was read is larger than {size(limits.answer)}")
    except MemoryError:
        _end(OUT_OF_MEMORY, "")
    except OverLimit as problem:
        _end(OVER_LIMIT, json.dumps(str(problem)))
    except DamagedFile as problem:
        _end(DAMAGED, json.dumps(str(problem)))
    _end(0, answer)


def _end(code: int, said: str) -> NoReturn:
    """End at once: cleaning up may need memory that is not available."""
    sys.stdout.write(said)
    sys.stdout.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
