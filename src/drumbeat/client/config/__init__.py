"""Configuration of the clients: frozen, checked, with Kafka's names in snake case."""

from drumbeat.client.config.admin import AdminConfig
from drumbeat.client.config.common import Address, CommonConfig
from drumbeat.client.config.consumer import ConsumerConfig
from drumbeat.client.config.producer import ProducerConfig

__all__ = ["Address", "AdminConfig", "CommonConfig", "ConsumerConfig", "ProducerConfig"]
