'use strict'

const { Kafka, PartitionAssigners } = require('kafkajs')
const { range } = require('./range')
const { logCreator, report } = require('./report')

const HEARTBEAT_INTERVAL_MS = 300
const ASSIGNERS = { range, roundrobin: PartitionAssigners.roundRobin }

const [servers, groupId, topic, assignor, sessionTimeoutMs] = process.argv.slice(2)
const kafka = new Kafka({ brokers: [servers], logCreator })
const consumer = kafka.consumer({
  groupId,
  partitionAssigners: [ASSIGNERS[assignor]],
  sessionTimeout: Number(sessionTimeoutMs),
  heartbeatInterval: HEARTBEAT_INTERVAL_MS,
  maxWaitTimeInMs: HEARTBEAT_INTERVAL_MS, // it sends no heartbeats while it waits for records
})

let owned = []

const revoke = () => {
  report('partitions_revoked', { partitions: owned })
  owned = []
}

const assign = assignment => {
  owned = Object.entries(assignment).flatMap(([name, partitions]) =>
    partitions.map(partition => ({ topic: name, partition }))
  )
  report('partitions_assigned', { partitions: owned })
}

/** Commits what it has read before it reads on. */
const eachBatch = async ({ batch, resolveOffset }) => {
  const { partition, messages } = batch
  const [minOffset, maxOffset] = [Number(batch.firstOffset()), Number(batch.lastOffset())]
  const read = { topic: batch.topic, partition, count: messages.length, minOffset, maxOffset }
  report('records_consumed', { count: messages.length, partitions: [read] })
  const offset = maxOffset + 1
  await consumer.commitOffsets([{ topic: batch.topic, partition, offset: String(offset) }])
  resolveOffset(batch.lastOffset())
  report('offsets_committed', { success: true, offsets: [{ topic: batch.topic, partition, offset }] })
}

const stop = async () => {
  await consumer.disconnect()
  process.exit(0)
}

const main = async () => {
  consumer.on(consumer.events.REBALANCING, revoke)
  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => assign(payload.memberAssignment))
  process.on('SIGTERM', stop)
  await consumer.connect()
  await consumer.subscribe({ topics: [topic], fromBeginning: true })
  await consumer.run({ autoCommit: false, eachBatch })
}

main().catch(error => {
  process.stderr.write(`${error.stack}\n`)
  process.exit(1)
})
