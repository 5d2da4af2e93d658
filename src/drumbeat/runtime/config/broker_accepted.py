"""Broker keys Kafka 4.3 knows and Drumbeat has no use for: server, logs, replication, quorum."""

from drumbeat.runtime.config.table import Section

SERVER = """
alter.config.policy.class.name class null
background.threads int 10 1.. dynamic
config.providers list "" dynamic
create.topic.policy.class.name class null
max.connection.creation.rate int 2147483647 0.. dynamic
max.connections.per.ip.overrides string "" dynamic
max.incremental.fetch.session.cache.slots int 1000 0..
max.request.partition.size.limit int 2000 1..
num.io.threads int 8 1.. dynamic
num.network.threads int 3 1.. dynamic
request.timeout.ms int 30000
socket.connection.setup.timeout.max.ms long 30000
socket.connection.setup.timeout.ms long 10000
socket.listen.backlog.size int 50 1..
socket.receive.buffer.bytes int 102400
unstable.api.versions.enable boolean false internal
unstable.feature.versions.enable boolean false internal
"""

LOGS = """
compression.gzip.level int -1 -1|1..9 dynamic
compression.lz4.level int 9 1..17 dynamic
compression.zstd.level int 3 -131072..22 dynamic
cordoned.log.dirs list "" dynamic
log.cleaner.io.buffer.load.factor double 0.9 dynamic
log.cleaner.io.buffer.size int 524288 0.. dynamic
log.cleaner.threads int 1 0.. dynamic
log.dir.failure.timeout.ms long 30000 1..
log.flush.interval.messages long 9223372036854775807 1.. dynamic
log.flush.interval.ms long null dynamic
log.flush.offset.checkpoint.interval.ms int 60000 0..
log.flush.scheduler.interval.ms long 9223372036854775807
log.flush.start.offset.checkpoint.interval.ms int 60000 0..
log.initial.task.delay.ms long 30000 0.. internal
log.preallocate boolean false dynamic
log.roll.jitter.hours int 0 0..
log.roll.jitter.ms long null dynamic
log.segment.delete.delay.ms long 60000 0.. dynamic
num.recovery.threads.per.data.dir int 2 1.. dynamic
"""

REPLICATION = """
alter.log.dirs.replication.quota.window.num int 11 1..
alter.log.dirs.replication.quota.window.size.seconds int 1 1..
auto.leader.rebalance.enable boolean true
controlled.shutdown.enable boolean true
delete.records.purgatory.purge.interval.requests int 1
fetch.purgatory.purge.interval.requests int 1000
follower.replication.throttled.rate long 9223372036854775807 0.. internal dynamic
inter.broker.listener.name string null
leader.imbalance.check.interval.seconds long 300 1..
leader.replication.throttled.rate long 9223372036854775807 0.. internal dynamic
num.replica.alter.log.dirs.threads int null
num.replica.fetchers int 1 1.. dynamic
producer.purgatory.purge.interval.requests int 1000
replica.alter.log.dirs.io.max.bytes.per.second long 9223372036854775807 0.. internal dynamic
replica.fetch.backoff.ms int 1000 0..
replica.fetch.max.bytes int 1048576 0..
replica.fetch.min.bytes int 1
replica.fetch.response.max.bytes int 10485760 0..
replica.fetch.wait.max.ms int 500
replica.high.watermark.checkpoint.interval.ms long 5000
replica.lag.time.max.ms long 30000
replica.selector.class string null
replica.socket.receive.buffer.bytes int 65536
replica.socket.timeout.ms int 30000
replication.quota.window.num int 11 1..
replication.quota.window.size.seconds int 1 1..
unclean.leader.election.enable boolean false dynamic
"""

CONTROLLER = """
broker.heartbeat.interval.ms int 2000
broker.session.timeout.ms int 9000
controller.performance.always.log.threshold.ms long 2000 0.. internal
controller.performance.sample.period.ms long 60000 100.. internal
controller.quorum.append.linger.ms int 25 0..
controller.quorum.auto.join.enable boolean false
controller.quorum.bootstrap.servers list ""
controller.quorum.election.backoff.max.ms int 1000 0..
controller.quorum.election.timeout.ms int 1000 0..
controller.quorum.fetch.max.bytes int 1048576 1..
controller.quorum.fetch.snapshot.max.bytes int 1048576 1..
controller.quorum.fetch.timeout.ms int 2000 0..
controller.quorum.request.timeout.ms int 2000 0..
controller.quorum.retry.backoff.ms int 20 0..
controller.quorum.voters list ""
controller.quota.window.num int 11 1..
controller.quota.window.size.seconds int 1 1..
controller.socket.timeout.ms int 30000
early.start.listeners list null
initial.broker.registration.timeout.ms int 60000
internal.metadata.delete.delay.millis long 60000 internal
internal.metadata.log.segment.bytes int null internal
internal.metadata.max.batch.size.in.bytes int 8388608 internal
metadata.log.dir string null
metadata.log.max.record.bytes.between.snapshots long 20971520 1..
metadata.log.max.snapshot.interval.ms long 3600000 0..
metadata.log.segment.bytes int 1073741824 8388608..
metadata.log.segment.ms long 604800000
metadata.max.idle.interval.ms int 500 0..
metadata.max.retention.bytes long 104857600
metadata.max.retention.ms long 604800000
process.roles list null {broker,controller}
server.max.startup.time.ms long 9223372036854775807 0.. internal
unclean.leader.election.interval.ms long 300000 1.. internal
"""

METRICS = """
client.quota.callback.class class null
kafka.metrics.polling.interval.secs int 10 1..
kafka.metrics.reporters list ""
metric.reporters list org.apache.kafka.common.metrics.JmxReporter dynamic
metrics.num.samples int 2 1..
metrics.recording.level string INFO
metrics.sample.window.ms long 30000 1..
quota.window.num int 11 1..
quota.window.size.seconds int 1 1..
telemetry.max.bytes int 1048576 1..
"""

GROUPS = """
add.partitions.to.txn.retry.backoff.max.ms int 100 0..
add.partitions.to.txn.retry.backoff.ms int 20 1..
group.coordinator.background.threads int 2 1..
group.coordinator.cached.buffer.max.bytes int 1048588 524288.. dynamic
group.coordinator.threads int 4 1..
offsets.topic.replication.factor short 3 1..
transaction.partition.verification.enable boolean true dynamic
transaction.state.log.load.buffer.size int 5242880 1..
transaction.state.log.min.isr int 2 1..
transaction.state.log.replication.factor short 3 1..
transaction.two.phase.commit.enable boolean false
"""

SECTIONS = (
    Section("Server", SERVER),
    Section("Logs", LOGS),
    Section("Replication", REPLICATION),
    Section("Controller and metadata quorum", CONTROLLER),
    Section("Quotas and metrics", METRICS),
    Section("Groups and transactions", GROUPS),
)
