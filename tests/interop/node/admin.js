'use strict'

const { CompressionTypes, ConfigResourceTypes, Kafka } = require('kafkajs')
const { errorOf, logCreator, report } = require('./report')

const FIRST_TIMESTAMP_MS = 1_700_000_000_000
const RECORDS_PER_CODEC = 20
const CODECS = ['None', 'GZIP'] // the others need further packages

const [servers, topic, groupId] = process.argv.slice(2)
const kafka = new Kafka({ brokers: [servers], logCreator, retry: { retries: 2 } })
const admin = kafka.admin()

const describeCluster = async () => {
  const { brokers, controller, clusterId } = await admin.describeCluster()
  report('describe_cluster', {
    nodes: brokers.map(broker => broker.nodeId),
    controller,
    has_id: clusterId !== '',
  })
}

const createTopic = async () => {
  const wanted = { topic, numPartitions: 2, configEntries: [{ name: 'retention.ms', value: '-1' }] }
  const created = await admin.createTopics({ topics: [wanted] })
  const again = await admin.createTopics({ topics: [wanted] })
  await admin.createPartitions({ topicPartitions: [{ topic, count: 3 }] })
  const { topics } = await admin.fetchTopicMetadata({ topics: [topic] })
  report('create_topic', {
    created,
    again,
    partitions: topics[0].partitions.length,
    is_listed: (await admin.listTopics()).includes(topic),
    fewer: await errorOf(() =>
      admin.createPartitions({ topicPartitions: [{ topic, count: 1 }] })
    ),
  })
}

const alterConfigs = async () => {
  const resource = { type: ConfigResourceTypes.TOPIC, name: topic }
  const value = async () => {
    const { resources } = await admin.describeConfigs({
      resources: [{ ...resource, configNames: ['max.message.bytes'] }],
      includeSynonyms: false,
    })
    return resources[0].configEntries[0].configValue
  }
  const alter = configEntries =>
    admin.alterConfigs({ validateOnly: false, resources: [{ ...resource, configEntries }] })
  await alter([{ name: 'max.message.bytes', value: '4000' }])
  const altered = await value()
  // AlterConfigs replaces everything that was set before.
  await alter([{ name: 'retention.ms', value: '-1' }])
  report('alter_configs', { altered, replaced: await value() })
}

const produce = async () => {
  const producer = kafka.producer({ idempotent: true, allowAutoTopicCreation: false })
  await producer.connect()
  const offsets = {}
  for (const [index, codec] of CODECS.entries()) {
    const messages = Array.from({ length: RECORDS_PER_CODEC }, (_, i) => ({
      partition: 0,
      key: codec,
      value: `value-${index * RECORDS_PER_CODEC + i}`,
      headers: { codec },
      timestamp: String(FIRST_TIMESTAMP_MS + index * RECORDS_PER_CODEC + i),
    }))
    const [sent] = await producer.send({ topic, compression: CompressionTypes[codec], messages })
    offsets[codec] = Number(sent.baseOffset)
  }
  await producer.disconnect()
  report('produce', offsets)
}

/** Read everything as a group of one, and look at the group while it is one. */
const consume = async () => {
  const consumer = kafka.consumer({ groupId, maxWaitTimeInMs: 200 })
  const values = []
  await consumer.connect()
  await consumer.subscribe({ topics: [topic], fromBeginning: true })
  await new Promise((resolve, reject) => {
    const eachMessage = async ({ message }) => {
      values.push(message.value.toString())
      if (values.length === CODECS.length * RECORDS_PER_CODEC) resolve()
    }
    consumer.run({ eachMessage }).catch(reject)
  })
  const { groups } = await admin.describeGroups([groupId])
  const refused = await errorOf(() => admin.deleteGroups([groupId]))
  await consumer.disconnect()
  report('consume', {
    in_order: values.every((value, index) => value === `value-${index}`),
    state: groups[0].state,
    protocol: groups[0].protocol,
    members: groups[0].members.length,
    delete: refused,
  })
}

const listOffsets = async () => {
  const all = await admin.fetchTopicOffsets(topic)
  const middle = await admin.fetchTopicOffsetsByTimestamp(topic, FIRST_TIMESTAMP_MS + 25)
  const byPartition = (entries, field) =>
    entries.sort((a, b) => a.partition - b.partition).map(entry => Number(entry[field]))
  report('list_offsets', {
    low: byPartition(all, 'low'),
    high: byPartition(all, 'high'),
    middle: byPartition(middle, 'offset'),
  })
}

const committed = async () => {
  const [{ partitions }] = await admin.fetchOffsets({ groupId, topics: [topic] })
  return partitions.sort((a, b) => a.partition - b.partition).map(({ offset }) => Number(offset))
}

/** kafkajs joins the group to commit for it, and takes five seconds to leave it again. */
const resetOffsets = async () => {
  const before = await committed()
  await admin.setOffsets({ groupId, topic, partitions: [{ partition: 0, offset: '7' }] })
  const set = await committed()
  await admin.resetOffsets({ groupId, topic, earliest: true })
  report('reset_offsets', { before, set, reset: await committed() })
}

const listGroups = async () => {
  const { groups } = await admin.listGroups()
  const { groups: described } = await admin.describeGroups([groupId, 'missing'])
  report('list_groups', {
    protocol_type: groups.find(group => group.groupId === groupId)?.protocolType,
    states: Object.fromEntries(described.map(group => [group.groupId, group.state])),
  })
}

const deleteGroup = async () => {
  await admin.deleteGroups([groupId])
  const { groups } = await admin.listGroups()
  report('delete_group', {
    is_listed: groups.some(group => group.groupId === groupId),
    committed: await committed(),
    again: await errorOf(() => admin.deleteGroups([groupId])),
  })
}

const deleteRecords = async () => {
  await admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: '30' }] })
  const all = await admin.fetchTopicOffsets(topic)
  report('delete_records', { low: Number(all.find(entry => entry.partition === 0).low) })
}

const deleteTopic = async () => {
  await admin.deleteTopics({ topics: [topic] })
  report('delete_topic', { is_listed: (await admin.listTopics()).includes(topic) })
}

const STEPS = [
  describeCluster,
  createTopic,
  alterConfigs,
  produce,
  consume,
  listOffsets,
  resetOffsets,
  listGroups,
  deleteGroup,
  deleteRecords,
  deleteTopic,
]

const main = async () => {
  await admin.connect()
  for (const step of STEPS) await step()
  await admin.disconnect()
}

main().catch(error => {
  process.stderr.write(`${error.stack}\n`)
  process.exit(1)
})
