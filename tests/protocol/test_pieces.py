"""Messages with parts that are not in memory."""

import pytest

from drumbeat.protocol.apis import fetch
from drumbeat.protocol.apis.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from drumbeat.protocol.pieces import Pieces, join


class Elsewhere:
    """Records of which nothing is known but their length."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __len__(self) -> int:
        return self.size


FIRST, SECOND = Elsewhere(3), Elsewhere(4)


@pytest.mark.parametrize(
    ("parts", "joined"),
    [
        ([], b""),
        ([b"a", bytearray(b"b"), memoryview(b"c")], b"abc"),
        ([b"a", b"b", FIRST, b"c", b"d"], (b"ab", FIRST, b"cd")),
        ([FIRST, SECOND], (FIRST, SECOND)),
        ([b"a", Pieces([b"b", FIRST]), Pieces([SECOND, b"c"])], (b"ab", FIRST, SECOND, b"c")),
    ],
)
def test_neighbours_in_memory_become_one(parts, joined):
    found = join(parts)
    if isinstance(joined, bytes):
        assert found == joined
    else:
        assert found.parts == joined
        assert len(found) == sum(map(len, joined))


def test_bytes_go_in_front():
    found = b"head" + Pieces([b"a", FIRST])
    assert found.parts == (b"heada", FIRST)
    assert len(found) == 8


@pytest.mark.parametrize("version", fetch.API.versions)
def test_a_response_is_the_same_with_its_records_elsewhere(version):
    def response(*records):
        partitions = tuple(
            PartitionData(partition_index=n, records=r) for n, r in enumerate(records)
        )
        return FetchResponse(responses=(FetchableTopicResponse("t", bytes(16), partitions),))

    encode = fetch.API.encode_response(version)
    held = {id(FIRST): b"aaa", id(SECOND): b"bbbb"}
    in_pieces = encode(response(FIRST, b"in memory", SECOND))
    assert b"".join(held.get(id(part), part) for part in in_pieces.parts) == encode(
        response(b"aaa", b"in memory", b"bbbb")
    )
