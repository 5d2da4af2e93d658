"""The consumer: subscriptions, positions, fetches, commits, and the group membership's driver."""

from drumbeat.client.consumer.consumer import Consumer
from drumbeat.client.consumer.listener import RebalanceListener
from drumbeat.client.consumer.sync import SyncConsumer

__all__ = ["Consumer", "RebalanceListener", "SyncConsumer"]
