"""One client connection: frames in, response frames out, in the order of the requests.

Requests are handled as they arrive, one after the other. An answer that waits for other clients
mutes the connection until it is there; one that waits for the disk does not, so that pipelined
requests share a sync; answers leave in order either way. All that one wake-up produces leaves in
one write. While the peer does not read its answers, nothing more is read from it.
"""

import asyncio
import logging
from collections import deque
from typing import TYPE_CHECKING, Any, cast

from drumbeat.protocol.errors import ProtocolError
from drumbeat.protocol.frame import FrameDecoder
from drumbeat.runtime.dispatch import Answer, Dispatcher

if TYPE_CHECKING:
    from drumbeat.server.listener import Listener

log = logging.getLogger(__name__)

WRITE_BUFFER_BYTES_MAX = 1 << 20  # above this the peer is a slow reader
UNANSWERED_MAX = 100  # answers waiting for the disk before the connection is muted

# All connections receive into this one buffer and copy out at once. A buffer per receive, which
# is what asyncio.Protocol does, costs more than everything else that a heartbeat needs.
_RECEIVE_BUFFER = memoryview(bytearray(256 * 1024))


class _Slot:
    """The place in the order of answers that one request holds until its answer is there."""

    __slots__ = ("answer", "frame")

    def __init__(self, answer: Answer | None, frame: bytes | None) -> None:
        self.answer = answer
        self.frame = frame


class Connection(asyncio.BufferedProtocol):
    def __init__(self, listener: "Listener", dispatcher: Dispatcher, frame_bytes_max: int) -> None:
        self._listener = listener
        self._dispatcher = dispatcher
        self._decoder = FrameDecoder(frame_bytes_max)
        self._frames: deque[bytes] = deque()  # received, not yet handled
        self._slots: deque[_Slot] = deque()  # handled, not yet answered
        self._out: list[bytes] = []
        self._is_muted = False
        self._is_write_paused = False
        self._is_handling = False
        self._transport: asyncio.Transport | None = None
        self.client_host = ""
        self.last_active_ms = 0
        self.partial_since_ms: int | None = None  # when the frame being received was begun

    # -- asyncio's side --------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports have asyncio.Transport's methods without being one.
        transport = cast("asyncio.Transport", transport)
        self._transport = transport
        transport.set_write_buffer_limits(high=WRITE_BUFFER_BYTES_MAX)
        peer = transport.get_extra_info("peername")
        self.client_host = peer[0] if peer else ""
        self._listener.admit(self)

    def get_buffer(self, sizehint: int) -> memoryview:
        return _RECEIVE_BUFFER

    def buffer_updated(self, nbytes: int) -> None:
        self.last_active_ms = self._listener.now_ms()
        try:
            self._frames.extend(self._decoder.feed(_RECEIVE_BUFFER[:nbytes]))
        except ProtocolError as problem:
            self._refuse(problem)
            return
        if not self._decoder.buffered_bytes:
            self.partial_since_ms = None
        elif self.partial_since_ms is None:
            self.partial_since_ms = self.last_active_ms
        self._handle_frames()

    def pause_writing(self) -> None:
        self._is_write_paused = True
        self._throttle()

    def resume_writing(self) -> None:
        self._is_write_paused = False
        self._handle_frames()

    def connection_lost(self, exc: Exception | None) -> None:
        self._listener.forget(self)
        self._transport = None
        self._frames.clear()
        for slot in self._slots:
            if slot.answer is not None:
                slot.answer.deferred.abandon()
        self._slots.clear()

    # -- requests --------------------------------------------------------------------------------

    def _handle_frames(self) -> None:
        if self._is_handling:
            return
        self._is_handling = True
        try:
            while self._frames and not self._is_blocked():
                self._handle(self._frames.popleft())
        except ProtocolError as problem:
            self._refuse(problem)
        except Exception:
            # A bug of ours must not take other clients down with this one.
            log.exception("%s: request failed; closing the connection", self)
            self.abort()
        finally:
            self._is_handling = False
        self._flush()
        self._throttle()

    def _is_blocked(self) -> bool:
        return self._is_muted or self._is_write_paused or self._transport is None

    def _handle(self, frame: bytes) -> None:
        result = self._dispatcher.dispatch(frame, self.client_host)
        if result is None:
            return
        if isinstance(result, Answer):
            self._await_answer(result)
        elif self._slots:
            self._slots.append(_Slot(None, result))
        else:
            self._out.append(result)

    def _await_answer(self, answer: Answer) -> None:
        slot = _Slot(answer, None)
        self._slots.append(slot)
        self._is_muted = answer.deferred.mutes or len(self._slots) >= UNANSWERED_MAX
        answer.deferred.when_settled(
            lambda response, problem: self._answered(slot, response, problem)
        )

    # -- answers ---------------------------------------------------------------------------------

    def _answered(self, slot: _Slot, response: Any, problem: Exception | None) -> None:
        assert slot.answer is not None
        if problem is not None:
            log.error("%s: request failed; closing the connection", self, exc_info=problem)
            self.abort()
            return
        slot.frame = slot.answer.frame(response)
        while self._slots and (ready := self._slots[0].frame) is not None:
            self._slots.popleft()
            self._out.append(ready)
        self._is_muted = any(s.answer and s.answer.deferred.mutes for s in self._slots)
        self._listener.wake(self)

    def wake(self) -> None:
        """Called once per loop turn in which answers became ready."""
        self._handle_frames()

    def _flush(self) -> None:
        if self._out and self._transport is not None:
            data = self._out[0] if len(self._out) == 1 else b"".join(self._out)
            self._out.clear()
            self._transport.write(data)

    def _throttle(self) -> None:
        """Read from the peer only while its requests are being handled."""
        if self._transport is None or self._transport.is_closing():
            return
        if self._is_blocked():
            self._transport.pause_reading()
        else:
            self._transport.resume_reading()

    # -- endings ---------------------------------------------------------------------------------

    @property
    def is_idle(self) -> bool:
        return not self._slots

    def _refuse(self, problem: ProtocolError) -> None:
        log.warning("%s: %s; closing the connection", self, problem)
        self._flush()
        self.close()

    def close(self) -> None:
        """Close once what has been answered is sent."""
        self._frames.clear()
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        self._frames.clear()
        if self._transport is not None:
            self._transport.abort()

    def __str__(self) -> str:
        peer = self._transport.get_extra_info("peername") if self._transport else None
        return f"{peer[0]}:{peer[1]}" if peer else self.client_host or "a closed connection"
