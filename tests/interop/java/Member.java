import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;

/** A consumer, and what its rebalance listener was told: the verb and how many partitions. */
final class Member implements ConsumerRebalanceListener {
    private static final Duration POLL = Duration.ofMillis(20);

    final KafkaConsumer<String, String> consumer;
    private List<List<Object>> calls = new ArrayList<>();

    Member(String servers, String group, Map<String, Object> options) {
        Map<String, Object> all = new HashMap<>(options);
        all.put("bootstrap.servers", servers);
        all.put("group.id", group);
        all.put("enable.auto.commit", false);
        all.put("heartbeat.interval.ms", 200);
        all.put("metadata.max.age.ms", 200);
        this.consumer = new KafkaConsumer<>(all, new StringDeserializer(), new StringDeserializer());
    }

    void poll() {
        consumer.poll(POLL);
    }

    int share() {
        return consumer.assignment().size();
    }

    int generation() {
        return consumer.groupMetadata().generationId();
    }

    TopicPartition anyPartition() {
        return consumer.assignment().iterator().next();
    }

    /** What the listener was told since the last time. */
    List<List<Object>> takeCalls() {
        List<List<Object>> taken = calls;
        calls = new ArrayList<>();
        return taken;
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
        note("revoked", partitions);
    }

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
        note("assigned", partitions);
    }

    @Override
    public void onPartitionsLost(Collection<TopicPartition> partitions) {
        note("lost", partitions);
    }

    /** A cooperative rebalance may take a round more or less; a round that moves nothing is left out. */
    private void note(String verb, Collection<TopicPartition> partitions) {
        if (!partitions.isEmpty()) {
            calls.add(List.of(verb, partitions.size()));
        }
    }
}
