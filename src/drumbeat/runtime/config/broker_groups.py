"""The broker keys Drumbeat acts on: groups, committed offsets, producers and transactions."""

from drumbeat.runtime.config.table import Section

CLASSIC_GROUPS = """
group.min.session.timeout.ms int 6000
    The shortest session timeout a classic member may ask for.
group.max.session.timeout.ms int 1800000
    The longest session timeout a classic member may ask for.
group.initial.rebalance.delay.ms int 3000
    How long the first rebalance of an empty classic group waits for more members to join.
group.max.size int 2147483647 1..
    The most members of a classic group.
group.coordinator.rebalance.protocols list classic,consumer,streams \
{consumer,classic,share,streams}
    The group protocols offered. classic cannot be left out; share and streams are not served.
group.coordinator.append.linger.ms int -1 -1..
    How long a write waits for others to share its sync with; -1 adapts to the load, 0 never waits.
"""

CONSUMER_GROUPS = """
group.consumer.session.timeout.ms int 45000 1..
    How long a member of a consumer group may be silent before it is removed.
group.consumer.min.session.timeout.ms int 45000 1..
    The smallest session timeout a consumer group may be given.
group.consumer.max.session.timeout.ms int 60000 1..
    The largest session timeout a consumer group may be given.
group.consumer.heartbeat.interval.ms int 5000 1..
    How often members of a consumer group are told to send heartbeats.
group.consumer.min.heartbeat.interval.ms int 5000 1..
    The smallest heartbeat interval a consumer group may be given.
group.consumer.max.heartbeat.interval.ms int 15000 1..
    The largest heartbeat interval a consumer group may be given.
group.consumer.max.size int 2147483647 1..
    The most members of a consumer group.
group.consumer.assignors list uniform,range nonempty
    The server-side assignors on offer; the first is used when a member names none.
group.consumer.migration.policy string bidirectional {DISABLED,DOWNGRADE,UPGRADE,BIDIRECTIONAL}i
    Which way groups may change between the classic and the consumer protocol while in use.
group.consumer.assignment.interval.ms int 1000 0.. dynamic
    The least time between two assignments of a consumer group.
group.consumer.min.assignment.interval.ms int 0 0..
    The smallest assignment interval a consumer group may be given.
group.consumer.max.assignment.interval.ms int 15000 0..
    The largest assignment interval a consumer group may be given.
group.consumer.regex.refresh.interval.ms int 600000 10000.. internal
    How often subscriptions by regular expression are matched against the topics again.
"""

OFFSETS = """
offsets.topic.num.partitions int 50 1..
    The partitions of __consumer_offsets. Fixed once the topic exists.
offsets.topic.segment.bytes int 104857600 1..
    The segment size of __consumer_offsets.
offsets.topic.compression.codec int 0 0..4
    The compression of records in __consumer_offsets: none, gzip, snappy, lz4 or zstd by number.
offsets.load.buffer.size int 5242880 1..
    How many bytes are read at a time when a partition of __consumer_offsets is loaded.
offsets.commit.timeout.ms int 5000 1..
    How long a coordinator write may take before its request is answered with an error.
offset.metadata.max.bytes int 4096
    The longest metadata text a commit may carry.
offsets.retention.minutes int 10080 1..
    How long the offsets of a group without members are kept.
offsets.retention.check.interval.ms long 600000 1..
    How often expired offsets are looked for.
offsets.history.retention.ms long 604800000 -1..
    Drumbeat's own: how long segments superseded by compaction stay in a partition's history
    folder, for the pipeline and for time travel; -1 is for ever, 0 deletes them at once.
"""

PRODUCERS_AND_TRANSACTIONS = """
producer.id.expiration.ms int 86400000 1.. dynamic
    How long a partition remembers a producer id that no longer writes to it.
producer.id.expiration.check.interval.ms int 600000 1.. internal
    How often expired producer ids are looked for.
transactional.id.expiration.ms int 604800000 1..
    How long a transactional id without a transaction is remembered.
transaction.max.timeout.ms int 900000 1..
    The longest transaction timeout a producer may ask for.
transaction.state.log.num.partitions int 50 1..
    The partitions of __transaction_state. Fixed once the topic exists.
transaction.state.log.segment.bytes int 104857600 1..
    The segment size of __transaction_state.
transaction.abort.timed.out.transaction.cleanup.interval.ms int 10000 1..
    How often transactions past their timeout are looked for and aborted.
transaction.remove.expired.transaction.cleanup.interval.ms int 3600000 1..
    How often expired transactional ids are looked for and forgotten.
"""

SECTIONS = (
    Section("Classic groups and the coordinator", CLASSIC_GROUPS),
    Section("Consumer groups (KIP-848)", CONSUMER_GROUPS),
    Section("Committed offsets", OFFSETS),
    Section("Producers and transactions", PRODUCERS_AND_TRANSACTIONS),
)
