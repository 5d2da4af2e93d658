"""Syncs that the kernel does by itself, so that no thread has to wait for them: Linux's AIO.

A thread fights the event loop for the interpreter when it is given a sync and again when it comes
back, and both pay for that. Here the loop hands the kernel a descriptor, and an eventfd says when
it is done. Where that is not to be had (another system, a sandbox), `open_kernel_sync` says so.
"""

from __future__ import annotations

import asyncio
import errno
import os
import struct
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

Done = Callable[[OSError | None], None]
SyncRequest = tuple[int, Done]  # a descriptor, and whom to tell

_FDSYNC: Final = 3  # IOCB_CMD_FDSYNC: what fdatasync does
_HAS_EVENTFD: Final = 1  # IOCB_FLAG_RESFD
_REQUESTS_MAX: Final = 64  # under way at a time; one more is refused
# struct iocb: data, key, rw_flags, opcode, priority, descriptor, buffer, size, offset, reserved,
# flags, eventfd; and of struct io_event the data that the request had, and the result.
_IOCB = struct.Struct("<QIIHhIQQqQII")
_EVENT = struct.Struct("<Q8xq8x")
_TIMESPEC = struct.Struct("<qq")


class _Numbers(NamedTuple):
    """Of the system calls, for which libc has no functions."""

    setup: int
    destroy: int
    submit: int
    get_events: int


_NUMBERS: Final = {
    "x86_64": _Numbers(setup=206, destroy=207, submit=209, get_events=208),
    "aarch64": _Numbers(setup=0, destroy=1, submit=2, get_events=4),
}


class KernelSync:
    """Several syncs at a time, told on one loop."""

    def __init__(self, calls: _Calls, context: int, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._calls = calls
        self._context = context
        self._eventfd = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._number = 0
        self._under_way: dict[int, Done] = {}
        loop.add_reader(self._eventfd, self._on_event)

    def submit(self, requests: Sequence[SyncRequest]) -> int:
        """Sync each and call its `done`; returns how many the kernel takes, from the first on.

        Of the others it is not called.
        """
        under_way, first = self._under_way, self._number + 1
        requests = requests[: _REQUESTS_MAX - len(under_way)]
        self._calls.fill(first, requests, self._eventfd)
        taken = self._calls.submit(self._context, len(requests)) if requests else 0
        for number, (_, done) in enumerate(requests[:taken], first):
            under_way[number] = done
        self._number += taken
        return taken

    def close(self) -> None:
        """Nothing is under way any more; if something were, the kernel would wait for it."""
        self.loop.remove_reader(self._eventfd)
        self._calls.destroy(self._context)
        os.close(self._eventfd)

    def _on_event(self) -> None:
        os.eventfd_read(self._eventfd)
        results = self._calls.results(self._context)
        if results is None:  # nobody knows how the syncs went
            results = [(number, errno.EIO) for number in self._under_way]
        for number, code in results:
            done = self._under_way.pop(number)
            done(OSError(code, os.strerror(code)) if code else None)


def open_kernel_sync(loop: asyncio.AbstractEventLoop) -> KernelSync | None:
    """None where this kernel, or what surrounds us, does not let us."""
    numbers = _NUMBERS.get(os.uname().machine)
    if numbers is None or not hasattr(os, "eventfd") or struct.calcsize("P") != 8:
        return None
    calls = _Calls(numbers)
    context = calls.setup()
    return None if context is None else KernelSync(calls, context, loop)


class _Calls:
    """The system calls. None of them waits, so the interpreter is not let go of for them."""

    def __init__(self, numbers: _Numbers) -> None:
        import ctypes  # noqa: PLC0415 - milliseconds, which only who writes has to spend

        self._ctypes = ctypes
        self._libc = ctypes.PyDLL(None, use_errno=True)
        self._numbers = numbers
        self._iocbs = ctypes.create_string_buffer(_IOCB.size * _REQUESTS_MAX)
        first = ctypes.addressof(self._iocbs)
        places = (first + _IOCB.size * number for number in range(_REQUESTS_MAX))
        self._pointers = (ctypes.c_void_p * _REQUESTS_MAX)(*places)
        self._events = ctypes.create_string_buffer(_EVENT.size * _REQUESTS_MAX)
        self._no_time = ctypes.create_string_buffer(_TIMESPEC.size)
        long, pointer = ctypes.c_long, ctypes.c_void_p
        self._submit = self._function(long, pointer, long, pointer)
        self._get_events = self._function(long, pointer, long, long, pointer, pointer)

    def _function(self, *argument_types: Any) -> Any:
        # By index, which gives a function object of its own each time.
        function = self._libc["syscall"]
        function.argtypes = argument_types
        function.restype = self._ctypes.c_long
        return function

    def setup(self) -> int | None:
        ctypes = self._ctypes
        context = ctypes.c_ulong(0)
        setup = self._function(ctypes.c_long, ctypes.c_uint, ctypes.c_void_p)
        is_set_up = setup(self._numbers.setup, _REQUESTS_MAX, ctypes.addressof(context)) == 0
        return context.value if is_set_up else None

    def destroy(self, context: int) -> None:
        destroy = self._function(self._ctypes.c_long, self._ctypes.c_void_p)
        destroy(self._numbers.destroy, context)

    def fill(self, first: int, requests: Sequence[SyncRequest], eventfd: int) -> None:
        """Write down the requests, numbered from `first` on."""
        pack, iocbs, position = _IOCB.pack_into, self._iocbs, 0
        for number, (fd, _) in enumerate(requests, first):
            # fmt: off
            pack(iocbs, position, number, 0, 0, _FDSYNC, 0, fd, 0, 0, 0, 0, _HAS_EVENTFD, eventfd)
            # fmt: on
            position += _IOCB.size

    def submit(self, context: int, count: int) -> int:
        """Hand over the first `count` of them; returns how many the kernel took."""
        taken = self._submit(self._numbers.submit, context, count, self._pointers)
        return max(int(taken), 0)

    def results(self, context: int) -> list[tuple[int, int]] | None:
        """Of the requests that are done: the number, and 0 or what went wrong as an errno."""
        events, no_time = self._events, self._no_time
        call = self._numbers.get_events
        count = self._get_events(call, context, 0, _REQUESTS_MAX, events, no_time)
        if count < 0:
            return None
        done = [_EVENT.unpack_from(events, place * _EVENT.size) for place in range(count)]
        return [(number, -result) for number, result in done]
