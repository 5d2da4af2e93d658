"""The door of the core: a request, and what Kafka would do about it.

`decide` and `settle` look and never write. What comes out is carried out by the shell, in the
order that `drumbeat.core.outcome` states.
"""

from __future__ import annotations

from typing import Any, Final

from drumbeat.core.classic.rebalance import settle
from drumbeat.core.handlers import HANDLERS
from drumbeat.core.outcome import Context, Outcome
from drumbeat.core.session import View
from drumbeat.protocol.apis import APIS

__all__ = ["decide", "settle"]

_BY_REQUEST: Final = {APIS[key].request: handler for key, handler in HANDLERS.items()}


def decide(view: View, context: Context, request: Any) -> Outcome:
    """Answer one request of a group API, or park it."""
    return _BY_REQUEST[type(request)](view, context, request)
