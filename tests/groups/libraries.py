"""The libraries that members are made of: three that are not ours, and ours."""

from groups.library_aiokafka import AiokafkaMember
from groups.library_confluent import ConfluentMember
from groups.library_drumbeat import DrumbeatMember
from groups.library_kafka_python import KafkaPythonMember

LIBRARIES = {
    member.library: member
    for member in (KafkaPythonMember, AiokafkaMember, ConfluentMember, DrumbeatMember)
}
ASSIGNORS = {
    "kafka-python": ("range", "roundrobin", "sticky", "cooperative-sticky"),
    "aiokafka": ("range", "roundrobin", "sticky"),
    "confluent-kafka": ("range", "roundrobin", "cooperative-sticky"),
    "drumbeat": ("range", "roundrobin", "sticky", "cooperative-sticky"),
}
