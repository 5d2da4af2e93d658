"""Broker keys of what Drumbeat does not have: share groups, streams groups, tiered storage."""

from drumbeat.runtime.config.table import Section

SHARE_GROUPS = """
group.share.assignment.interval.ms int 1000 0.. dynamic
group.share.assignors list simple nonempty
group.share.delivery.count.limit int 5 2..10
group.share.heartbeat.interval.ms int 5000 1..
group.share.initialize.retry.interval.ms int 30000 1.. internal
group.share.max.assignment.interval.ms int 15000 0..
group.share.max.delivery.count.limit int 10 5..25
group.share.max.heartbeat.interval.ms int 15000 1..
group.share.max.partition.max.record.locks int 4000 2000..10000
group.share.max.record.lock.duration.ms int 60000 30000..3600000
group.share.max.session.timeout.ms int 60000 1..
group.share.max.share.sessions int 2000 1..
group.share.max.size int 200 1..1000
group.share.min.assignment.interval.ms int 0 0..
group.share.min.delivery.count.limit int 2 2..5
group.share.min.heartbeat.interval.ms int 5000 1..
group.share.min.partition.max.record.locks int 100 100..2000
group.share.min.record.lock.duration.ms int 15000 1000..30000
group.share.min.session.timeout.ms int 45000 1..
group.share.partition.max.record.locks int 2000 100..10000
group.share.persister.class.name string \
org.apache.kafka.server.share.persister.DefaultStatePersister internal
group.share.record.lock.duration.ms int 30000 1000..3600000
group.share.session.timeout.ms int 45000 1..
share.coordinator.append.linger.ms int -1 -1..
share.coordinator.cached.buffer.max.bytes int 1048588 524288.. dynamic
share.coordinator.cold.partition.snapshot.interval.ms int 300000 1.. internal
share.coordinator.load.buffer.size int 5242880 1..
share.coordinator.snapshot.update.records.per.snapshot int 500 0..500
share.coordinator.state.topic.compression.codec int 0
share.coordinator.state.topic.min.isr short 2 1..
share.coordinator.state.topic.num.partitions int 50 1..
share.coordinator.state.topic.prune.interval.ms int 300000 1.. internal
share.coordinator.state.topic.replication.factor short 3 1..
share.coordinator.state.topic.segment.bytes int 104857600 1..
share.coordinator.threads int 1 1..
share.coordinator.write.timeout.ms int 5000 1..
share.fetch.purgatory.purge.interval.requests int 1000
"""

STREAMS_GROUPS = """
group.streams.assignment.interval.ms int 1000 0.. dynamic
group.streams.heartbeat.interval.ms int 5000 1..
group.streams.initial.rebalance.delay.ms int 3000 0..
group.streams.max.assignment.interval.ms int 15000 0..
group.streams.max.heartbeat.interval.ms int 15000 1..
group.streams.max.session.timeout.ms int 60000 1..
group.streams.max.size int 2147483647 1..
group.streams.max.standby.replicas int 2 0..
group.streams.min.assignment.interval.ms int 0 0..
group.streams.min.heartbeat.interval.ms int 5000 1..
group.streams.min.session.timeout.ms int 45000 1..
group.streams.num.standby.replicas int 0 0..
group.streams.session.timeout.ms int 45000 1..
"""

TIERED_STORAGE = """
follower.fetch.last.tiered.offset.enable boolean false dynamic
log.local.retention.bytes long -2 -2.. dynamic
log.local.retention.ms long -2 -2.. dynamic
remote.fetch.max.wait.ms int 500 1.. dynamic
remote.list.offsets.request.timeout.ms long 30000 1.. dynamic
remote.log.index.file.cache.total.size.bytes long 1073741824 1.. dynamic
remote.log.index.file.cache.ttl.ms long 900000 -1.. internal
remote.log.manager.copier.thread.pool.size int 10 1.. dynamic
remote.log.manager.copy.max.bytes.per.second long 9223372036854775807 1.. dynamic
remote.log.manager.copy.quota.window.num int 11 1..
remote.log.manager.copy.quota.window.size.seconds int 1 1..
remote.log.manager.expiration.thread.pool.size int 10 1.. dynamic
remote.log.manager.fetch.max.bytes.per.second long 9223372036854775807 1.. dynamic
remote.log.manager.fetch.quota.window.num int 11 1..
remote.log.manager.fetch.quota.window.size.seconds int 1 1..
remote.log.manager.follower.thread.pool.size int 2 1.. dynamic
remote.log.manager.task.interval.ms long 30000 1..
remote.log.manager.task.retry.backoff.max.ms long 30000 1.. internal
remote.log.manager.task.retry.backoff.ms long 500 1.. internal
remote.log.manager.task.retry.jitter double 0.2 0..0.5 internal
remote.log.manager.thread.pool.size int 2 1..
remote.log.metadata.custom.metadata.max.bytes int 128 0..
remote.log.metadata.manager.class.name string \
org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManager nonempty
remote.log.metadata.manager.class.path string null
remote.log.metadata.manager.impl.prefix string rlmm.config. nonempty
remote.log.metadata.manager.listener.name string null nonempty
remote.log.reader.max.pending.tasks int 100 1..
remote.log.reader.threads int 10 1.. dynamic
remote.log.storage.manager.class.name string null nonempty
remote.log.storage.manager.class.path string null
remote.log.storage.manager.impl.prefix string rsm.config. nonempty
remote.log.storage.system.enable boolean false
"""

SECTIONS = (
    Section("Share groups", SHARE_GROUPS),
    Section("Streams groups", STREAMS_GROUPS),
    Section("Tiered storage", TIERED_STORAGE),
)
