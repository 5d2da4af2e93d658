"""How fast are record batches encoded and decoded, beside aiokafka (Cython) and kafka-python?

Candidates take turns within one run and the best round of each counts, because machines are
shared and noisy: trust the ratios more than the figures. Time is CPU time.

    python benchmarks/record_batches.py [--codec lz4] [--headers 2] [--rounds 30]
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from functools import partial

from aiokafka.record import default_records as aiokafka_records

from drumbeat.protocol.compression import Codec, codec_by_name
from drumbeat.protocol.records import BatchOptions, Record, decode_records, encode_batch

with warnings.catch_warnings():
    # kafka-python loads its schemas through a deprecated importlib call.
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka.record import default_records as kafka_python_records

NOW_MS = 1_700_000_000_123
OURS = "drumbeat"
FOREIGN = {"aiokafka": aiokafka_records, "kafka-python": kafka_python_records}

Task = Callable[[], object]


def make_records(count: int, headers: int) -> list[Record]:
    """About 100 bytes of key and value each, text that a codec can work on."""
    return [
        Record(
            offset,
            NOW_MS + offset // 4,
            b"user-%07d" % (offset * 7919),
            (b'{"order":%d,"state":"paid","note":"' % (offset * 104_729)).ljust(86, b".") + b'"}',
            tuple((f"header-{n}", b"%08d" % offset) for n in range(headers)),
        )
        for offset in range(count)
    ]


def build(module, records: list[Record], codec: Codec) -> bytes:
    builder = module.DefaultRecordBatchBuilder(
        magic=2,
        compression_type=int(codec),
        is_transactional=0,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        batch_size=1 << 26,
    )
    for offset, timestamp, key, value, headers in records:
        builder.append(offset, timestamp, key, value, list(headers))
    return bytes(builder.build())


def read(module, batch: bytes) -> list[tuple]:
    return [
        (record.offset, record.timestamp, record.key, record.value, record.headers)
        for record in module.DefaultRecordBatch(batch)
    ]


def tasks(records: list[Record], codec: Codec) -> dict[tuple[str, str], Task]:
    options = BatchOptions(codec=codec)
    batch = encode_batch(records, options)
    table: dict[tuple[str, str], Task] = {
        ("encode", OURS): partial(encode_batch, records, options),
        ("decode", OURS): partial(decode_records, batch),
    }
    for name, module in FOREIGN.items():
        table["encode", name] = partial(build, module, records, codec)
        table["decode", name] = partial(read, module, batch)
    return table


def seconds_per_call(task: Task, calls: int) -> float:
    started = time.process_time()
    for _ in range(calls):
        task()
    return (time.process_time() - started) / calls


def measure(table: dict[tuple[str, str], Task], rounds: int, calls: int) -> dict:
    best = dict.fromkeys(table, float("inf"))
    for _ in range(rounds):
        for key, task in table.items():
            best[key] = min(best[key], seconds_per_call(task, calls))
    return best


def report(best: dict, count: int) -> None:
    names = [OURS, *FOREIGN]
    print(f"{'records/s':<10}" + "".join(f"{name:>24}" for name in names))
    for direction in ("encode", "decode"):
        ours = best[direction, OURS]
        cells = [
            f"{count / best[direction, name] / 1e6:8.2f} M ({ours / best[direction, name]:5.2f}x)"
            for name in names
        ]
        print(f"{direction:<10}" + "".join(f"{cell:>24}" for cell in cells))
    print(f"in brackets: speed as a multiple of {OURS}'s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=500, help="per batch (default: 500)")
    parser.add_argument("--headers", type=int, default=0, help="per record (default: 0)")
    parser.add_argument("--codec", type=codec_by_name, default=Codec.NONE, help="default: none")
    parser.add_argument("--rounds", type=int, default=20, help="best of so many (default: 20)")
    arguments = parser.parse_args()
    records = make_records(arguments.records, arguments.headers)
    table = tasks(records, arguments.codec)
    print(
        f"{len(records)} records of {len(records[0].key or b'') + len(records[0].value or b'')} B, "
        f"{arguments.headers} headers, codec {arguments.codec.name.lower()}, "
        f"batch {len(encode_batch(records, BatchOptions(codec=arguments.codec)))} B, "
        f"best of {arguments.rounds} rounds"
    )
    report(measure(table, arguments.rounds, calls=10), len(records))


if __name__ == "__main__":
    main()
