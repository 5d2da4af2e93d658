"""Golden rows that no scene of this folder plays, and why."""

NO_SHARE_GROUPS = "share groups are not offered"
NO_STREAMS_GROUPS = "streams groups are not offered"
NO_TRANSACTIONS = "needs a transaction coordinator"
NO_CONSUMER_PROTOCOL = "about the consumer protocol (KIP-848), not the classic one"
SECOND_BROKER = "needs a second broker"
AUTHORIZER = "needs an authorizer"
NOT_GROUPS = "not about groups; see tests/runtime/test_api_versions.py"
HANGS = "Kafka never answers; what is answered here is in test_bad_input.py"
QUICKER = "seen between a change and its being visible; here it is visible when it is answered"
MINUTES = "takes minutes; played on virtual time in tests/core"

NOT_RUN: dict[range, str] = {
    range(27): NOT_GROUPS,
    range(44, 45): QUICKER,  # the offsets topic is there when FindCoordinator answers
    range(45, 46): NO_TRANSACTIONS,
    range(46, 47): NO_SHARE_GROUPS,
    range(59, 60): NO_SHARE_GROUPS,
    range(64, 65): NO_TRANSACTIONS,
    range(87, 89): NO_CONSUMER_PROTOCOL,
    range(89, 90): NO_TRANSACTIONS,
    range(98, 100): QUICKER,
    range(103, 104): QUICKER,
    range(240, 241): HANGS,
    range(411, 412): NO_TRANSACTIONS,
    range(417, 418): HANGS,
    range(542, 586): AUTHORIZER,
    range(859, 860): HANGS,
    range(860, 1003): NO_TRANSACTIONS,
    range(1012, 1032): NO_TRANSACTIONS,
    range(1035, 1039): NO_TRANSACTIONS,
    range(1039, 1248): NO_CONSUMER_PROTOCOL,
    range(1248, 1264): NO_SHARE_GROUPS,
    range(1264, 1291): NO_CONSUMER_PROTOCOL,
    range(1300, 1309): NO_TRANSACTIONS,
    range(1322, 1335): MINUTES,
    range(1340, 1341): NO_CONSUMER_PROTOCOL,
    range(1344, 1359): NO_STREAMS_GROUPS,
    range(1359, 1419): SECOND_BROKER,
    range(1421, 1434): "codes over a time that no test controls; see test_restart.py",
    range(1434, 1436): NO_CONSUMER_PROTOCOL,
    range(1436, 1438): NO_TRANSACTIONS,
    range(1448, 1449): NO_CONSUMER_PROTOCOL,
    range(1449, 1450): NO_TRANSACTIONS,
    range(1455, 1457): NO_TRANSACTIONS,
    range(1475, 1476): "lists what the recording had made before; see hand_written_records",
    range(1488, 1489): "lists what the recording had made before; see hand_written_records",
    range(1489, 1533): "assignors run in clients",
    range(1533, 1534): MINUTES,
    range(1534, 1535): "nothing answers for a process that was killed; see tests/crash",
}
