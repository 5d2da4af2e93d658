"""The producer: accumulator and sequence numbers (pure), sender and producer (the shell)."""

from drumbeat.client.producer.delivery import DeliveryFuture
from drumbeat.client.producer.producer import Producer
from drumbeat.client.producer.sync import SyncProducer

__all__ = ["DeliveryFuture", "Producer", "SyncProducer"]
