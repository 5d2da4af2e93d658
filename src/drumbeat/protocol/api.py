"""One Kafka API: its key, its versions, its two messages, and codecs made on first use."""

from typing import Any, NamedTuple

from drumbeat.protocol.compiler import Decoder, Encoder, ResponseEncoder, decoder, encoder


class Api(NamedTuple):
    key: int
    name: str
    versions: range
    flexible: int | None  # first flexible version (KIP-482)
    request: type[Any]
    response: type[Any]

    def is_flexible(self, version: int) -> bool:
        return self.flexible is not None and version >= self.flexible

    def request_header_version(self, version: int) -> int:
        return 2 if self.is_flexible(version) else 1

    def response_header_version(self, version: int) -> int:
        # A client that does not know which versions we speak must be able to read the answer to
        # its first ApiVersions, so that one keeps the oldest header for ever (KIP-511).
        return 1 if self.is_flexible(version) and self.key != API_VERSIONS_KEY else 0

    def decode_request(self, version: int) -> Decoder:
        return decoder(self.request, version, self.is_flexible(version))

    def encode_request(self, version: int) -> Encoder:
        return encoder(self.request, version, self.is_flexible(version))

    def decode_response(self, version: int) -> Decoder:
        return decoder(self.response, version, self.is_flexible(version))

    def encode_response(self, version: int) -> ResponseEncoder:
        return encoder(self.response, version, self.is_flexible(version))


API_VERSIONS_KEY = 18


def versions(text: str) -> range:
    """ "2-10" -> range(2, 11); "0" -> range(0, 1)."""
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)
