"""How to go on with tests that were written for testcontainers' KafkaContainer, without Docker."""

from kafka import KafkaAdminClient

from drumbeat.testing import DrumbeatContainer as KafkaContainer


def test_a_container_by_another_name() -> None:
    container = KafkaContainer("confluentinc/cp-kafka:7.6.0").with_kraft()
    container.with_env("KAFKA_NUM_PARTITIONS", "3")
    with container as kafka:
        admin = KafkaAdminClient(bootstrap_servers=kafka.get_bootstrap_server())
        assert admin.list_topics() == []
        admin.close()
