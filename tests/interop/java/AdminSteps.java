import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.AlterConfigOp.OpType;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.admin.CreateTopicsResult;
import org.apache.kafka.clients.admin.DescribeClusterResult;
import org.apache.kafka.clients.admin.ListConsumerGroupOffsetsSpec;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.StringSerializer;

/** What administrators call: one step per subject, on a topic and a group of its own. */
final class AdminSteps {
    private static final long FIRST_TIMESTAMP = 1_700_000_000_000L;
    private static final int RECORDS = 10;

    private final String servers;
    private final Admin admin;
    private final String topic;
    private final String group;
    private final TopicPartition first;

    private AdminSteps(String servers, Admin admin, String topic, String group) {
        this.servers = servers;
        this.admin = admin;
        this.topic = topic;
        this.group = group;
        this.first = new TopicPartition(topic, 0);
    }

    public static void main(String[] arguments) throws Exception {
        String servers = arguments[0];
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", servers))) {
            AdminSteps steps = new AdminSteps(servers, admin, arguments[1], arguments[2]);
            steps.describeCluster();
            steps.createTopic();
            steps.createPartitions();
            steps.alterConfigs();
            steps.produce();
            steps.listOffsets();
            steps.deleteRecords();
            steps.describeLogDirs();
            steps.alterGroupOffsets();
            steps.describeGroup();
            steps.deleteGroupOffsets();
            steps.deleteGroup();
            steps.deleteTopic();
        }
    }

    private void describeCluster() throws Exception {
        DescribeClusterResult cluster = admin.describeCluster();
        Report.step("describe_cluster", Map.of(
            "nodes", cluster.nodes().get().stream().map(node -> node.id()).toList(),
            "controller", cluster.controller().get().id(),
            "has_id", !cluster.clusterId().get().isEmpty()));
    }

    private void createTopic() throws Exception {
        NewTopic wanted = new NewTopic(topic, Optional.of(2), Optional.empty())
            .configs(Map.of("retention.ms", "-1"));
        CreateTopicsResult created = admin.createTopics(List.of(wanted));
        Report.step("create_topic", Map.of(
            "partitions", created.numPartitions(topic).get(),
            "replication_factor", created.replicationFactor(topic).get(),
            "retention_ms", created.config(topic).get().get("retention.ms").value(),
            "has_id", !created.topicId(topic).get().equals(Uuid.ZERO_UUID),
            "again", Report.errorOf(() -> admin.createTopics(List.of(wanted)).all().get())));
    }

    private void createPartitions() throws Exception {
        admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(3))).all().get();
        Report.await("three partitions", () -> partitionCount() == 3);
        Report.step("create_partitions", Map.of(
            "fewer", Report.errorOf(() ->
                admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(1))).all().get()),
            "unknown", Report.errorOf(() ->
                admin.createPartitions(Map.of("missing", NewPartitions.increaseTo(9))).all().get())));
    }

    private int partitionCount() {
        try {
            return admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic).partitions().size();
        } catch (InterruptedException | ExecutionException problem) {
            throw new IllegalStateException(problem);
        }
    }

    private void alterConfigs() throws Exception {
        alter(OpType.SET, "max.message.bytes", "4000");
        alter(OpType.APPEND, "cleanup.policy", "compact");
        String appended = config().get("cleanup.policy").value();
        alter(OpType.SUBTRACT, "cleanup.policy", "compact");
        String subtracted = config().get("cleanup.policy").value();
        String set = config().get("max.message.bytes").value();
        alter(OpType.DELETE, "max.message.bytes", null);
        ConfigEntry deleted = config().get("max.message.bytes");
        Report.step("alter_configs", Map.of(
            "appended", appended,
            "subtracted", subtracted,
            "set", set,
            "deleted", deleted.value(),
            "source", deleted.source().name(),
            "wrong", Report.errorOf(() -> {
                alter(OpType.SET, "max.message.bytes", "many");
                return null;
            })));
    }

    private void alter(OpType how, String name, String value) throws Exception {
        AlterConfigOp operation = new AlterConfigOp(new ConfigEntry(name, value), how);
        Map<ConfigResource, Collection<AlterConfigOp>> wanted = Map.of(resource(), List.of(operation));
        admin.incrementalAlterConfigs(wanted).all().get();
    }

    private Config config() throws Exception {
        return admin.describeConfigs(List.of(resource())).all().get().get(resource());
    }

    private ConfigResource resource() {
        return new ConfigResource(ConfigResource.Type.TOPIC, topic);
    }

    private void produce() throws Exception {
        Map<String, Object> options = Map.of("bootstrap.servers", servers, "compression.type", "zstd");
        StringSerializer strings = new StringSerializer();
        long last = -1;
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(options, strings, strings)) {
            for (int number = 0; number < RECORDS; number++) {
                long timestamp = FIRST_TIMESTAMP + number;
                last = producer.send(new ProducerRecord<>(topic, 0, timestamp, "key", "value")).get().offset();
            }
        }
        Report.step("produce", Map.of("last_offset", last));
    }

    private void listOffsets() throws Exception {
        Report.step("list_offsets", Map.of(
            "earliest", offset(OffsetSpec.earliest()),
            "latest", offset(OffsetSpec.latest()),
            "max_timestamp", offset(OffsetSpec.maxTimestamp()),
            "at_the_fifth", offset(OffsetSpec.forTimestamp(FIRST_TIMESTAMP + 4)),
            "in_the_future", offset(OffsetSpec.forTimestamp(FIRST_TIMESTAMP + RECORDS))));
    }

    private long offset(OffsetSpec which) throws Exception {
        return admin.listOffsets(Map.of(first, which)).partitionResult(first).get().offset();
    }

    private void deleteRecords() throws Exception {
        Report.step("delete_records", Map.of(
            "low_watermark", admin.deleteRecords(Map.of(first, RecordsToDelete.beforeOffset(3)))
                .lowWatermarks().get(first).get().lowWatermark(),
            "earliest", offset(OffsetSpec.earliest()),
            "too_far", Report.errorOf(() ->
                admin.deleteRecords(Map.of(first, RecordsToDelete.beforeOffset(99))).all().get())));
    }

    private void describeLogDirs() throws Exception {
        Map<TopicPartition, Long> sizes = new TreeMap<>(
            (one, other) -> Integer.compare(one.partition(), other.partition()));
        admin.describeLogDirs(List.of(1)).allDescriptions().get().get(1).values().forEach(directory ->
            directory.replicaInfos().forEach((partition, replica) -> {
                if (partition.topic().equals(topic)) {
                    sizes.put(partition, replica.size());
                }
            }));
        Report.step("describe_log_dirs", Map.of(
            "partitions", sizes.keySet().stream().map(TopicPartition::partition).toList(),
            "has_data", sizes.get(first) > 0));
    }

    private void alterGroupOffsets() throws Exception {
        TopicPartition second = new TopicPartition(topic, 1);
        admin.alterConsumerGroupOffsets(group, Map.of(
            first, new OffsetAndMetadata(7, Optional.of(0), "seven"),
            second, new OffsetAndMetadata(0))).all().get();
        Map<TopicPartition, OffsetAndMetadata> offsets = offsets();
        Report.step("alter_group_offsets", Map.of(
            "offset", offsets.get(first).offset(),
            "metadata", offsets.get(first).metadata(),
            "leader_epoch", offsets.get(first).leaderEpoch().orElse(-1),
            "second", offsets.get(second).offset()));
    }

    private Map<TopicPartition, OffsetAndMetadata> offsets() throws Exception {
        Map<String, ListConsumerGroupOffsetsSpec> everything = Map.of(group, new ListConsumerGroupOffsetsSpec());
        return admin.listConsumerGroupOffsets(everything).partitionsToOffsetAndMetadata(group).get();
    }

    private void describeGroup() throws Exception {
        ConsumerGroupDescription described =
            admin.describeConsumerGroups(List.of(group)).describedGroups().get(group).get();
        Set<String> listed = admin.listGroups().all().get().stream()
            .map(listing -> listing.groupId()).collect(Collectors.toSet());
        Report.step("describe_group", Map.of(
            "state", described.groupState().toString(),
            "type", described.type().toString(),
            "is_simple", described.isSimpleConsumerGroup(),
            "coordinator", described.coordinator().id(),
            "members", described.members().size(),
            "is_listed", listed.contains(group),
            "unknown", Report.errorOf(() -> admin.describeConsumerGroups(List.of("missing")).all().get())));
    }

    private void deleteGroupOffsets() throws Exception {
        admin.deleteConsumerGroupOffsets(group, Set.of(first)).all().get();
        Report.step("delete_group_offsets", Map.of(
            "left", offsets().keySet().stream().map(TopicPartition::partition).toList()));
    }

    private void deleteGroup() throws Exception {
        admin.deleteConsumerGroups(List.of(group)).all().get();
        Report.step("delete_group", Map.of(
            "left", offsets().size(),
            "again", Report.errorOf(() -> admin.deleteConsumerGroups(List.of(group)).all().get())));
    }

    private void deleteTopic() throws Exception {
        admin.deleteTopics(List.of(topic)).all().get();
        Report.await("the topic is gone", () ->
            Report.errorOf(() -> admin.describeTopics(List.of(topic)).allTopicNames().get())
                .equals("UnknownTopicOrPartitionException"));
        Report.step("delete_topic", Map.of(
            "again", Report.errorOf(() -> admin.deleteTopics(List.of(topic)).all().get())));
    }
}
