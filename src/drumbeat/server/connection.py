"""One client connection: frames in, response frames out, in the order of the requests.

Requests are handled as they arrive, one after the other, and some at a time, so that no client
keeps the others waiting. An answer that waits for other clients mutes the connection until it is
there; one that waits for the disk does not, so that pipelined requests share a sync. All that one
wake-up produces leaves in one write. While the peer does not read its answers, none are made.
"""

import asyncio
import logging
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

from drumbeat.protocol.errors import ProtocolError
from drumbeat.protocol.frame import FrameDecoder
from drumbeat.protocol.pieces import Pieces
from drumbeat.runtime.dispatch import Answer, Dispatcher, response_frame
from drumbeat.runtime.requests import NO_RESPONSE
from drumbeat.server.answers import Answers, Slot
from drumbeat.server.sender import Sender

if TYPE_CHECKING:
    from drumbeat.server.listener import Listener

log = logging.getLogger(__name__)

TURN_MS_MAX: Final = 5  # then the other connections have their requests handled
LARGE_ANSWER_BYTES: Final = (
    64 * 1024
)  # leaves at once: the peer may not read it, and more would pile up
PEER_MS_MAX: Final = 30_000  # to finish a frame that was begun, or to read the last answers


class Connection(asyncio.BufferedProtocol):
    def __init__(self, listener: "Listener", dispatcher: Dispatcher, frame_bytes_max: int) -> None:
        self._listener = listener
        self._wake_ups = listener.wake_ups
        self._now_ms = listener.now_ms
        self._dispatcher = dispatcher
        self._receive_buffer = listener.receive_buffer
        self._decoder = FrameDecoder(frame_bytes_max)
        self._frames: deque[bytes] = deque()  # received, not yet handled
        self._answers = Answers()
        self._transport: asyncio.Transport | None = None
        self._sender: Sender | None = None
        self._is_reading = True
        self._is_write_paused = False
        self._is_closing = False
        self._name = "a closed connection"
        self._active_ms = 0
        self._unsent_bytes = 0  # when it was last asked whether the connection is idle
        self._peer_since_ms: int | None = None  # since when it is the peer's turn; see PEER_MS_MAX
        self.client_host = ""
        self._java_host = "/"

    # -- asyncio's side --------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports have asyncio.Transport's methods without being one.
        transport = self._transport = cast("asyncio.Transport", transport)
        self._sender = Sender(transport, partial(self._wake_ups.add, self))
        if peer := transport.get_extra_info("peername"):
            self.client_host = peer[0]
            self._java_host = f"/{peer[0]}"
            self._name = f"{peer[0]}:{peer[1]}"
        self._active_ms = self._now_ms()
        self._listener.admit(self)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._receive_buffer

    def buffer_updated(self, nbytes: int) -> None:
        self._active_ms = self._now_ms()
        try:
            frames = self._decoder.feed(self._receive_buffer, nbytes)
        except ProtocolError as problem:
            self._refuse(problem)
            return
        if frames:
            self._frames.extend(frames)
            self._peer_since_ms = None
        self._handle_frames()
        if self._decoder.partial:
            self._check_beginning()

    def _check_beginning(self) -> None:
        """Garbage behind whole frames is refused once these are handled."""
        try:
            self._frames.extend(self._decoder.feed(b"", 0))
        except ProtocolError as problem:
            self._refuse(problem)

    def pause_writing(self) -> None:
        self._is_write_paused = True

    def resume_writing(self) -> None:
        self._is_write_paused = False
        self._active_ms = self._now_ms()
        # Not from here: uvloop calls this in the middle of a write.
        self._wake_ups.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._is_closing = True
        self._frames.clear()
        self._answers.abandon()
        if self._sender is not None:
            self._sender.clear()
        # They hold this connection in turn: only the collector could free them together.
        self._sender = self._transport = None
        self._listener.forget(self)

    # -- requests --------------------------------------------------------------------------------

    def _handle_frames(self) -> None:
        try:
            self._handle_some()
        except ProtocolError as problem:
            self._refuse(problem)
        except Exception:
            # A bug of ours must not take other clients down with this one.
            log.exception("%s: request failed; closing the connection", self)
            self.abort()
        self._flush()
        self._throttle()

    def _handle_some(self) -> None:
        frames, now_ms = self._frames, self._now_ms
        turn_ends_ms = now_ms() + TURN_MS_MAX if len(frames) > 1 else 0
        while frames and not self._is_blocked():
            self._handle(frames.popleft())
            if frames and now_ms() >= turn_ends_ms:
                self._wake_ups.add(self)
                return

    def _is_blocked(self) -> bool:
        if self._is_write_paused or self._is_closing:
            return True
        if self._sender is not None and self._sender.has_unsent:
            return True
        answers = self._answers
        return bool(answers.slots) and answers.blocks_next()

    def _handle(self, frame: bytes) -> None:
        result = self._dispatcher.dispatch(frame, self._java_host)
        if isinstance(result, Answer):
            slot = self._answers.reserve(result.deferred, len(frame))
            result.deferred.when_settled(_Delivery(self, slot, result))
        elif result is not None:
            self._answers.add(result)
            if len(result) >= LARGE_ANSWER_BYTES:
                self._flush()

    # -- answers ---------------------------------------------------------------------------------

    def answered(
        self, slot: Slot, answer: Answer, response: Any, problem: Exception | None
    ) -> None:
        if self._is_closing:
            return
        if problem is not None:
            self._fail(problem)
            return
        frame: bytes | Pieces = b""
        # A handler may find out late that none is due: Produce with acks=0 that opened a partition.
        if response is not NO_RESPONSE:
            try:
                frame = response_frame(answer.endpoint, answer.correlation_id, response)
            except Exception as bug:  # noqa: BLE001 - who settled the answer has others to tell
                self._fail(bug)
                return
        self._answers.fill(slot, frame)
        self._wake_ups.add(self)

    def _fail(self, problem: Exception) -> None:
        if isinstance(problem, ProtocolError):
            self._refuse(problem)
            return
        log.error("%s: request failed; closing the connection", self, exc_info=problem)
        self.abort()

    def wake(self) -> None:
        """Called once per loop turn in which answers became ready or requests were left over."""
        if self._frames or self._decoder.partial or not self._is_reading:
            self._handle_frames()
        else:
            self._flush()  # all that an answered commit needs

    def _flush(self) -> None:
        transport, sender, answers = self._transport, self._sender, self._answers
        if transport is None or sender is None:
            return
        if not answers.ready and not sender.has_unsent:
            return  # a request that has to wait for its answer
        if transport.is_closing():
            return
        if answers.ready:
            sender.send(answers.take())
        else:
            sender.resume()

    def _throttle(self) -> None:
        """Read on unless there is something to handle first.

        A muted connection is read too, until something comes: it is how a client that goes away
        while it waits is noticed.
        """
        if self._is_closing:
            return
        unfinished = self._decoder.partial
        if not unfinished and not self._frames and self._is_reading:
            self._peer_since_ms = None  # as nearly always
            return
        if self._frames or (unfinished and self._is_blocked()):
            self._read(False)
            self._peer_since_ms = None
            return
        self._read(True)
        if not unfinished:
            self._peer_since_ms = None
        elif self._peer_since_ms is None:
            self._peer_since_ms = self._now_ms()

    def _read(self, wanted: bool) -> None:
        transport = self._transport
        if wanted is self._is_reading or transport is None or transport.is_closing():
            return
        self._is_reading = wanted
        if wanted:
            transport.resume_reading()
        else:
            transport.pause_reading()

    # -- endings ---------------------------------------------------------------------------------

    def idle_ms(self, now_ms: int) -> int:
        """How long nothing has come or gone, unless the connection waits for us."""
        unsent_bytes = self._sender.unsent_bytes if self._sender else 0
        if unsent_bytes != self._unsent_bytes or self._answers.slots:
            self._unsent_bytes = unsent_bytes
            self._active_ms = now_ms
        return now_ms - self._active_ms

    def is_overdue(self, now_ms: int) -> bool:
        """Whether the peer has left something half done for too long."""
        since_ms = self._peer_since_ms
        return since_ms is not None and now_ms - since_ms > PEER_MS_MAX

    def _refuse(self, problem: ProtocolError) -> None:
        log.warning("%s: %s; closing the connection", self, problem)
        self.close()

    def close(self) -> None:
        """Close once the peer has read what was answered; it has a limited time to do so."""
        self._flush()
        self._is_closing = True
        self._peer_since_ms = self._now_ms()
        if self._transport is not None and self._sender is not None:
            self._sender.finish()
            self._transport.close()

    def abort(self) -> None:
        self._is_closing = True
        if self._transport is not None:
            self._transport.abort()

    def __str__(self) -> str:
        return self._name


class WakeUps:
    """Connections that can go on: all together, at the end of the loop's turn."""

    def __init__(self) -> None:
        self._woken: list[Connection] = []

    def add(self, connection: Connection) -> None:
        """Have `connection` go on, together with what else becomes ready in this turn."""
        if not self._woken:
            asyncio.get_running_loop().call_soon(self._wake_all)
        self._woken.append(connection)

    def _wake_all(self) -> None:
        woken, self._woken = self._woken, []
        for connection in dict.fromkeys(woken):
            connection.wake()


class _Delivery:
    """Brings an answer to its slot, once it is there."""

    __slots__ = ("_answer", "_connection", "_slot")

    def __init__(self, connection: Connection, slot: Slot, answer: Answer) -> None:
        self._connection = connection
        self._slot = slot
        self._answer = answer

    def __call__(self, response: Any, problem: Exception | None) -> None:
        self._connection.answered(self._slot, self._answer, response, problem)
