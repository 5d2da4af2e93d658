"""One direction of a connection, and the weather that it is exposed to."""

import asyncio
import contextvars
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

GAP_S = 1e-6  # between two arrivals on one connection, so that their order is certain


@dataclass
class Weather:
    """What the network is like at the moment."""

    delay_ms: tuple[float, float] = (0.1, 2.0)
    long_delay_ms: tuple[float, float] = (100.0, 8_000.0)
    is_long: float = 0.0  # the share of messages that take long
    is_chopped: float = 0.0  # ... that arrive in pieces
    is_lost: float = 0.0  # the share of answers that get lost, and their connection with them
    is_id_lost: float = 0.0  # ... of those that hand out a member id


class Pipe:
    """What is put in comes out later, in order. `context` is whose world it comes out in."""

    def __init__(
        self, delay_s: Callable[[], float], context: contextvars.Context | None = None
    ) -> None:
        self._delay_s = delay_s
        self._context = context
        self._last_s = 0.0
        self._under_way: deque[asyncio.TimerHandle] = deque()

    def put(self, deliver: Callable[..., None], *args: Any) -> None:
        loop = asyncio.get_running_loop()
        at_s = max(self._last_s + GAP_S, loop.time() + self._delay_s())
        self._last_s = at_s
        handle = loop.call_at(at_s, self._come_out, deliver, args, context=self._context)
        self._under_way.append(handle)

    def _come_out(self, deliver: Callable[..., None], args: tuple[Any, ...]) -> None:
        self._under_way.popleft()
        deliver(*args)

    def drop(self) -> None:
        """Whatever is under way is lost."""
        for handle in self._under_way:
            handle.cancel()
        self._under_way.clear()
