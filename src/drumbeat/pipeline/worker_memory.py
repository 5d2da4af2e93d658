"""Spark's Python workers, which are used for many tasks, and what they keep in memory."""

from __future__ import annotations

import gc
from functools import cache


@cache
def keep_modules() -> None:
    """To be called in a task: of this process, the first call counts.

    Workers collect garbage after every task. What they have imported will never be any, yet
    looking through all of it takes longer than a small task does.
    """
    gc.freeze()
