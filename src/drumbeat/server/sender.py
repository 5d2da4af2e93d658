"""The sending half of a connection: bytes, and records that the kernel takes from their file.

Bytes go to the transport, which keeps what the socket does not take. Records in a file go straight
to the socket, but only while the transport has nothing left to send, so that the order stays. When
the socket takes no more of them the loop says when it does: through a descriptor of our own, since
the transport's is its own affair. What is sent as one answer leaves as one stretch: the socket is
corked meanwhile, or the few bytes around the records would be packets that wake the peer.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections import deque
from collections.abc import Callable
from typing import Final

from drumbeat.log.file_records import FileRecords
from drumbeat.protocol.pieces import Pieces

log = logging.getLogger(__name__)

WRITE_BUFFER_BYTES_MAX: Final = 1 << 20  # above this the peer is a slow reader
COPIED_BYTES: Final = 32 << 10  # at a time, where records cannot go straight to the socket
_CORK: int | None = getattr(socket, "TCP_CORK", None)  # Linux only


class Sender:
    """`resume_writing` of the protocol tells when to call `resume`."""

    def __init__(self, transport: asyncio.Transport, on_sent: Callable[[], None]) -> None:
        self._transport = transport
        self._on_sent = on_sent  # called when nothing is left over any more
        self._unsent: deque[bytes | FileRecords] = deque()
        self._sent_bytes = 0  # of the first that is unsent
        self._socket: socket.socket | None = None  # a second handle on the connection
        self._is_corked = False
        self._is_waiting_for_socket = False
        self._is_waiting_for_transport = False
        # Under TLS every byte has to be encrypted in this process.
        self._is_plain = transport.get_extra_info("sslcontext") is None
        transport.set_write_buffer_limits(high=WRITE_BUFFER_BYTES_MAX)

    @property
    def has_unsent(self) -> bool:
        return bool(self._unsent)

    @property
    def unsent_bytes(self) -> int:
        in_transport = self._transport.get_write_buffer_size()
        return in_transport + sum(map(len, self._unsent)) - self._sent_bytes

    def send(self, data: bytes | Pieces) -> None:
        if self._unsent:
            self._enqueue(data)
            self.resume()
        elif type(data) is bytes:
            self._transport.write(data)
        else:
            self._enqueue(data)
            self._try_to_send()

    def _enqueue(self, data: bytes | Pieces) -> None:
        self._unsent.extend(data.parts if isinstance(data, Pieces) else (data,))

    def resume(self) -> None:
        """Send what was left over, as far as that is possible now."""
        if self._unsent and not self._is_waiting_for_socket:
            self._try_to_send()
            if not self._unsent:
                self._on_sent()

    def _try_to_send(self) -> None:
        try:
            self._send_unsent()
        except OSError as problem:
            self._give_up(problem)
        if self._transport.is_closing():
            self.clear()

    def finish(self) -> None:
        """Leave the rest to the transport, which sends its buffer before it closes."""
        try:
            while self._unsent:
                part = self._unsent.popleft()
                if isinstance(part, FileRecords):
                    part = part.read(self._sent_bytes, len(part))
                self._sent_bytes = 0
                self._transport.write(part)
        except OSError as problem:
            self._give_up(problem)
        self.clear()

    def clear(self) -> None:
        """Forget what is unsent, and let go of the connection."""
        self._unsent.clear()
        self._sent_bytes = 0
        if self._socket is not None:
            self._wait_for_socket(False)
            self._cork(False)
            self._socket.close()
            self._socket = None

    def _give_up(self, problem: OSError) -> None:
        """An answer of which a part is missing cannot be followed by anything."""
        if not isinstance(problem, ConnectionError):
            text = "records cannot be sent from their file; closing the connection"
            log.error(text, exc_info=problem)
        self._transport.abort()

    def _send_unsent(self) -> None:
        unsent = self._unsent
        if self._is_plain:
            self._cork(True)
        while unsent:
            part = unsent[0]
            if not isinstance(part, FileRecords):
                self._transport.write(part)
            elif not self._send_file(part):
                break
            unsent.popleft()
            self._sent_bytes = 0
        if not unsent:
            self._cork(False)
        self._wait_for_transport(bool(unsent) and not self._is_waiting_for_socket)

    def _send_file(self, records: FileRecords) -> bool:
        """Whether all of them are sent; if not, it is waited for the transport or the socket."""
        size = len(records)
        while self._sent_bytes < size:
            if self._transport.is_closing() or self._transport.get_write_buffer_size():
                return False
            if not self._is_plain:
                self._copy_some(records)
            elif not self._send_some(records):
                self._wait_for_socket(True)
                return False
        return True

    def _send_some(self, records: FileRecords) -> bool:
        """Whether that was all; the socket is full if it was not."""
        try:
            sent_bytes = records.send(self._own_socket().fileno(), self._sent_bytes)
        except BlockingIOError:
            return False
        if not sent_bytes:
            raise self._cut_off(records)
        self._sent_bytes += sent_bytes
        return self._sent_bytes == len(records)

    def _copy_some(self, records: FileRecords) -> None:
        copied = records.read(self._sent_bytes, COPIED_BYTES)
        if not copied:
            raise self._cut_off(records)
        self._transport.write(copied)
        self._sent_bytes += len(copied)

    def _cut_off(self, records: FileRecords) -> OSError:
        return OSError(f"the file ends after {self._sent_bytes} bytes of {len(records)}")

    # -- the socket ------------------------------------------------------------------------------

    def _own_socket(self) -> socket.socket:
        """Kept until the connection ends: who fetches once fetches again.

        No longer, or the peer would not hear of the end.
        """
        if self._socket is None:
            transports = self._transport.get_extra_info("socket")
            family, kind = transports.family, transports.type
            self._socket = socket.socket(family, kind, fileno=os.dup(transports.fileno()))
        return self._socket

    def _cork(self, wanted: bool) -> None:
        if _CORK is not None and wanted is not self._is_corked:
            self._is_corked = wanted
            self._own_socket().setsockopt(socket.IPPROTO_TCP, _CORK, wanted)

    def _wait_for_socket(self, wanted: bool) -> None:
        if wanted is self._is_waiting_for_socket:
            return
        self._is_waiting_for_socket = wanted
        loop, descriptor = asyncio.get_running_loop(), self._own_socket().fileno()
        if wanted:
            loop.add_writer(descriptor, self._on_writable)
        else:
            loop.remove_writer(descriptor)

    def _on_writable(self) -> None:
        part = self._unsent[0]
        assert isinstance(part, FileRecords), "only for records the socket is waited for"
        try:
            if not self._send_some(part):
                return  # as it is: the loop says again when there is room
        except OSError as problem:
            self._give_up(problem)
            self.clear()
            return
        self._wait_for_socket(False)
        self.resume()

    def _wait_for_transport(self, wanted: bool) -> None:
        """With a limit of nothing it speaks up as soon as its buffer is empty."""
        if wanted is not self._is_waiting_for_transport:
            self._is_waiting_for_transport = wanted
            limit = 0 if wanted else WRITE_BUFFER_BYTES_MAX
            self._transport.set_write_buffer_limits(high=limit)
