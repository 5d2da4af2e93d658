"""The sending half of a connection: bytes, and records that the kernel takes from their file.

Bytes go to the transport, which keeps what the socket does not take. Records in a file go straight
to the socket, but only while the transport has nothing left to send, so that the order stays. When
the socket takes no more, a little is read into the transport: that is how we hear when it does.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from drumbeat.log.file_records import FileRecords
from drumbeat.protocol.pieces import Pieces

log = logging.getLogger(__name__)

WRITE_BUFFER_BYTES_MAX: Final = 1 << 20  # above this the peer is a slow reader
PROBE_BYTES: Final = 32 << 10


class Sender:
    """`pause_writing` and `resume_writing` of the protocol tell when to call `resume`."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._unsent: deque[bytes | FileRecords] = deque()
        self._sent_bytes = 0  # of the first that is unsent
        # Under TLS every byte has to be encrypted in this process.
        is_plain = transport.get_extra_info("sslcontext") is None
        socket = transport.get_extra_info("socket") if is_plain else None
        self._socket_fd: int | None = None if socket is None else socket.fileno()
        transport.set_write_buffer_limits(high=WRITE_BUFFER_BYTES_MAX)

    @property
    def has_unsent(self) -> bool:
        return bool(self._unsent)

    def send(self, data: bytes | Pieces) -> None:
        if type(data) is bytes and not self._unsent:
            self._transport.write(data)
            return
        self._unsent.extend(data.parts if isinstance(data, Pieces) else (data,))
        self.resume()

    def resume(self) -> None:
        """Send what can be sent now; `resume_writing` follows if something is left."""
        if not self._unsent:
            return
        is_done = False
        with self._ending_on_errors():
            is_done = self._send_unsent()
        if self._transport.is_closing():
            self._unsent.clear()
            return
        # With a limit of nothing the transport speaks up as soon as its buffer is empty.
        limit = WRITE_BUFFER_BYTES_MAX if is_done else 0
        self._transport.set_write_buffer_limits(high=limit)

    def finish(self) -> None:
        """Leave the rest to the transport, which sends its buffer before it closes."""
        with self._ending_on_errors():
            while self._unsent:
                part = self._unsent.popleft()
                if isinstance(part, FileRecords):
                    part = part.read(self._sent_bytes, len(part))
                self._sent_bytes = 0
                self._transport.write(part)

    def clear(self) -> None:
        self._unsent.clear()

    @contextmanager
    def _ending_on_errors(self) -> Iterator[None]:
        """An answer of which a part is missing cannot be followed by anything."""
        try:
            yield
        except ConnectionError:
            self._transport.abort()
        except OSError:
            log.exception("records cannot be sent from their file; closing the connection")
            self._transport.abort()

    def _send_unsent(self) -> bool:
        while self._unsent:
            part = self._unsent[0]
            if not isinstance(part, FileRecords):
                self._transport.write(part)
            elif not self._send_file(part):
                return False
            self._unsent.popleft()
            self._sent_bytes = 0
        return True

    def _send_file(self, records: FileRecords) -> bool:
        size = len(records)
        while self._sent_bytes < size:
            # A closing transport may have given its descriptor back, to whoever opens the next.
            if self._transport.is_closing() or self._transport.get_write_buffer_size():
                return False
            self._sent_bytes += self._send_some(records)
        return True

    def _send_some(self, records: FileRecords) -> int:
        if self._socket_fd is not None:
            try:
                if sent := records.send(self._socket_fd, self._sent_bytes):
                    return sent
            except BlockingIOError:
                pass
        probe = records.read(self._sent_bytes, PROBE_BYTES)
        if not probe:
            raise OSError(f"the file ends after {self._sent_bytes} bytes of {len(records)}")
        self._transport.write(probe)
        return len(probe)
