"""Admission of queries: a few run at once, some wait, and the rest get a 503.

Queries run in threads, which compete with the event loop for the interpreter. Limiting them keeps
events, health checks, keys and streams fast, whatever the number of clients. `Queried` applies the
limit to every route that reads the projection.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import cached_property
from typing import Any

from fastapi import Request, Response
from fastapi.datastructures import DefaultPlaceholder
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from fastapi.utils import create_model_field

from headwater import deadline, memory
from headwater.errors import BusyError, DeadlineError

_GONE = 499  # nginx's code for a closed connection; no client receives it


class Admission:
    """Slots for running queries, a limited queue for a slot, and the memory of their answers."""

    def __init__(self, running: int, waiting: int, memory_of_answers: int = 2**40) -> None:
        self.budget = memory.Budget(memory_of_answers)
        self._running, self._most_waiting = running, waiting
        self._slots = asyncio.Semaphore(running)
        self.waiting = 0
        self._taken = 0  # slots in use

    @property
    def is_full(self) -> bool:
        """True if a new query would have to wait."""
        return self._slots.locked()

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[bool]:
        """Wait for a slot and hold it; yield True if the query had to wait.

        Raises:
            BusyError: the queue is full, or the time limit of the query has passed while others
                ran too, so that it may succeed later.
        """
        has_waited = self.is_full
        if has_waited and self.waiting >= self._most_waiting:
            raise BusyError(
                f"{self._running} queries run and {self.waiting} wait, which is the limit:"
                " retry later, or raise HEADWATER_WAITING_QUERIES"
            )
        self.waiting += 1
        try:
            async with asyncio.timeout(deadline.left() if has_waited else None):
                await self._slots.acquire()
        except TimeoutError:
            raise BusyError(
                f"{self._running} queries run, which is the limit, and none ended before the"
                " deadline of this one: retry later, or raise HEADWATER_LONGEST_QUERY"
            ) from None
        finally:
            self.waiting -= 1
        self._taken += 1
        is_shared = has_waited or self._taken > 1
        account = memory.open_account(self.budget)
        try:
            yield has_waited
        except DeadlineError as error:
            if not is_shared and self._taken == 1:
                raise
            raise BusyError(f"other queries ran at the same time: retry later; {error}") from None
        finally:
            account.close()
            self._taken -= 1
            self._slots.release()


class Documented(APIRoute):
    """A route that builds the model of its response only when the API is documented.

    Endpoints return encoded responses, so only `/openapi.json` needs the models. Building them
    would take a third of a server's start.
    """

    def __init__(
        self, path: str, endpoint: Callable[..., Any], *, response_model: Any, **documented: Any
    ) -> None:
        super().__init__(path, endpoint, response_model=None, **documented)
        is_given = not isinstance(response_model, DefaultPlaceholder)
        self.response_model = response_model if is_given else None
        del self.response_field  # reads then get the property

    @cached_property
    def response_field(self) -> Any:  # type: ignore[override]
        """Return the model by which the response is documented."""
        if self.response_model is None:
            return None
        name = f"Response_{self.unique_id}"
        return create_model_field(name=name, type_=self.response_model, mode="serialization")


class Strict(Documented):
    """A route that rejects unknown query parameters in /api/v2; Marquez's clients may send some."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return a handler that first checks the names of the query parameters."""
        handle = super().get_route_handler()
        names = [parameter.alias for parameter in self.dependant.query_params]
        allowed = f"Input should be {', '.join(map(repr, names)) or 'none'}"

        async def checked(request: Request) -> Response:
            if unknown := [name for name in request.query_params if name not in names]:
                about = {"type": "unknown", "loc": ("query parameter",), "msg": allowed}
                raise RequestValidationError([{**about, "input": name} for name in unknown])
            return await handle(request)

        return checked if self.path.startswith("/api/v2/") else handle


class Queried(Strict):
    """A route that reads the projection: it needs a slot, and its deadline starts on arrival."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return a handler that first waits for a slot."""
        handle = super().get_route_handler()

        async def admitted(request: Request) -> Response:
            state = request.app.state
            deadline.start(state.options.longest_query)
            async with state.admission.slot() as has_waited:
                if has_waited and request.method == "GET" and await request.is_disconnected():
                    return Response(status_code=_GONE)
                return await handle(request)

        return admitted
