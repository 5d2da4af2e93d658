package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

const heartbeatInterval = 300 * time.Millisecond

var balancers = map[string]func() kgo.GroupBalancer{
	"range":              kgo.RangeBalancer,
	"cooperative-sticky": kgo.CooperativeStickyBalancer,
}

type topicPartition struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
}

type readRange struct {
	topicPartition
	Count     int   `json:"count"`
	MinOffset int64 `json:"minOffset"`
	MaxOffset int64 `json:"maxOffset"`
}

type committedOffset struct {
	topicPartition
	Offset int64 `json:"offset"`
}

// runMember consumes, and commits what it has read before it reads on, until SIGTERM.
func runMember(arguments []string) error {
	client, err := newMember(arguments)
	if err != nil {
		return err
	}
	defer client.CloseAllowingRebalance()
	stopping, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer cancel()
	for {
		fetches := client.PollFetches(stopping)
		if stopping.Err() != nil {
			return nil
		}
		if err := fatalError(fetches); err != nil {
			return err
		}
		if !fetches.Empty() {
			consume(client, fetches)
		}
		client.AllowRebalance()
	}
}

func newMember(arguments []string) (*kgo.Client, error) {
	flags := flag.NewFlagSet("member", flag.ContinueOnError)
	servers := flags.String("servers", "", "bootstrap servers")
	group := flags.String("group", "", "group id")
	topic := flags.String("topic", "", "topic to consume")
	assignor := flags.String("assignor", "range", "range or cooperative-sticky")
	sessionTimeout := flags.Duration("session-timeout", 45*time.Second, "session timeout")
	instance := flags.String("instance", "", "group instance id")
	if err := flags.Parse(arguments); err != nil {
		return nil, err
	}
	options := []kgo.Opt{
		kgo.SeedBrokers(*servers),
		kgo.ConsumerGroup(*group),
		kgo.ConsumeTopics(*topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.Balancers(balancers[*assignor]()),
		kgo.SessionTimeout(*sessionTimeout),
		kgo.HeartbeatInterval(heartbeatInterval),
		kgo.DisableAutoCommit(),
		// What was polled is committed before its partition can move.
		kgo.BlockRebalanceOnPoll(),
		kgo.OnPartitionsAssigned(reportPartitions("partitions_assigned")),
		kgo.OnPartitionsRevoked(reportPartitions("partitions_revoked")),
		kgo.OnPartitionsLost(reportPartitions("partitions_revoked")),
	}
	if *instance != "" {
		options = append(options, kgo.InstanceID(*instance))
	}
	return kgo.NewClient(options...)
}

func reportPartitions(name string) func(context.Context, *kgo.Client, map[string][]int32) {
	return func(_ context.Context, _ *kgo.Client, moved map[string][]int32) {
		partitions := []topicPartition{}
		for topic, numbers := range moved {
			for _, number := range numbers {
				partitions = append(partitions, topicPartition{topic, number})
			}
		}
		report(name, facts{"partitions": partitions})
	}
}

// The client gets over all errors of a group but this one.
func fatalError(fetches kgo.Fetches) error {
	for _, fetchError := range fetches.Errors() {
		if errors.Is(fetchError.Err, kerr.FencedInstanceID) {
			return fetchError.Err
		}
		fmt.Fprintln(os.Stderr, fetchError.Err)
	}
	return nil
}

func consume(client *kgo.Client, fetches kgo.Fetches) {
	var read []readRange
	var offsets []committedOffset
	fetches.EachPartition(func(fetched kgo.FetchTopicPartition) {
		if len(fetched.Records) == 0 {
			return
		}
		partition := topicPartition{fetched.Topic, fetched.Partition}
		first, last := fetched.Records[0].Offset, fetched.Records[len(fetched.Records)-1].Offset
		read = append(read, readRange{partition, len(fetched.Records), first, last})
		offsets = append(offsets, committedOffset{partition, last + 1})
	})
	report("records_consumed", facts{"count": fetches.NumRecords(), "partitions": read})
	err := client.CommitRecords(context.Background(), fetches.Records()...)
	report("offsets_committed", facts{"offsets": offsets, "success": err == nil, "error": errorName(err)})
}
