"""`python -m local_cloud start|stop|status|env|reset|rehearse|console|images`.

Installed without the lesson, it is `local-cloud`, too.
"""

from __future__ import annotations

import argparse
import sys

from local_cloud import control
from local_cloud.environment import export_lines
from local_cloud.errors import LocalCloudError
from local_cloud.home import Home, default_folder

COMMANDS = {
    "start": "start it, if it does not run",
    "stop": "stop it, and the jobs that run; buckets, records and logs stay",
    "status": "say whether it runs, where its folder is, what it holds",
    "env": "print the lines that point a shell's tools at it",
    "reset": "remove every bucket, job, model and log",
    "rehearse": "interrupt a spot job once, at the EPOCH that is named; `off` takes it back",
    "console": "open its web page (not implemented yet)",
    "images": "list, pull and build images, in which jobs and endpoints then run",
}


def main(arguments: list[str] | None = None) -> int:
    """Do what the command says; returns the exit code."""
    listed = "\n".join(f"  {name:8} {what}" for name, what in COMMANDS.items())
    parser = argparse.ArgumentParser(
        "local-cloud" if sys.argv[0].endswith("local-cloud") else "python -m local_cloud",
        description=f"Vertex AI and SageMaker on this machine.\n\n{listed}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("command", choices=COMMANDS, metavar="command")
    parser.add_argument(
        "words", nargs="*", metavar="word", help="of rehearse: epochs; of images: what to do"
    )
    parsed = parser.parse_args(arguments)
    command, words = parsed.command, parsed.words
    if command == "rehearse" and not words:
        parser.error("rehearse needs an EPOCH, several, or `off`")
    if words and command not in ("rehearse", "images"):
        parser.error(f"only rehearse (epochs, or `off`) and images take words: {' '.join(words)}")
    home = control.own(Home(default_folder()))
    if command == "images":
        from local_cloud.images.command import run as run_images  # what only a server has

        run_images(words, home)
        return 0
    if command == "console":
        print("local_cloud: the console is not implemented yet", file=sys.stderr)
        return 2
    if command == "env":
        found = control.status(home)
        if found.url is None:
            print("local_cloud: it is not running; `python -m local_cloud start`", file=sys.stderr)
            return 1
        print(export_lines(found))
        return 0
    if command == "rehearse":
        print(control.rehearse(_epochs(words, parser), home))
        return 0
    print(getattr(control, command)(home))
    return 0


def _epochs(words: list[str], parser: argparse.ArgumentParser) -> list[int] | None:
    """The epochs that rehearse is given; None for `off`."""
    if words == ["off"]:
        return None
    try:
        return [int(word) for word in words]
    except ValueError:
        parser.error(f"{' '.join(words)}: rehearse needs an EPOCH, several, or `off`")


def run() -> None:
    """Run the command, and end the process with its code."""
    try:
        sys.exit(main())
    except (LocalCloudError, OSError) as problem:
        sys.exit(f"local_cloud: {problem}")


if __name__ == "__main__":
    run()
