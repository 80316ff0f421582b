"""`python -m local_cloud start|stop|status|env|reset|rehearse|bill|console|images`.

The command `local-cloud` is the same.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import webbrowser

from local_cloud.client import control, rehearse
from local_cloud.client.environment import export_lines
from local_cloud.client.gcloud import PROJECT, write_configuration
from local_cloud.client.home import Home, default_folder
from local_cloud.errors import LocalCloudError

COMMANDS = {
    "start": "start it, if it does not run",
    "stop": "stop it, and the jobs that run; buckets, records and logs stay",
    "status": "say whether it runs, where its folder is, what it holds",
    "env": "print the lines that point a shell's tools at it",
    "reset": "remove every bucket, job, model and log",
    "rehearse": "fail on purpose: a failure by name, or an EPOCH for a spot stop; `off`, `list`",
    "bill": "print what the real services would have billed, and what still costs money; --json",
    "console": "show its web page: jobs, logs, curves, files, costs",
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
        "words",
        nargs="*",
        metavar="word",
        help="of rehearse: a failure or epochs; of images: what to do; of console: a proxy's URL",
    )
    parser.add_argument("--json", action="store_true", help="of bill: print it as JSON")
    parsed = parser.parse_args(arguments)
    command, words = parsed.command, parsed.words
    if command == "rehearse" and not words:
        parser.error("rehearse needs the name of a failure, an EPOCH, several, `list`, or `off`")
    if words and command not in ("rehearse", "images", "console"):
        taken = "only rehearse (a failure, epochs, `list`, or `off`), images and console take words"
        parser.error(f"{taken}: {' '.join(words)}")
    if parsed.json and command != "bill":
        parser.error(f"only bill is printed as JSON, not {command}")
    home = control.own(Home(default_folder()))
    if command == "bill":
        from local_cloud.client.bill import bill

        found_bill = bill(home)
        print(json.dumps(found_bill.document(), indent=2) if parsed.json else found_bill)
        return 0
    if command == "images":
        from local_cloud.images.command import run as run_images  # what only a server has

        run_images(words, home)
        return 0
    if command == "console":
        print(_console(home, " ".join(words)))
        return 0
    if command == "env":
        server = control.status(home)
        if server.url is None:
            why = (
                str(server) if server.silent else "it is not running; `python -m local_cloud start`"
            )
            print(f"local_cloud: {why}", file=sys.stderr)
            return 1
        write_configuration(home, server.port, os.environ.get("GOOGLE_CLOUD_PROJECT") or PROJECT)
        print(export_lines(server))
        return 0
    if command == "rehearse":
        listed = words == ["list"]
        print(rehearse.table() if listed else rehearse.rehearse(_parse_rehearsal(words), home))
        return 0
    print(getattr(control, command)(home))
    return 0


def _console(home: Home, at: str) -> str:
    """Open the console where there is a screen; return the link that signs a browser in."""
    link = control.console_link(home, at)
    said = "Open this link within two minutes; it works once:"
    if not at and sys.stdout.isatty() and (sys.platform == "darwin" or os.environ.get("DISPLAY")):
        _open_in_browser(home, link)
        link = control.console_link(home)
        said = "The console opens in your browser. If it does not, open this link; it works once:"
    return f"{said}\n  {link}"


def _open_in_browser(home: Home, link: str) -> None:
    """Open the page by a file that only its owner can read.

    Other users see the arguments of a program.
    """
    page = home.folder / "console.html"
    page.unlink(missing_ok=True)
    with open(os.open(page, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(f'<meta http-equiv="refresh" content="0;url={link}">')
    webbrowser.open(page.as_uri())


def _parse_rehearsal(words: list[str]) -> str | list[int] | None:
    """Return what rehearse is given: a failure, epochs, or None for `off`."""
    if words == ["off"]:
        return None
    if all(word.removeprefix("-").isdecimal() for word in words):
        return [int(word) for word in words]
    return " ".join(words)


def run() -> None:
    """Run the command, and end the process with its code."""
    try:
        sys.exit(main())
    except (LocalCloudError, OSError) as problem:
        sys.exit(f"local_cloud: {problem}")


if __name__ == "__main__":
    run()
