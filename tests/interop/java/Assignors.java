import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Assignment;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupSubscription;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.clients.consumer.RoundRobinAssignor;
import org.apache.kafka.clients.consumer.StickyAssignor;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;

/**
 * Kafka's assignors behind a pipe. A line in is the history of a group: the assignor, and for each
 * rebalance the cluster, the members and the generation. A line out has, for each rebalance, what
 * every member gets and the user data it would send next, or what was thrown. One instance leads
 * the whole history.
 */
final class Assignors {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Map<String, Supplier<ConsumerPartitionAssignor>> MAKERS = Map.of(
            "range", RangeAssignor::new,
            "roundrobin", RoundRobinAssignor::new,
            "sticky", StickyAssignor::new,
            "cooperative-sticky", CooperativeStickyAssignor::new);

    private Assignors() {}

    public static void main(String[] arguments) throws IOException {
        BufferedReader in =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.println(JSON.writeValueAsString(answers(JSON.readTree(line))));
        }
        out.flush();
    }

    private static List<Map<String, Object>> answers(JsonNode history) {
        Supplier<ConsumerPartitionAssignor> maker = MAKERS.get(history.get("assignor").asText());
        ConsumerPartitionAssignor leader = maker.get();
        List<Map<String, Object>> answers = new ArrayList<>();
        for (JsonNode round : history.get("rounds")) {
            answers.add(answer(leader, maker, round));
        }
        return answers;
    }

    private static Map<String, Object> answer(
            ConsumerPartitionAssignor leader,
            Supplier<ConsumerPartitionAssignor> maker,
            JsonNode round) {
        Map<String, Assignment> assigned;
        try {
            GroupSubscription members = new GroupSubscription(members(round.get("members")));
            assigned = leader.assign(cluster(round.get("cluster")), members).groupAssignment();
        } catch (RuntimeException problem) {
            return Map.of("error", problem.toString());
        }
        int generation = round.get("generation").asInt();
        Map<String, Object> assignment = new LinkedHashMap<>();
        Map<String, Object> userData = new LinkedHashMap<>();
        assigned.forEach((member, share) -> {
            assignment.put(member, runs(share.partitions()));
            userData.put(member, userData(maker.get(), share, generation));
        });
        return Map.of("assignment", assignment, "user_data", userData);
    }

    /** [topic, partition, partition, ...] for each run of partitions of one topic. */
    private static List<List<Object>> runs(List<TopicPartition> partitions) {
        List<List<Object>> runs = new ArrayList<>();
        for (TopicPartition tp : partitions) {
            if (runs.isEmpty() || !runs.get(runs.size() - 1).get(0).equals(tp.topic())) {
                runs.add(new ArrayList<>(List.of(tp.topic())));
            }
            runs.get(runs.size() - 1).add(tp.partition());
        }
        return runs;
    }

    @SuppressWarnings("removal")
    private static String userData(
            ConsumerPartitionAssignor follower, Assignment share, int generation) {
        follower.onAssignment(
                share, new ConsumerGroupMetadata("group", generation, "member", Optional.empty()));
        ByteBuffer data = follower.subscriptionUserData(Set.of());
        if (data == null) {
            return null;
        }
        byte[] bytes = new byte[data.remaining()];
        data.get(bytes);
        return Base64.getEncoder().encodeToString(bytes);
    }

    /** A topic is a number of partitions, or for each of them the racks of its replicas. */
    private static Cluster cluster(JsonNode topics) {
        List<PartitionInfo> partitions = new ArrayList<>();
        topics.forEachEntry((topic, description) -> {
            int count = description.isInt() ? description.asInt() : description.size();
            for (int partition = 0; partition < count; partition++) {
                Node[] replicas = replicas(description.path(partition));
                partitions.add(new PartitionInfo(topic, partition, null, replicas, replicas));
            }
        });
        return new Cluster("cluster", List.of(), partitions, Set.of(), Set.of());
    }

    private static Node[] replicas(JsonNode racks) {
        List<Node> replicas = new ArrayList<>();
        racks.forEach(rack -> replicas.add(node(replicas.size(), rack.asText())));
        return replicas.isEmpty() ? new Node[] {node(0, null)} : replicas.toArray(new Node[0]);
    }

    private static Node node(int id, String rack) {
        return new Node(id, "localhost", 9092, rack);
    }

    private static Map<String, Subscription> members(JsonNode members) {
        Map<String, Subscription> subscriptions = new HashMap<>();
        for (JsonNode member : members) {
            subscriptions.put(member.get("member_id").asText(), subscription(member));
        }
        return subscriptions;
    }

    private static Subscription subscription(JsonNode member) {
        List<String> topics = new ArrayList<>();
        member.get("topics").forEach(topic -> topics.add(topic.asText()));
        List<TopicPartition> owned = new ArrayList<>();
        for (JsonNode run : member.path("owned")) {
            for (int i = 1; i < run.size(); i++) {
                owned.add(new TopicPartition(run.get(0).asText(), run.get(i).asInt()));
            }
        }
        Subscription subscription = new Subscription(
                topics,
                text(member, "user_data").map(Assignors::decoded).orElse(null),
                owned,
                member.path("generation_id").asInt(-1),
                text(member, "rack_id"));
        subscription.setGroupInstanceId(text(member, "group_instance_id"));
        return subscription;
    }

    private static ByteBuffer decoded(String base64) {
        return ByteBuffer.wrap(Base64.getDecoder().decode(base64));
    }

    private static Optional<String> text(JsonNode member, String field) {
        return Optional.ofNullable(member.get(field)).map(JsonNode::asText);
    }
}
