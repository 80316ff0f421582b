"""The shell's line with which an SDK has a job install its code and then run it.

`CustomJob.from_local_script` of Google's SDK writes it for images that are not Google's own:
`pip install --upgrade pip && pip3 install -q --user /gcs/x.tar.gz && python3 -m x.task --flag`.
A trial's flags are words behind such a line, which ends with `"$@"` to take them on.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

# Words that a shell passes on as they are: no variables, no patterns, nothing that it would run.
WORD = r"(?:[\w@%+=:,./-]|'[^']*')+"
BLANK = r"[ \t]+"
THEN = r"[ \t]*&&[ \t]*"
PIP = rf"pip3?{BLANK}install(?:{BLANK}{WORD})+"
WORDS_BEHIND = r'"\$@"'
LINE = re.compile(
    rf"({PIP}(?:{THEN}{PIP})*){THEN}(python3?(?:{BLANK}{WORD})+)(?:{BLANK}({WORDS_BEHIND}))?[ \t]*"
)
ARCHIVES = (".tar.gz", ".zip")


@dataclass(frozen=True)
class ShellLine:
    """A line that installs one archive, and then becomes a program of Python."""

    first: str  # what is installed, as the shell's own words
    archive: str  # its path, as the job sees it
    program: tuple[str, ...]


def parse(command: Sequence[str]) -> ShellLine | None:
    """Return what a replica's command does; None if it is anything else than such a line.

    The installation changes nothing in the shell, so the program finds what it finds in one.
    """
    if tuple(command[:2]) != ("sh", "-c") or len(command) < 3:
        return None
    line, behind = command[2], tuple(command[4:])  # the word between them is the shell's own name
    match = LINE.fullmatch(line)
    if not match:
        return None
    first, program, takes_words_behind = match.groups()
    if len(command) > 3 and not takes_words_behind:
        return None
    archives = [word for word in shlex.split(first) if word.endswith(ARCHIVES)]
    if len(archives) != 1:
        return None
    return ShellLine(first, archives[0], (*shlex.split(program), *behind))
