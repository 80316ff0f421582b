"""A headless Chromium, driven by its DevTools protocol: no package to install, nothing to fetch.

The tests look at pages with it, and `python -m tools.pictures` takes pictures of the console.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from base64 import b64decode
from pathlib import Path
from types import TracebackType
from typing import Any

import websocket

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
ERRORS = ("Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled")


class BrowserError(Exception):
    """The browser did not start, or did not do what it was told."""


def find() -> str | None:
    """Return the program named by CHROMIUM, or the first that is installed."""
    named = os.environ.get("CHROMIUM")
    return named or next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """One page of a browser of its own, that reaches files and this machine only."""

    def __init__(self, program: str, profile: Path) -> None:
        """Start it. `profile` is an empty folder."""
        command = [program, "--headless=new", "--remote-debugging-port=0", "--no-sandbox"]
        command += ["--no-first-run", "--disable-gpu", "--disable-dev-shm-usage"]
        command += ["--disable-background-networking", "--disable-component-update"]
        command += ["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1"]
        command += [f"--user-data-dir={profile}", "about:blank"]
        self.said: list[dict[str, Any]] = []  # errors, and what pages wrote to the console
        self._events: list[dict[str, Any]] = []
        self._number = 0
        self._session: str | None = None
        self._process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            port, path = self._address(profile / "DevToolsActivePort")
            # An origin would have to be allowed, and there is none outside of pages.
            self._socket = websocket.create_connection(
                f"ws://127.0.0.1:{port}{path}", timeout=60, suppress_origin=True
            )
            self._attach()
        except BaseException:
            self._process.kill()
            raise

    def _address(self, note: Path) -> tuple[str, str]:
        deadline = time.monotonic() + 60
        while not (note.is_file() and len(note.read_text().split()) == 2):
            if self._process.poll() is not None:
                raise BrowserError("the browser ended as soon as it was started")
            if time.monotonic() > deadline:
                raise BrowserError("the browser did not start within a minute")
            time.sleep(0.05)
        port, path = note.read_text().split()
        return port, path

    def _attach(self) -> None:
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        answer = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = answer["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> Browser:
        """Return the page."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the browser."""
        self._socket.close()
        self._process.terminate()
        self._process.wait(30)

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the protocol; what happens meanwhile is kept."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        self._socket.send(json.dumps(message))
        while True:
            answer = self._receive()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise BrowserError(f"{method}: {answer['error']}")
                result: dict[str, Any] = answer["result"]
                return result

    def _receive(self) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(self._socket.recv())
        if answer.get("method") in ERRORS:
            self.said.append(answer)
        elif "method" in answer:
            self._events.append(answer)
        return answer

    def open(self, page: str) -> None:
        """Go to a URL and wait until the page is loaded, scripts and all."""
        self._events.clear()
        self.call("Page.navigate", url=page)
        self._loaded()

    def follow(self, link: str) -> None:
        """Click the link that a selector finds, and wait until its page is loaded."""
        self._events.clear()
        self.js(f"document.querySelector({json.dumps(link)}).click()")
        self._loaded()

    def _loaded(self) -> None:
        while not any(event["method"] == "Page.loadEventFired" for event in self._events):
            self._receive()

    def js(self, expression: str) -> Any:
        """Return the value of an expression in the page."""
        answer = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in answer:
            raise BrowserError(str(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def look(self, dark: bool = False, width: int = 1280, height: int = 900) -> None:
        """Set the colour scheme and the size of the screen."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        still = {"name": "prefers-reduced-motion", "value": "reduce"}
        self.call("Emulation.setEmulatedMedia", features=[scheme, still])
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **size)

    def press(self, key: str, code: int) -> None:
        """Press a key, such as Tab (9)."""
        text = {"text": "\r"} if key == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            self.call(
                "Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code, **text
            )

    def picture(self, path: Path, **options: Any) -> None:
        """Write a picture of the screen, as PNG.

        options: of Page.captureScreenshot, such as `clip`, a part of the page.
        """
        answer = self.call("Page.captureScreenshot", format="png", **options)
        path.write_bytes(b64decode(answer["data"]))
