import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.regex.Pattern;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.RemoveMembersFromConsumerGroupOptions;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.GroupState;
import org.apache.kafka.common.TopicPartition;

/** Consumers of one group in one thread: the order of their callbacks, commits, removal. */
final class ConsumerSteps implements AutoCloseable {
    private static final int PARTITIONS = 6;

    private final String servers;
    private final String topic;
    private final String group;
    private final String assignor;
    private final Admin admin;
    private final Member first;
    private final Member second;
    private int settledGeneration = 0;

    private ConsumerSteps(String servers, String topic, String group, String assignor) {
        this.servers = servers;
        this.topic = topic;
        this.group = group;
        this.assignor = assignor;
        this.admin = Admin.create(Map.of("bootstrap.servers", servers));
        this.first = member(300_000);
        this.second = member(300_000);
    }

    public static void main(String[] arguments) throws Exception {
        try (ConsumerSteps steps = new ConsumerSteps(arguments[0], arguments[1], arguments[2], arguments[3])) {
            steps.join();
            steps.commit();
            steps.enforce();
            steps.leave();
            steps.remove();
            steps.stall();
            steps.matchPattern();
        }
    }

    @Override
    public void close() {
        admin.close();
    }

    private void join() {
        first.consumer.subscribe(List.of(topic), first);
        settle(PARTITIONS, first);
        Report.step("alone", Map.of("first", first.takeCalls()));
        second.consumer.subscribe(List.of(topic), second);
        settle(PARTITIONS, first, second);
        Report.step("joined", Map.of("first", first.takeCalls(), "second", second.takeCalls()));
    }

    private void commit() {
        TopicPartition partition = first.anyPartition();
        first.consumer.commitSync(Map.of(partition, new OffsetAndMetadata(5, Optional.of(0), "why")));
        OffsetAndMetadata committed = second.consumer.committed(Set.of(partition)).get(partition);
        Report.step("committed", Map.of(
            "offset", committed.offset(),
            "metadata", committed.metadata(),
            "leader_epoch", committed.leaderEpoch().orElse(-1)));
    }

    private void enforce() {
        first.consumer.enforceRebalance("the test asks for it");
        settle(PARTITIONS, first, second);
        Report.step("enforced", Map.of("first", first.takeCalls(), "second", second.takeCalls()));
    }

    private void leave() {
        second.consumer.close();
        settle(PARTITIONS, first);
        Report.step("left", Map.of("first", first.takeCalls(), "second", second.takeCalls()));
    }

    private void remove() throws Exception {
        String before = first.consumer.groupMetadata().memberId();
        admin.removeMembersFromConsumerGroup(group, new RemoveMembersFromConsumerGroupOptions()).all().get();
        Map<TopicPartition, OffsetAndMetadata> offsets = Map.of(first.anyPartition(), new OffsetAndMetadata(6));
        String refused = Report.errorOf(() -> {
            first.consumer.commitSync(offsets);
            return null;
        });
        settle(PARTITIONS, first);
        Report.step("removed", Map.of(
            "commit", refused.replace("Exception", ""),
            "first", first.takeCalls(),
            "is_new_member", !first.consumer.groupMetadata().memberId().equals(before)));
    }

    private void stall() {
        first.consumer.close();
        Member slow = member(1_000);
        slow.consumer.subscribe(List.of(topic), slow);
        settle(PARTITIONS, slow);
        slow.takeCalls();
        Report.await("it is taken for stuck", () -> groupState() == GroupState.EMPTY);
        settle(PARTITIONS, slow);
        Report.step("stalled", Map.of("slow", slow.takeCalls()));
        slow.consumer.close();
    }

    private void matchPattern() throws Exception {
        Member matching = member(300_000);
        matching.consumer.subscribe(Pattern.compile(topic + ".*"), matching);
        settle(PARTITIONS, matching);
        matching.takeCalls();
        admin.createTopics(List.of(new NewTopic(topic + "-more", Optional.of(2), Optional.empty()))).all().get();
        settle(PARTITIONS + 2, matching);
        Report.step("matched", Map.of("matching", matching.takeCalls()));
        matching.consumer.close();
    }

    private Member member(int maxPollIntervalMs) {
        return new Member(servers, group, Map.of(
            "partition.assignment.strategy", assignor,
            "max.poll.interval.ms", maxPollIntervalMs));
    }

    /** Return when these members share the partitions evenly, in one generation that is a new one. */
    private void settle(int partitions, Member... members) {
        Report.await(partitions + " partitions for " + members.length, () -> {
            boolean isSettled = true;
            for (Member member : members) {
                member.poll();
                isSettled &= member.share() == partitions / members.length
                    && member.generation() > settledGeneration
                    && member.generation() == members[0].generation();
            }
            return isSettled;
        });
        settledGeneration = members[0].generation();
    }

    private GroupState groupState() {
        try {
            return admin.describeConsumerGroups(List.of(group)).describedGroups().get(group).get().groupState();
        } catch (InterruptedException | ExecutionException problem) {
            throw new IllegalStateException(problem);
        }
    }
}
