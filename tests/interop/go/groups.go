package main

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

func (on administration) commitOffsets(ctx context.Context) error {
	offsets := kadm.Offsets{}
	offsets.Add(kadm.Offset{Topic: on.topic, Partition: 0, At: 70, LeaderEpoch: 0, Metadata: "seventy"})
	offsets.Add(kadm.Offset{Topic: on.topic, Partition: 1, At: 0, LeaderEpoch: -1})
	if err := on.admin.CommitAllOffsets(ctx, on.group, offsets); err != nil {
		return err
	}
	fetched, err := on.admin.FetchOffsets(ctx, on.group)
	if err != nil {
		return err
	}
	lags, err := on.admin.Lag(ctx, on.group)
	first, _ := fetched.Lookup(on.topic, 0)
	lag, _ := lags[on.group].Lag.Lookup(on.topic, 0)
	report("commit_offsets", facts{
		"offset":       first.At,
		"metadata":     first.Metadata,
		"leader_epoch": first.LeaderEpoch,
		"partitions":   partitionsOf(fetched[on.topic]),
		"lag":          lag.Lag,
	})
	return err
}

func (on administration) describeGroup(ctx context.Context) error {
	described, err := on.admin.DescribeGroups(ctx, on.group, "missing")
	if err != nil {
		return err
	}
	listed, err := on.admin.ListGroups(ctx)
	if err != nil {
		return err
	}
	empty, err := on.admin.ListGroups(ctx, "Empty")
	if err != nil {
		return err
	}
	stable, err := on.admin.ListGroups(ctx, "Stable")
	missing := described["missing"]
	report("describe_group", facts{
		"state":             described[on.group].State,
		"coordinator":       described[on.group].Coordinator.NodeID,
		"missing":           missing.State,
		"missing_error":     errorName(missing.Err),
		"is_listed":         isIn(listed, on.group),
		"is_listed_empty":   isIn(empty, on.group),
		"is_listed_stable":  isIn(stable, on.group),
		"missing_is_listed": isIn(listed, "missing"),
	})
	return err
}

func isIn(listed kadm.ListedGroups, group string) bool {
	_, found := listed[group]
	return found
}

// protectGroup tries what only an empty group permits while a static member is in it.
func (on administration) protectGroup(ctx context.Context) error {
	if err := on.joinAndVanish(ctx); err != nil {
		return err
	}
	described, err := on.admin.DescribeGroups(ctx, on.group)
	if err != nil {
		return err
	}
	member := described[on.group].Members[0]
	assigned, _ := member.Assigned.AsConsumer()
	offsets := kadm.Offsets{}
	offsets.Add(kadm.Offset{Topic: on.topic, Partition: 0, At: 1})
	committed, err := on.admin.CommitOffsets(ctx, on.group, offsets)
	if err != nil {
		return err
	}
	removed, err := on.admin.DeleteOffsets(ctx, on.group, kadm.TopicsSet{on.topic: {0: {}}})
	if err != nil {
		return err
	}
	_, deleted := on.admin.DeleteGroup(ctx, on.group)
	report("protect_group", facts{
		"state":          described[on.group].State,
		"protocol":       described[on.group].Protocol,
		"instance":       *member.InstanceID,
		"assigned":       len(assigned.Topics[0].Partitions),
		"commit":         errorName(committed.Error()),
		"delete_offsets": errorName(removed.Error()),
		"delete":         errorName(deleted),
	})
	return nil
}

// A static member does not leave when it closes: it stays a member for its session's time.
func (on administration) joinAndVanish(ctx context.Context) error {
	joined := make(chan struct{}, 1)
	client, err := kgo.NewClient(
		kgo.SeedBrokers(on.servers),
		kgo.ConsumerGroup(on.group),
		kgo.ConsumeTopics(on.topic),
		kgo.InstanceID(instanceID),
		kgo.SessionTimeout(time.Minute),
		kgo.Balancers(kgo.RangeBalancer()),
		kgo.DisableAutoCommit(),
		kgo.OnPartitionsAssigned(func(context.Context, *kgo.Client, map[string][]int32) { joined <- struct{}{} }),
	)
	if err != nil {
		return err
	}
	defer client.Close()
	select {
	case <-joined:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("the member did not join: %w", ctx.Err())
	}
}

func (on administration) removeMember(ctx context.Context) error {
	removal := kadm.LeaveGroup(on.group).InstanceIDs(instanceID).Reason("the test is over")
	left, err := on.admin.LeaveGroup(ctx, removal)
	if err != nil {
		return err
	}
	again, err := on.admin.LeaveGroup(ctx, removal)
	if err != nil {
		return err
	}
	described, err := on.admin.DescribeGroups(ctx, on.group)
	report("remove_member", facts{
		"error": errorName(left[instanceID].Err),
		"again": errorName(again[instanceID].Err),
		"state": described[on.group].State,
	})
	return err
}

func (on administration) deleteGroup(ctx context.Context) error {
	removed, err := on.admin.DeleteOffsets(ctx, on.group, kadm.TopicsSet{on.topic: {0: {}}})
	if err != nil {
		return err
	}
	left, err := on.admin.FetchOffsets(ctx, on.group)
	if err != nil {
		return err
	}
	if _, err := on.admin.DeleteGroup(ctx, on.group); err != nil {
		return err
	}
	_, again := on.admin.DeleteGroup(ctx, on.group)
	gone, err := on.admin.FetchOffsets(ctx, on.group)
	report("delete_group", facts{
		"delete_offsets": errorName(removed.Error()),
		"left":           partitionsOf(left[on.topic]),
		"again":          errorName(again),
		"gone":           partitionsOf(gone[on.topic]),
	})
	return err
}
