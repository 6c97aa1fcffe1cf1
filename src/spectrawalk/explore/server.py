"""The explorer's routes; ``ROUTES.md`` describes them."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from spectrawalk.errors import ParameterError, SpectrawalkError
from spectrawalk.explore import views
from spectrawalk.explore.opening import NotOpenError, Opening
from spectrawalk.explore.runs import BusyError, NoRunError, Runs
from spectrawalk.explore.security import LARGEST_BODY, Guard, Keys
from spectrawalk.explore.session import OutdatedError
from spectrawalk.explore.steps import NONE, State, take_step
from spectrawalk.parameters import shown
from spectrawalk.results.composite import color_bands, composite

PAGE = Path(__file__).parent / "page"
_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".woff2": "font/woff2",
}
_STATUS: dict[type[Exception], int] = {OutdatedError: 409, BusyError: 409, NoRunError: 404}
_CURVE = 100  # values of the sorted D_t
_MOST_QUERIES = 1000


def application(opening: Opening, keys: Keys) -> ASGIApp:
    """Build the server's application, guarded."""
    return Guard(_Explorer(opening).application(), keys)


class _Explorer:
    def __init__(self, opening: Opening) -> None:
        self._opening = opening
        self._started = secrets.token_hex(8)

    @property
    def _runs(self) -> Runs:
        return self._opening.runs

    def application(self) -> Starlette:
        read: dict[str, Callable[[Request], Response]] = {
            "/": self.index,
            "/page/{name:path}": self.page,
            "/api/alive": self.alive,
            "/api/state": lambda request: self.answer_state(),
            "/api/leaf": self.leaf,
            "/api/confidence": self.confidence,
            "/api/truth": self.truth,
            "/api/composite": self.composite,
            "/api/spectra": self.spectra,
            "/api/pixel": self.pixel,
            "/api/embedding": self.embedding,
            "/api/curve": self.curve,
            "/api/query": self.query,
            "/api/runs": lambda request: JSONResponse({"runs": self._runs.describe()}),
            "/api/compare": self.compare,
        }
        change: dict[str, Callable[[Request, dict[str, Any]], Response]] = {
            "/api/step": self.step,
            "/api/relabel": lambda request, body: self.step(request, body | {"op": "relabel"}),
            "/api/undo": self.undo,
            "/api/redo": self.redo,
            "/api/run": self.run,
            "/api/runs/{number:int}/cancel": self.cancel,
            "/api/runs/{number:int}/show": self.show,
            "/api/export": self.export,
        }
        routes = [Route(path, handler, methods=["GET"]) for path, handler in read.items()]
        routes += [
            Route(path, partial(_with_body, handler), methods=["POST"])
            for path, handler in change.items()
        ]
        return Starlette(
            routes=routes,
            middleware=[Middleware(GZipMiddleware, minimum_size=2000, compresslevel=1)],
            exception_handlers={
                HTTPException: _say_status,
                NotOpenError: self.say_wait,
                SpectrawalkError: _say_sentence,
                Exception: _say_fault,
            },
        )

    # The page

    def index(self, request: Request) -> Response:
        return _file(PAGE / "index.html")

    def page(self, request: Request) -> Response:
        name = request.path_params["name"]
        # The name is looked up, never joined to a path.
        shipped = {
            path.relative_to(PAGE).as_posix(): path
            for path in PAGE.rglob("*")
            if path.suffix in _TYPES and path.is_file() and not path.is_symlink()
        }
        if name not in shipped:
            raise HTTPException(404, "the page has no such file.")
        return _file(shipped[name])

    # Reading

    def alive(self, request: Request) -> Response:
        try:
            runs = self._runs
        except NotOpenError:  # not 503, which browsers write to their console each time
            return JSONResponse({"starting": self._opening.describe(), "started": self._started})
        with runs.session.lock:
            number, state = runs.shown.number, runs.state
            return JSONResponse(
                {
                    "revision": runs.session.revision,
                    "leaf_version": f"{number}-{state.version}",
                    "run": number,
                    "started": self._started,
                }
            )

    def say_wait(self, request: Request, error: Exception) -> Response:
        return JSONResponse({"error": str(error), "starting": self._opening.describe()}, 503)

    def answer_state(self) -> Response:
        return JSONResponse(self.state())

    def state(self) -> dict[str, Any]:
        runs = self._runs
        # One moment of the session, though another tab may change it.
        with runs.session.lock:
            session, run, state = runs.session, runs.shown, runs.state
            told = {
                "revision": session.revision,
                "session": {
                    "steps": session.steps,
                    "undo": len(session.steps),
                    "redo": session.n_undone,
                    "saved_at": session.saved_at,
                    "remark": session.remark,
                    "history": [{"text": text} for text in session.history],
                },
                "run": run.number,
            }
        scene = runs.opened.scene
        model = runs.described.get(
            ("model", run.number), lambda: views.describe_model(state.fit, run.parameters)
        )
        shown = views.describe_state(runs.numbers, state)
        shown["leaf_version"] = f"{run.number}-{shown['leaf_version']}"
        if shown["relabel"] is not None:
            shown["relabel"]["largest_n_eigenpairs"] = len(state.fit.eigenvalues_)  # type: ignore[union-attr]
        return {
            **told,
            "scene": runs.described.get("scene", lambda: views.describe_scene(scene)),
            **model,
            **shown,
            "composite": color_bands(scene).bands,
            "output": str(runs.opened.output),
        }

    def shown_at(self, request: Request) -> State:
        """State on the screen, or the same at another number of clusters."""
        state = self._runs.state
        k = _number(request, "k", None)
        return state if k is None else take_step(state, {"op": "cut", "k": k})

    def leaf(self, request: Request) -> Response:
        number = _number(request, "run", None)
        if number is None:
            return _bytes(self._runs.state.parts.tobytes())
        state = self._runs.finished(number).state
        table = np.full(NONE + 1, NONE, dtype=np.uint8)
        table[: len(state.cluster_of)] = [min(each, NONE) for each in state.cluster_of]
        return _bytes(table[state.parts].tobytes())

    def confidence(self, request: Request) -> Response:
        return _bytes(self._runs.numbers.certainty(self.shown_at(request)).data)

    def truth(self, request: Request) -> Response:
        scene = self._runs.opened.scene
        if scene.ground_truth is None:
            raise HTTPException(404, "the scene has no ground truth.")
        return _bytes(self._runs.pictures.get("truth", lambda: views.truth_bytes(scene)))

    def composite(self, request: Request) -> Response:
        scene, query = self._runs.opened.scene, request.query_params
        low, high = _real(query.get("low", "2")), _real(query.get("high", "98"))
        given = query.get("bands")
        bands = color_bands(scene).bands if given is None else tuple(map(_whole, given.split(",")))
        key = ("composite", bands, low, high)
        drawn = self._runs.pictures.get(key, lambda: composite(scene, bands, low, high).tobytes())
        return _bytes(drawn)

    def spectra(self, request: Request) -> Response:
        return JSONResponse(views.spectra_view(self._runs.numbers, self.shown_at(request)))

    def pixel(self, request: Request) -> Response:
        row, col = _number(request, "row"), _number(request, "col")
        assert row is not None
        assert col is not None
        state = self.shown_at(request)
        return JSONResponse(views.pixel_view(self._runs.numbers, state, row, col))

    def embedding(self, request: Request) -> Response:
        runs = self._runs
        x, y = _number(request, "x", 1), _number(request, "y", 2)
        assert x is not None
        assert y is not None
        state, number = runs.state, runs.shown.number
        key = ("embedding", number, *sorted(state.labelling.items()))
        found = runs.pictures.get(key, lambda: views.embedding(runs.opened.scene, state.model))
        return JSONResponse(views.embedding_view(found, x, y))

    def curve(self, request: Request) -> Response:
        model = self._runs.state.model
        if not hasattr(model, "mode_score_"):
            raise HTTPException(404, "a tree has no curve of D_t; only a single run has.")
        scores = model.mode_score_[np.isfinite(model.mode_score_)]
        largest = -np.sort(-scores)[:_CURVE]
        return JSONResponse({"sorted": views.plain(largest), "n_clusters": model.n_clusters_})

    def query(self, request: Request) -> Response:
        state = self._runs.state
        budget = _number(request, "budget", 1)
        if not hasattr(state.model, "query"):
            raise ParameterError("a single run asks no questions; use SpectraWalk.")
        if budget is None or not 1 <= budget <= _MOST_QUERIES:
            raise ParameterError(f"budget={budget} cannot be used; give 1 to {_MOST_QUERIES:,}.")
        chosen = state.model.query(budget, dict(state.answers))
        cols = state.parts.shape[1]
        pixels = [
            {"pixel": int(pixel), "row": int(pixel) // cols, "col": int(pixel) % cols}
            for pixel in chosen
        ]
        return JSONResponse({"pixels": pixels})

    def compare(self, request: Request) -> Response:
        return JSONResponse(self._runs.compare(_number(request, "a"), _number(request, "b")))

    # Changing

    def step(self, request: Request, body: dict[str, Any]) -> Response:
        self._runs.session.take(body, body.get("revision"))
        return self.answer_state()

    def undo(self, request: Request, body: dict[str, Any]) -> Response:
        self._runs.session.undo(body.get("revision"))
        return self.answer_state()

    def redo(self, request: Request, body: dict[str, Any]) -> Response:
        self._runs.session.redo(body.get("revision"))
        return self.answer_state()

    def run(self, request: Request, body: dict[str, Any]) -> Response:
        run = self._runs.start(body.get("method", "SpectraWalk"), body.get("parameters", {}))
        return JSONResponse(run.describe() | {"shown": False}, 202)

    def cancel(self, request: Request, body: dict[str, Any]) -> Response:
        run = self._runs.cancel(request.path_params["number"])
        return JSONResponse(run.describe() | {"shown": False})

    def show(self, request: Request, body: dict[str, Any]) -> Response:
        self._runs.show(request.path_params["number"])
        return self.answer_state()

    def export(self, request: Request, body: dict[str, Any]) -> Response:
        report = body.get("report", True) is not False
        overwrite = body.get("overwrite", False) is True
        written = self._runs.export(body.get("folder"), report=report, overwrite=overwrite)
        return JSONResponse(written)


async def _with_body(
    handler: Callable[[Request, dict[str, Any]], Response], request: Request
) -> Response:
    """Read the body, within its limit, and answer in a thread."""
    content = bytearray()
    async for part in request.stream():
        content += part
        if len(content) > LARGEST_BODY:  # it came in chunks, without saying how long it is
            raise HTTPException(413, f"a request has at most {LARGEST_BODY:,} bytes.")
    try:
        body = json.loads(bytes(content) or b"{}")
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        raise HTTPException(400, "the body is no JSON object.")
    return await run_in_threadpool(handler, request, body)


def _file(path: Path) -> Response:
    return FileResponse(path, media_type=_TYPES[path.suffix])


def _bytes(content: bytes) -> Response:
    return Response(content, media_type="application/octet-stream")


_REQUIRED = -1


def _number(request: Request, name: str, default: int | None = _REQUIRED) -> int | None:
    text = request.query_params.get(name)
    if text is None:
        if default == _REQUIRED:
            raise ParameterError(f"'{name}' is missing; give a whole number.")
        return default
    return _whole(text)


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 12):
        raise ParameterError(f"{shown(text)} cannot be used; give a whole number from 0.")
    return int(text)


def _real(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if not np.isfinite(number):
        raise ParameterError(f"{shown(text)} cannot be used; give a number.")
    return number


def _say_status(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": error.detail}, error.status_code)


def _say_sentence(request: Request, error: Exception) -> Response:
    status = next((code for kind, code in _STATUS.items() if isinstance(error, kind)), 400)
    return JSONResponse({"error": str(error)}, status)


def _say_fault(request: Request, error: Exception) -> Response:
    return JSONResponse({"error": f"the server failed ({type(error).__name__})."}, 500)
