"""Answers where no dialect has one: an unknown address, a full disk, a fault in this program.

In the shape that Google's libraries read, so that the reader meets the sentence.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from local_cloud.disk_errors import say
from local_cloud.errors import shorten

STATUS = {404: "NOT_FOUND", 405: "UNIMPLEMENTED", 500: "INTERNAL", 507: "RESOURCE_EXHAUSTED"}
Handler = Callable[[Request, Any], Response]


def handlers(log: Path) -> dict[Any, Handler]:
    """Return the handlers for Starlette, by exception.

    log: the server's, where a fault is written in full.
    """

    def unknown(request: Request, problem: HTTPException) -> JSONResponse:
        where = f"{request.method} {request.scope['path'].removeprefix(request.scope['root_path'])}"
        return _answer(problem.status_code, f"the local cloud knows no {where}")

    def disk(_: Request, problem: Exception) -> JSONResponse:
        logging.getLogger(__name__).error("the disk refuses", exc_info=problem)
        # 507: unlike 500 and 503, the libraries do not try again for minutes.
        step = f"free some space, or check that {log.parent} is writable"
        return _answer(507, say(problem, step))

    def fault(_: Request, problem: Exception) -> JSONResponse:
        what = f"the local cloud made a mistake ({type(problem).__name__}: {problem})"
        return _answer(500, f"{what}; its log, {log}, has more")

    return {HTTPException: unknown, OSError: disk, sqlite3.OperationalError: disk, Exception: fault}


def _answer(code: int, message: str) -> JSONResponse:
    error = {"code": code, "message": shorten(message), "status": STATUS.get(code, "UNKNOWN")}
    return JSONResponse({"error": error}, code)
