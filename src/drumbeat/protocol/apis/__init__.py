"""Every API that Drumbeat can encode and decode: the one table, sorted by key.

Which of them a node answers is decided by the handlers it has (`runtime/handlers`), not here. The
module of an API is imported when it is asked for: to declare them all takes longer than to start
an interpreter.
"""

from collections.abc import Iterator, Mapping
from enum import IntEnum
from importlib import import_module

from drumbeat.protocol.api import Api


class ApiKey(IntEnum):
    """The module of this package that has the same name declares the API."""

    PRODUCE = 0
    FETCH = 1
    LIST_OFFSETS = 2
    METADATA = 3
    OFFSET_COMMIT = 8
    OFFSET_FETCH = 9
    FIND_COORDINATOR = 10
    JOIN_GROUP = 11
    HEARTBEAT = 12
    LEAVE_GROUP = 13
    SYNC_GROUP = 14
    DESCRIBE_GROUPS = 15
    LIST_GROUPS = 16
    SASL_HANDSHAKE = 17
    API_VERSIONS = 18
    CREATE_TOPICS = 19
    DELETE_TOPICS = 20
    DELETE_RECORDS = 21
    INIT_PRODUCER_ID = 22
    OFFSET_FOR_LEADER_EPOCH = 23
    ADD_PARTITIONS_TO_TXN = 24
    ADD_OFFSETS_TO_TXN = 25
    END_TXN = 26
    WRITE_TXN_MARKERS = 27
    TXN_OFFSET_COMMIT = 28
    DESCRIBE_CONFIGS = 32
    ALTER_CONFIGS = 33
    DESCRIBE_LOG_DIRS = 35
    SASL_AUTHENTICATE = 36
    CREATE_PARTITIONS = 37
    DELETE_GROUPS = 42
    INCREMENTAL_ALTER_CONFIGS = 44
    OFFSET_DELETE = 47
    DESCRIBE_CLUSTER = 60
    CONSUMER_GROUP_HEARTBEAT = 68
    CONSUMER_GROUP_DESCRIBE = 69
    DESCRIBE_TOPIC_PARTITIONS = 75


class _Apis(Mapping[int, Api]):
    def __init__(self) -> None:
        self._modules = {int(key): f"{__name__}.{key.name.lower()}" for key in ApiKey}

    def __getitem__(self, key: int) -> Api:
        api: Api = import_module(self._modules[key]).API
        return api

    def __iter__(self) -> Iterator[int]:
        return iter(self._modules)

    def __len__(self) -> int:
        return len(self._modules)


APIS: Mapping[int, Api] = _Apis()
