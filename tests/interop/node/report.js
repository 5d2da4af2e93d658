'use strict'

/** One JSON object a line on stdout, for the test that has started the program. */
const report = (name, facts) => process.stdout.write(`${JSON.stringify({ name, ...facts })}\n`)

/** kafkajs would write its log to stdout. */
const logCreator = () => entry => process.stderr.write(`${JSON.stringify(entry)}\n`)

/** Kafka's name of the error that a call ends with, or NONE. */
const errorOf = async call => {
  try {
    await call()
    return 'NONE'
  } catch (error) {
    return nameOf(error)
  }
}

const nameOf = error => {
  const [first] = error.errors || error.groups || []
  return error.type || first?.error?.type || (first && nameOf(first)) || error.message
}

module.exports = { report, logCreator, errorOf }
