"""CreateTopics (key 19): topics are created, with their partitions and configs.

v4 lets -1 stand for the broker's defaults. v5 is flexible and returns the configs that apply.
v7 returns the topic id.
"""

from typing import Annotated, NamedTuple

from drumbeat.protocol.api import Api, versions
from drumbeat.protocol.schema import NULL_UUID, Int8, Int16, Int32, Uuid, V


class CreatableReplicaAssignment(NamedTuple):
    partition_index: Int32 = 0
    broker_ids: tuple[Int32, ...] = ()


class CreatableTopicConfig(NamedTuple):
    name: str = ""
    value: str | None = ""


class CreatableTopic(NamedTuple):
    name: str = ""
    num_partitions: Int32 = 0
    replication_factor: Int16 = 0
    assignments: tuple[CreatableReplicaAssignment, ...] = ()
    configs: tuple[CreatableTopicConfig, ...] = ()


class CreateTopicsRequest(NamedTuple):
    topics: tuple[CreatableTopic, ...] = ()
    timeout_ms: Int32 = 60000
    validate_only: bool = False


class CreatableTopicConfigs(NamedTuple):
    name: str = ""
    value: str | None = ""
    read_only: bool = False
    config_source: Int8 = -1
    is_sensitive: bool = False


class CreatableTopicResult(NamedTuple):
    name: str = ""
    topic_id: Annotated[Uuid, V(7)] = NULL_UUID
    error_code: Int16 = 0
    error_message: str | None = ""
    topic_config_error_code: Annotated[Int16, V(5, tag=0)] = 0
    num_partitions: Annotated[Int32, V(5)] = -1
    replication_factor: Annotated[Int16, V(5)] = -1
    configs: Annotated[tuple[CreatableTopicConfigs, ...] | None, V(5)] = ()


class CreateTopicsResponse(NamedTuple):
    throttle_time_ms: Int32 = 0
    topics: tuple[CreatableTopicResult, ...] = ()


API = Api(
    key=19,
    name="CreateTopics",
    versions=versions("2-7"),
    flexible=5,
    request=CreateTopicsRequest,
    response=CreateTopicsResponse,
)
