"""The broker keys Drumbeat acts on: node, listeners, connections, topics and their logs.

Defaults are Kafka's except for four that a server starting from nothing needs: ``node.id`` and
``broker.id`` (Kafka insists on being told), ``listeners`` (this machine only, not every interface)
and ``log.dir`` (not a folder that a Kafka on the same machine may own).
"""

from drumbeat.runtime.config.table import Section

NODE_AND_LISTENERS = """
node.id int 1 0..
    This node's id, the broker id that clients see.
broker.id int 1 0..
    The older name of node.id. When both are set they must agree.
broker.rack string null
    The rack this node reports in Metadata.
listeners list PLAINTEXT://127.0.0.1:9092 nonempty
    Where to listen, as NAME://host:port. No host means every interface; port 0 takes a free one.
    Listeners named in controller.listener.names are left out: there is no controller to serve.
advertised.listeners list null nonempty
    The addresses clients are told to connect to, by listener name. Default: those of listeners.
listener.security.protocol.map string \
SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT
    The security protocol of each listener name. Only PLAINTEXT is served so far.
controller.listener.names list null nonempty
    The listeners of a Kafka controller, so that a server.properties naming them still works.
log.dir list drumbeat-data nonempty
    The folder that holds the logs, unless log.dirs is set.
log.dirs list null nonempty
    The folder that holds the logs. Kafka takes several; Drumbeat takes one and refuses more.
"""

CONNECTIONS = """
connections.max.idle.ms long 600000
    A connection without requests for this long is closed; negative means never.
max.connections int 2147483647 0.. dynamic
    How many connections the node accepts at a time.
max.connections.per.ip int 2147483647 0.. dynamic
    How many connections one client address may hold at a time.
socket.request.max.bytes int 104857600 1..
    The largest request taken; a larger one closes its connection.
socket.send.buffer.bytes int 102400
    How much of its answers the system keeps for a client that has not taken them; -1: its choice.
queued.max.requests int 500 1..
    How many requests may wait to be served before connections are read no further.
queued.max.request.bytes long -1
    How many bytes of requests may wait before connections are read no further; -1 is no limit.
fetch.max.bytes int 57671680 1024..
    The most bytes one Fetch returns, whatever the client asks for.
"""

TOPICS = """
num.partitions int 1 1..
    The partitions of a topic whose creator names no number.
default.replication.factor int 1
    The replication factor a topic reports when its creator names none.
auto.create.topics.enable boolean true
    Whether asking for the metadata of an unknown topic creates it.
delete.topic.enable boolean true
    Whether DeleteTopics is served.
message.max.bytes int 1048588 0.. dynamic
    The largest record batch a topic takes.
compression.type string producer {uncompressed,zstd,lz4,snappy,gzip,producer} dynamic
    The compression batches are stored in; producer keeps what the producer chose.
min.insync.replicas int 1 1.. dynamic
    Accepted and reported. A partition here has one replica, which is always in sync.
"""

LOGS = """
log.retention.ms long null dynamic
    How long a topic keeps its records; -1 is for ever. Default: log.retention.minutes.
log.retention.minutes int null
    The same in minutes, used when log.retention.ms is not set. Default: log.retention.hours.
log.retention.hours int 168
    The same in hours, used when neither of the finer ones is set.
log.retention.bytes long -1 dynamic
    How many bytes a partition keeps; -1 is no limit.
log.retention.check.interval.ms long 300000 1..
    How often segments are checked for deletion.
log.cleanup.policy list delete {compact,delete} dynamic
    What becomes of old records: deleted, compacted to the newest of each key, or both.
log.cleaner.enable boolean true
    Whether logs whose policy is compact are compacted in the background.
log.cleaner.backoff.ms long 15000 0.. dynamic
    How long compaction rests when no log is dirty enough.
log.cleaner.min.cleanable.ratio double 0.5 0..1 dynamic
    The share of a log's closed segments that must be new since the last compaction for the next.
log.cleaner.min.compaction.lag.ms long 0 0.. dynamic
    How long a record stays uncompacted at least.
log.cleaner.max.compaction.lag.ms long 9223372036854775807 1.. dynamic
    How long a record stays uncompacted at most, whatever the ratio.
log.cleaner.delete.retention.ms long 86400000 0.. dynamic
    How long a compacted log keeps a deletion marker, from the first compaction that meets it.
log.cleaner.dedupe.buffer.size long 134217728 dynamic
    How much memory compaction takes for keys; more keys than fit take several passes.
log.cleaner.io.max.bytes.per.second double 1.7976931348623157E308 dynamic
    How fast compaction reads and writes at most, both together.
log.segment.bytes int 1073741824 1048576.. dynamic
    The size at which a segment is closed and a new one begun.
log.roll.ms long null dynamic
    The age at which a segment is closed and a new one begun. Default: log.roll.hours.
log.roll.hours int 168 1..
    The same in hours, used when log.roll.ms is not set.
log.index.interval.bytes int 4096 0.. dynamic
    How many bytes of log lie between two index entries.
log.index.size.max.bytes int 10485760 4.. dynamic
    The most bytes an offset index takes; a segment is closed when its index is full.
log.message.timestamp.after.max.ms long 3600000 0.. dynamic
    How far in the future a record's timestamp may lie; more is refused.
log.message.timestamp.before.max.ms long 9223372036854775807 0.. dynamic
    How far in the past a record's timestamp may lie; more is refused.
log.message.timestamp.type string CreateTime {CreateTime,LogAppendTime} dynamic
    Whether records carry the producer's time or the time of the append.
"""

MONITORING = """
metrics.port int null 0..65535
    Drumbeat's own: the port that serves /metrics, /healthz and /readyz over HTTP; 0 takes a free
    one. Nothing is served unless it is set.
metrics.host string null
    Drumbeat's own: the address that port is on. Default: the host of listeners.
logging.level string info {debug,info,warning,error}
    Drumbeat's own: what is logged.
logging.format string text {text,json}
    Drumbeat's own: log lines for people, or one JSON object per line.
"""

SECTIONS = (
    Section("Node and listeners", NODE_AND_LISTENERS),
    Section("Connections and requests", CONNECTIONS),
    Section("Topics", TOPICS),
    Section("Logs", LOGS),
    Section("Monitoring", MONITORING),
)
