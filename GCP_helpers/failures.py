"""What Vertex AI says of a failure, in sentences."""

from __future__ import annotations


def in_short(message: str) -> str:
    """Return what the service says, in sentences, without the inner lines of a traceback.

    Its message names the replica and its exit code, then has the end of that replica's log, whose
    last line is the script's own, and then where the whole log lies.
    """
    lines = [line.strip() for line in message.splitlines() if line[:1].strip()] or [""]
    says = lines[0].removesuffix("Termination reason: Error.").strip()
    where = [line for line in lines[1:] if line.startswith(("Its log: ", "To find out more"))]
    own = [line for line in lines[1:] if line not in where]
    return " ".join([says, *(f"Its last line: {line.rstrip('.')}." for line in own[-1:]), *where])
