"""Wire codec: decode a request and encode its response, ours beside kio, in one run.

    python benchmarks/codec.py

Prints CPU microseconds (best of the rounds, the two interleaved) and the ratio.
"""

import importlib
import io
import time

from kio.serial import entity_reader, entity_writer

from drumbeat.protocol.apis import heartbeat, offset_commit
from drumbeat.protocol.schema import NULL_UUID

ROUNDS, CALLS = 15, 4000


def offset_commit_request(partitions: int) -> offset_commit.OffsetCommitRequest:
    return offset_commit.OffsetCommitRequest(
        group_id="payments-service",
        generation_id_or_member_epoch=7,
        member_id="consumer-1-4a7c9f0e-6f43-4d6b-9f4e-2f3a5c1d7b11",
        topics=(
            offset_commit.OffsetCommitRequestTopic(
                name="payments.events",
                partitions=tuple(
                    offset_commit.OffsetCommitRequestPartition(
                        partition_index=i, committed_offset=10**6 + i, committed_metadata=""
                    )
                    for i in range(partitions)
                ),
            ),
        ),
    )


def build_offset_commit_response(partitions: int):
    module = offset_commit
    topic, partition = module.OffsetCommitResponseTopic, module.OffsetCommitResponsePartition
    return lambda: module.OffsetCommitResponse(
        0,
        (topic("payments.events", NULL_UUID, tuple([partition(i, 0) for i in range(partitions)])),),
    )


def build_kio_offset_commit_response(partitions: int):
    module = importlib.import_module("kio.schema.offset_commit.v8.response")
    types, errors = (
        importlib.import_module("kio.static.primitive"),
        importlib.import_module("kio.schema.errors"),
    )
    none, zero = errors.ErrorCode.none, importlib.import_module("datetime").timedelta()
    topic, partition = module.OffsetCommitResponseTopic, module.OffsetCommitResponsePartition
    return lambda: module.OffsetCommitResponse(
        throttle_time=zero,
        topics=(
            topic(
                name="payments.events",
                partitions=tuple(
                    [
                        partition(partition_index=types.i32(i), error_code=none)
                        for i in range(partitions)
                    ]
                ),
            ),
        ),
    )


def build_kio_heartbeat_response():
    module = importlib.import_module("kio.schema.heartbeat.v4.response")
    errors = importlib.import_module("kio.schema.errors")
    zero = importlib.import_module("datetime").timedelta()
    return lambda: module.HeartbeatResponse(throttle_time=zero, error_code=errors.ErrorCode.none)


def best(function) -> float:
    started = time.process_time()
    for _ in range(CALLS):
        function()
    return (time.process_time() - started) / CALLS * 1e6


def compare(name, api, version, request, build_ours, build_theirs) -> None:
    data = api.encode_request(version)(request)
    decode, encode = api.decode_request(version), api.encode_response(version)
    module = api.request.__module__.rsplit(".", 1)[1]
    kio_request = importlib.import_module(f"kio.schema.{module}.v{version}.request")
    kio_response = importlib.import_module(f"kio.schema.{module}.v{version}.response")
    read = entity_reader(getattr(kio_request, api.request.__name__))
    write = entity_writer(getattr(kio_response, api.response.__name__))

    def kio_encode() -> bytes:
        out = io.BytesIO()
        write(out, build_theirs())
        return out.getvalue()

    assert kio_encode() == encode(build_ours())
    pairs = {
        "decode": (lambda: decode(data, 0), lambda: read(data, 0)),
        "encode": (lambda: encode(build_ours()), kio_encode),
    }
    ours_sum = kio_sum = 0.0
    for step, (ours, theirs) in pairs.items():
        times = [(best(ours), best(theirs)) for _ in range(ROUNDS)]
        a, b = min(t[0] for t in times), min(t[1] for t in times)
        ours_sum, kio_sum = ours_sum + a, kio_sum + b
        print(f"{name:<32}{step:<10}{a:>9.2f}{b:>9.2f}{b / a:>8.1f}x")
    print(f"{name:<32}{'sum':<10}{ours_sum:>9.2f}{kio_sum:>9.2f}{kio_sum / ours_sum:>8.1f}x")


def main() -> None:
    print(f"{'message':<32}{'step':<10}{'ours µs':>9}{'kio µs':>9}{'ratio':>9}")
    request = heartbeat.HeartbeatRequest(
        group_id="payments-service",
        generation_id=7,
        member_id="consumer-1-4a7c9f0e-6f43-4d6b-9f4e-2f3a5c1d7b11",
    )
    compare(
        "Heartbeat v4",
        heartbeat.API,
        4,
        request,
        heartbeat.HeartbeatResponse,
        build_kio_heartbeat_response(),
    )
    for partitions in (1, 20):
        compare(
            f"OffsetCommit v8, {partitions} partitions",
            offset_commit.API,
            8,
            offset_commit_request(partitions),
            build_offset_commit_response(partitions),
            build_kio_offset_commit_response(partitions),
        )


if __name__ == "__main__":
    main()
