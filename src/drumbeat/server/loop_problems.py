"""What an event loop reports when nobody is there to catch it, as log lines that people can use."""

import asyncio
import errno
import logging
from typing import Any

log = logging.getLogger(__name__)

OUT_OF_DESCRIPTORS = (errno.EMFILE, errno.ENFILE)
REPEAT_S = 10.0


class LoopProblems:
    """An exception handler for `loop.set_exception_handler`.

    asyncio reports a failed accept up to a thousand times per second, with a traceback each.
    """

    def __init__(self) -> None:
        self._told_at = -REPEAT_S

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        problem = context.get("exception")
        if not isinstance(problem, OSError) or problem.errno not in OUT_OF_DESCRIPTORS:
            loop.default_exception_handler(context)
        elif loop.time() - self._told_at >= REPEAT_S:
            self._told_at = loop.time()
            log.error(
                "no file descriptors left (%s): new connections have to wait; raise the limit "
                "with 'ulimit -n', or set max.connections below it",
                problem.strerror,
            )
