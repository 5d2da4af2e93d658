"""Sequences that once were answered differently, each shrunk to what matters. They run first."""

from interop.oracle.batches import Batch, Sequence
from interop.oracle.campaign import Steps
from interop.oracle.cluster_steps import (
    AlterConfigs,
    DescribeConfigs,
    IncrementalAlterConfigs,
    Operation,
)
from interop.oracle.data_steps import (
    DeleteRecords,
    Fetch,
    InitProducerId,
    ListOffsets,
    Produce,
)
from interop.oracle.group_steps import JoinGroup, LeaveGroup, SyncGroup
from interop.oracle.offset_steps import (
    DeleteGroups,
    DescribeGroups,
    OffsetCommit,
    OffsetFetch,
)
from interop.oracle.topic_steps import (
    CreatePartitions,
    CreateTopics,
    DeleteTopics,
    DescribeTopicPartitions,
    Metadata,
)
from interop.oracle.vocabulary import Generation, Group, Instance, Member, Topic

_TOPIC = (CreateTopics(version=4), Metadata(), InitProducerId())

GROUPS: dict[str, Steps] = {
    "commit: a group's refusal leaves unknown partitions their own error": (
        OffsetCommit(partitions=((Topic.ORDERS, 9), (Topic.MISSING, 0), (Topic.ORDERS, 1))),
        OffsetCommit(version=8, partitions=((Topic.MISSING, 0), (Topic.ORDERS, 1))),
    ),
    "describe: operations of a group that does not exist": (
        DescribeGroups(version=3, include_authorized_operations=True),
        DescribeGroups(include_authorized_operations=True),
    ),
    "leave: an instance whose member has left in the same request": (
        JoinGroup(client=3, member=Member.NONE),
        JoinGroup(client=4, member=Member.NONE),
        LeaveGroup(client=4, with_clients=(3, 3)),
    ),
    "leave: an id that never joined, twice, with somebody's instance": (
        JoinGroup(client=3, version=4),
        JoinGroup(),
        JoinGroup(client=3),
        JoinGroup(client=4),
        LeaveGroup(with_clients=(3, 3)),
    ),
    "commit: to the offsets topic itself": (
        JoinGroup(version=3),
        OffsetCommit(version=2, partitions=((Topic.INTERNAL, 0),)),
        SyncGroup(),
        OffsetCommit(version=2, partitions=((Topic.INTERNAL, 0),)),
        OffsetFetch(),
    ),
    # All sequences would share it, so none but this one uses it where it is allowed.
    "the group without a name": (
        OffsetCommit(
            group=Group.EMPTY,
            member=Member.NONE,
            generation=Generation.NONE,
            instance=Instance.NONE,
        ),
        OffsetFetch(groups=(Group.EMPTY,)),
        DescribeGroups(groups=(Group.EMPTY, Group.MAIN)),
        DeleteGroups(groups=(Group.EMPTY,)),
        OffsetFetch(version=1, groups=(Group.EMPTY,), partitions=((Topic.ORDERS, 0),)),
        DeleteGroups(groups=(Group.EMPTY,)),
    ),
}

PRODUCE: dict[str, Steps] = {
    "produce: records that no consumer could read, under a right checksum": (
        *_TOPIC,
        Produce(batch=Batch.MISSING),
        Produce(batch=Batch.MISSING_GZIP),
        Produce(batch=Batch.TRAILING),
        Produce(batch=Batch.WRONG_LENGTH),
        Fetch(),
    ),
    "produce: the largest timestamp is found out, not believed": (
        *_TOPIC,
        Produce(batch=Batch.WRONG_TIME),
        Produce(batch=Batch.WRONG_TIME_LZ4),
        Fetch(),
        ListOffsets(at_s=10),
        ListOffsets(timestamp=-3),
    ),
    "produce: the log's start in an answer that refuses": (
        *_TOPIC,
        Produce(sequence=Sequence.NEXT),
        DeleteRecords(offset=1),
        Produce(sequence=Sequence.GAP),
        Produce(sequence=Sequence.OLD_EPOCH),
        Produce(batch=Batch.WRONG_COUNT),
        Produce(batch=Batch.WRONG_CRC),
        Produce(batch=Batch.LARGE),
    ),
    "produce: a batch sent again, with its own time": (
        *_TOPIC,
        Produce(sequence=Sequence.NEXT),
        Produce(sequence=Sequence.SAME),
    ),
    "produce: a timestamp too far in the future": (
        *_TOPIC,
        Produce(batch=Batch.LATER),
        Produce(batch=Batch.LATER, version=4),
        Fetch(),
    ),
    "produce: whether there is a batch comes before acks": (
        *_TOPIC,
        Produce(acks=2, batch=Batch.CUT),
        Produce(acks=2),
        Produce(acks=2, partition=9),
    ),
    "produce: transactional records come before everything": (
        *_TOPIC,
        Produce(partition=9, batch=Batch.CONTROL),
        Produce(topic=Topic.MISSING, batch=Batch.TRANSACTIONAL),
        Produce(topic=Topic.INTERNAL, batch=Batch.TRANSACTIONAL, acks=2),
    ),
    "produce: an epoch of -1 is no epoch": (
        *_TOPIC,
        Produce(sequence=Sequence.OLD_EPOCH),
        Produce(sequence=Sequence.NEW_EPOCH_LATE),
        Produce(sequence=Sequence.NEW_EPOCH_LATE),
        Produce(sequence=Sequence.OLD_EPOCH),
    ),
    "produce: a partition named twice": (
        *_TOPIC,
        Produce(before=Batch.ONE),
        Produce(before=Batch.WRONG_CRC, version=8),
        Fetch(),
        Fetch(partitions=(0, 1, 0)),
        ListOffsets(partitions=(1, 0, 1)),
        ListOffsets(partitions=()),
    ),
    "produce: what is behind the batch": (
        *_TOPIC,
        Produce(batch=Batch.FOLLOWED),
        Produce(batch=Batch.ZEROS),
        Produce(topic=Topic.MISSING, batch=Batch.ZEROS),
        Fetch(),
    ),
    "produce: without an answer, and read": (*_TOPIC, Produce(acks=0), Fetch()),
    "produce: to a compacted topic, without a key": (
        CreateTopics(configs=(("cleanup.policy", "compact"),)),
        Produce(),
        Produce(batch=Batch.KEYLESS),
        Produce(batch=Batch.ONE),
    ),
    "producer id: for a transactional id that is empty": (InitProducerId(transactional_id=""),),
}

FETCH: dict[str, Steps] = {
    "fetch: partitions that do not exist come last": (
        *_TOPIC,
        Produce(),
        Fetch(partitions=(1, 7, 0)),
        Fetch(version=4, partitions=(7, 0)),
        Fetch(partitions=()),
    ),
    "fetch: aborted transactions of a partition with an error": (
        *_TOPIC,
        Produce(),
        Fetch(topic=Topic.MISSING),
        Fetch(offset=100),
        Fetch(offset=100, isolation_level=1),
        Fetch(isolation_level=1),
    ),
    "fetch: out of range although the limit is reached": (
        *_TOPIC,
        Produce(),
        Fetch(partitions=(0, 1), offset=1, max_bytes=1),
    ),
    "fetch: epochs of no session and no leader": (
        *_TOPIC,
        Produce(),
        Fetch(session=(0, 1)),
        Fetch(current_leader_epoch=-2),
        Fetch(version=9, current_leader_epoch=-2),
    ),
    "fetch: where the logs part": (
        *_TOPIC,
        Produce(),
        Fetch(offset=5, last_fetched_epoch=0),
        Fetch(offset=1, last_fetched_epoch=0),
        Fetch(offset=0, last_fetched_epoch=3),
    ),
    "list offsets: whether a timestamp is known comes first": (
        *_TOPIC,
        ListOffsets(topic=Topic.MISSING, timestamp=-7),
        ListOffsets(timestamp=-7, current_leader_epoch=5),
        ListOffsets(version=6, timestamp=-3),
    ),
    "list offsets: the epoch of the newest record, deleted since": (
        *_TOPIC,
        Produce(),
        DeleteRecords(),
        ListOffsets(timestamp=-3),
    ),
}

ADMIN: dict[str, Steps] = {
    "configs: what is wrong with them comes before a missing topic": (
        IncrementalAlterConfigs(configs=(("no.such.config", "1"),)),
        IncrementalAlterConfigs(configs=(("retention.ms", None),)),
        AlterConfigs(configs=(("no.such.config", "1"),)),
        AlterConfigs(configs=(("retention.ms", None),)),
        IncrementalAlterConfigs(),
        AlterConfigs(),
        DescribeConfigs(),
    ),
    "configs: lists are edited as they were written": (
        CreateTopics(configs=(("cleanup.policy", "compact, delete"),)),
        IncrementalAlterConfigs(
            operation=Operation.SUBTRACT, configs=(("cleanup.policy", "delete"),)
        ),
        DescribeConfigs(keys=("cleanup.policy",)),
        IncrementalAlterConfigs(operation=Operation.APPEND, configs=(("cleanup.policy", ""),)),
        IncrementalAlterConfigs(topic=Topic.NAMELESS),
        IncrementalAlterConfigs(topic=Topic.NAMELESS, operation=Operation.APPEND),
        IncrementalAlterConfigs(topic=Topic.INVALID, configs=(("no.such.config", "1"),)),
        IncrementalAlterConfigs(
            topic=Topic.INVALID, configs=(("retention.ms", "1"), ("retention.ms", "2"))
        ),
    ),
    "configs: a type that does not exist": (*_TOPIC, DescribeConfigs(with_type=3)),
    "create: configs come before the assignment, and no broker twice": (
        CreateTopics(
            partitions=-1,
            replication_factor=-1,
            brokers=((7,),),
            configs=(("retention.ms", "soon"),),
        ),
        CreateTopics(partitions=0, configs=(("no.such.config", "1"),)),
        CreateTopics(partitions=-1, replication_factor=-1, brokers=((1, 1),)),
        CreateTopics(validate_only=True),
        CreateTopics(),
        CreateTopics(partitions=0, configs=(("no.such.config", "1"),)),
    ),
    "metadata: operations of a topic that does not exist": (
        Metadata(include_topic_authorized_operations=True),
        Metadata(topics=(Topic.INVALID,), include_topic_authorized_operations=True),
        Metadata(by_id=True, include_topic_authorized_operations=True),
        DescribeTopicPartitions(),
    ),
    "metadata: ids in versions that may not ask by them": (
        *_TOPIC,
        Metadata(version=10, by_id=True),
        Metadata(version=11, topics=(Topic.OWN, Topic.MISSING), by_id=True),
    ),
    "topics: requests without time do nothing": (
        CreateTopics(timeout_ms=0),
        *_TOPIC,
        DeleteTopics(timeout_ms=0),
        CreatePartitions(timeout_ms=-1),
        CreatePartitions(topics=(Topic.OWN, Topic.OWN), timeout_ms=-1),
        DeleteTopics(topics=(Topic.OWN, Topic.OWN), timeout_ms=0),
        CreateTopics(topics=(Topic.SECOND, Topic.SECOND), timeout_ms=0),
        Metadata(),
    ),
    "topics: one that is given by name and by id stays": (
        *_TOPIC,
        DeleteTopics(also_by_id=True),
        DeleteTopics(by_id=True, also_by_id=True),
        Metadata(),
    ),
    "pages: cursors that no page has ended with": (
        *_TOPIC,
        DescribeTopicPartitions(topics=(Topic.OWN, Topic.MISSING), cursor=(Topic.OWN, 7), limit=1),
        DescribeTopicPartitions(cursor=(Topic.OWN, -1)),
        DescribeTopicPartitions(cursor=(Topic.MISSING, 0)),
    ),
    "metadata: a topic named twice is answered once": (
        *_TOPIC,
        Metadata(topics=(Topic.OWN, Topic.OWN, Topic.MISSING, Topic.MISSING)),
        Metadata(topics=(Topic.OWN, Topic.OWN, Topic.MISSING, Topic.MISSING), by_id=True),
    ),
}

REGRESSIONS: dict[str, Steps] = {**GROUPS, **PRODUCE, **FETCH, **ADMIN}
