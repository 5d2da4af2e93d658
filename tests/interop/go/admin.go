package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	adminTimeout     = 50 * time.Second
	recordsPerCodec  = 20
	firstTimestampMs = 1_700_000_000_000
	instanceID       = "instance-1"
)

var codecs = []struct {
	name  string
	codec kgo.CompressionCodec
}{
	{"none", kgo.NoCompression()},
	{"gzip", kgo.GzipCompression()},
	{"snappy", kgo.SnappyCompression()},
	{"lz4", kgo.Lz4Compression()},
	{"zstd", kgo.ZstdCompression()},
}

// administration is one topic and one group, and what administrators do with them.
type administration struct {
	servers, topic, group string
	admin                 *kadm.Client
}

// runAdmin takes bootstrap servers, a topic and a group, both new, and reports every step.
func runAdmin(arguments []string) error {
	if len(arguments) != 3 {
		return fmt.Errorf("want SERVERS TOPIC GROUP, got %q", arguments)
	}
	admin, err := kadm.NewOptClient(kgo.SeedBrokers(arguments[0]))
	if err != nil {
		return err
	}
	defer admin.Close()
	on := administration{arguments[0], arguments[1], arguments[2], admin}
	ctx, cancel := context.WithTimeout(context.Background(), adminTimeout)
	defer cancel()
	steps := []func(context.Context) error{
		on.describeCluster,
		on.createTopic,
		on.alterConfigs,
		on.produce,
		on.read,
		on.listOffsets,
		on.commitOffsets,
		on.describeGroup,
		on.protectGroup,
		on.removeMember,
		on.deleteGroup,
		on.deleteRecords,
		on.deleteTopic,
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (on administration) describeCluster(ctx context.Context) error {
	metadata, err := on.admin.BrokerMetadata(ctx)
	report("describe_cluster", facts{
		"nodes":      metadata.Brokers.NodeIDs(),
		"controller": metadata.Controller,
		"has_id":     metadata.Cluster != "",
	})
	return err
}

func (on administration) createTopic(ctx context.Context) error {
	forever := "-1"
	configs := map[string]*string{"retention.ms": &forever}
	created, err := on.admin.CreateTopic(ctx, 2, 1, configs, on.topic)
	if err != nil {
		return err
	}
	_, again := on.admin.CreateTopic(ctx, 2, 1, nil, on.topic)
	grown, err := on.admin.UpdatePartitions(ctx, 3, on.topic)
	if err != nil || grown.Error() != nil {
		return fmt.Errorf("UpdatePartitions: %w, %w", err, grown.Error())
	}
	fewer, err := on.admin.UpdatePartitions(ctx, 1, on.topic)
	report("create_topic", facts{
		"has_id":     created.ID != kadm.TopicID{},
		"partitions": created.NumPartitions,
		"again":      errorName(again),
		"fewer":      errorName(fewer.Error()),
	})
	return err
}

func (on administration) alterConfigs(ctx context.Context) error {
	value := "4000"
	changes := []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "max.message.bytes", Value: &value}}
	altered, err := on.admin.AlterTopicConfigs(ctx, changes, on.topic)
	if err != nil {
		return err
	}
	described, err := on.admin.DescribeTopicConfigs(ctx, on.topic)
	if err != nil {
		return err
	}
	values := facts{"error": errorName(altered[0].Err)}
	for _, config := range described[0].Configs {
		if config.Key == "max.message.bytes" || config.Key == "retention.ms" {
			values[config.Key] = config.MaybeValue()
		}
	}
	back := []kadm.AlterConfig{{Op: kadm.DeleteConfig, Name: "max.message.bytes"}}
	_, err = on.admin.AlterTopicConfigs(ctx, back, on.topic)
	report("alter_configs", values)
	return err
}

// produce writes to partition 0 with every codec; an idempotent producer is franz-go's default.
func (on administration) produce(ctx context.Context) error {
	offsets := facts{}
	for number, with := range codecs {
		client, err := kgo.NewClient(
			kgo.SeedBrokers(on.servers),
			kgo.ProducerBatchCompression(with.codec),
			kgo.RecordPartitioner(kgo.ManualPartitioner()),
		)
		if err != nil {
			return err
		}
		results := client.ProduceSync(ctx, on.records(with.name, number*recordsPerCodec)...)
		client.Close()
		if results.FirstErr() != nil {
			return results.FirstErr()
		}
		offsets[with.name] = results[len(results)-1].Record.Offset
	}
	report("produce", offsets)
	return nil
}

func (on administration) records(codec string, first int) []*kgo.Record {
	records := make([]*kgo.Record, recordsPerCodec)
	for i := range records {
		records[i] = &kgo.Record{
			Topic:     on.topic,
			Key:       []byte(codec),
			Value:     fmt.Appendf(nil, "value-%d", first+i),
			Headers:   []kgo.RecordHeader{{Key: "codec", Value: []byte(codec)}},
			Timestamp: time.UnixMilli(firstTimestampMs + int64(first+i)),
		}
	}
	return records
}

func (on administration) read(ctx context.Context) error {
	client, err := kgo.NewClient(
		kgo.SeedBrokers(on.servers),
		kgo.ConsumeTopics(on.topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
	)
	if err != nil {
		return err
	}
	defer client.Close()
	total, counts := len(codecs)*recordsPerCodec, map[string]int{}
	for read := 0; read < total; {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return err
		}
		for _, record := range fetches.Records() {
			if string(record.Value) != fmt.Sprintf("value-%d", read) {
				return fmt.Errorf("record %d holds %q", read, record.Value)
			}
			counts[string(record.Headers[0].Value)]++
			read++
		}
	}
	report("read", facts{"counts": counts})
	return nil
}

func (on administration) listOffsets(ctx context.Context) error {
	start, err := on.admin.ListStartOffsets(ctx, on.topic)
	if err != nil {
		return err
	}
	end, err := on.admin.ListEndOffsets(ctx, on.topic)
	if err != nil {
		return err
	}
	middle, err := on.admin.ListOffsetsAfterMilli(ctx, firstTimestampMs+42, on.topic)
	report("list_offsets", facts{
		"start":  offsetsOf(start[on.topic]),
		"end":    offsetsOf(end[on.topic]),
		"middle": offsetsOf(middle[on.topic]),
	})
	return err
}

func offsetsOf(listed map[int32]kadm.ListedOffset) []int64 {
	offsets := make([]int64, len(listed))
	for partition, offset := range listed {
		offsets[partition] = offset.Offset
	}
	return offsets
}

func partitionsOf[V any](of map[int32]V) []int32 {
	partitions := []int32{}
	for partition := range of {
		partitions = append(partitions, partition)
	}
	slices.Sort(partitions)
	return partitions
}

func (on administration) deleteRecords(ctx context.Context) error {
	before := kadm.Offsets{}
	before.Add(kadm.Offset{Topic: on.topic, Partition: 0, At: 30})
	deleted, err := on.admin.DeleteRecords(ctx, before)
	if err != nil {
		return err
	}
	start, err := on.admin.ListStartOffsets(ctx, on.topic)
	if err != nil {
		return err
	}
	directories, err := on.admin.DescribeAllLogDirs(ctx, nil)
	if err != nil {
		return err
	}
	var size int64
	directories.Each(func(directory kadm.DescribedLogDir) {
		if partition, found := directory.Topics.Lookup(on.topic, 0); found {
			size = partition.Size
		}
	})
	low, _ := deleted.Lookup(on.topic, 0)
	report("delete_records", facts{
		"low_watermark": low.LowWatermark,
		"start":         offsetsOf(start[on.topic]),
		"has_size":      size > 0,
	})
	return nil
}

func (on administration) deleteTopic(ctx context.Context) error {
	_, err := on.admin.DeleteTopic(ctx, on.topic)
	_, again := on.admin.DeleteTopic(ctx, on.topic)
	report("delete_topic", facts{"again": errorName(again)})
	return err
}
