'use strict'

const {
  AssignerProtocol: { MemberAssignment, MemberMetadata },
} = require('kafkajs')

const NAME = 'range'
const VERSION = 0 // of the subscription; later ones list what a member owns

/** Kafka's range assignor, which kafkajs lacks: it lets kafkajs join a group of other clients. */
const range = ({ cluster }) => ({
  name: NAME,
  version: VERSION,

  async assign({ members, topics }) {
    const memberIds = members.map(member => member.memberId).sort()
    const shares = new Map(memberIds.map(memberId => [memberId, {}]))
    for (const topic of topics) {
      const partitions = cluster
        .findTopicPartitionMetadata(topic)
        .map(metadata => metadata.partitionId)
        .sort((one, other) => one - other)
      const base = Math.floor(partitions.length / memberIds.length)
      const larger = partitions.length % memberIds.length
      memberIds.forEach((memberId, index) => {
        shares.get(memberId)[topic] = partitions.splice(0, base + (index < larger ? 1 : 0))
      })
    }
    return memberIds.map(memberId => ({
      memberId,
      memberAssignment: MemberAssignment.encode({
        version: VERSION,
        assignment: shares.get(memberId),
        userData: Buffer.alloc(0),
      }),
    }))
  },

  protocol({ topics }) {
    return {
      name: NAME,
      metadata: MemberMetadata.encode({ version: VERSION, topics, userData: Buffer.alloc(0) }),
    }
  },
})

module.exports = { range }
