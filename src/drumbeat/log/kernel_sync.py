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
from collections.abc import Callable
from typing import Any, Final, NamedTuple

Done = Callable[[OSError | None], None]

_FDSYNC: Final = 3  # IOCB_CMD_FDSYNC: what fdatasync does
_HAS_EVENTFD: Final = 1  # IOCB_FLAG_RESFD
_REQUESTS: Final = 1  # at a time
# struct iocb: data, key, rw_flags, opcode, priority, descriptor, buffer, size, offset, reserved,
# flags, eventfd; and of struct io_event the result, behind data and request.
_IOCB = struct.Struct("<QIIHhIQQqQII")
_EVENT = struct.Struct("<16xq8x")
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
    """One sync at a time, told on one loop."""

    def __init__(self, calls: _Calls, context: int, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._calls = calls
        self._context = context
        self._eventfd = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._done: Done | None = None
        loop.add_reader(self._eventfd, self._on_event)

    def submit(self, fd: int, done: Done) -> bool:
        """Sync and call `done`; False if the kernel refuses, and then it is not called."""
        assert self._done is None, "one at a time"
        if not self._calls.submit(self._context, fd, self._eventfd):
            return False
        self._done = done
        return True

    def close(self) -> None:
        """Nothing is under way any more; if something were, the kernel would wait for it."""
        self.loop.remove_reader(self._eventfd)
        self._calls.destroy(self._context)
        os.close(self._eventfd)

    def _on_event(self) -> None:
        os.eventfd_read(self._eventfd)
        done, self._done = self._done, None
        assert done is not None, "the kernel speaks when spoken to"
        code = self._calls.result(self._context)
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
        self._iocb = ctypes.create_string_buffer(_IOCB.size)
        self._iocbs = ctypes.c_void_p(ctypes.addressof(self._iocb))
        self._event = ctypes.create_string_buffer(_EVENT.size)
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
        is_set_up = setup(self._numbers.setup, _REQUESTS, ctypes.addressof(context)) == 0
        return context.value if is_set_up else None

    def destroy(self, context: int) -> None:
        destroy = self._function(self._ctypes.c_long, self._ctypes.c_void_p)
        destroy(self._numbers.destroy, context)

    def submit(self, context: int, fd: int, eventfd: int) -> bool:
        request = (0, 0, 0, _FDSYNC, 0, fd, 0, 0, 0, 0, _HAS_EVENTFD, eventfd)
        _IOCB.pack_into(self._iocb, 0, *request)
        submitted = self._submit(self._numbers.submit, context, 1, self._ctypes.byref(self._iocbs))
        return bool(submitted == 1)

    def result(self, context: int) -> int:
        """Of the request that is done: 0, or what went wrong as an errno."""
        event, no_time = self._event, self._no_time
        if self._get_events(self._numbers.get_events, context, 1, 1, event, no_time) != 1:
            return errno.EIO  # nobody knows how the sync went
        (result,) = _EVENT.unpack(event.raw)
        return -int(result)
