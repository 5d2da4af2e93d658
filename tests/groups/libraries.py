"""The libraries that members are made of."""

from groups.library_aiokafka import AiokafkaMember
from groups.library_confluent import ConfluentMember
from groups.library_kafka_python import KafkaPythonMember

LIBRARIES = {
    member.library: member for member in (KafkaPythonMember, AiokafkaMember, ConfluentMember)
}
ASSIGNORS = {
    "kafka-python": ("range", "roundrobin", "sticky", "cooperative-sticky"),
    "aiokafka": ("range", "roundrobin", "sticky"),
    "confluent-kafka": ("range", "roundrobin", "cooperative-sticky"),
}
