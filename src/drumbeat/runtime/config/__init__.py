"""Configuration: Kafka's keys with Kafka's meaning, for the broker and for its topics."""

from drumbeat.runtime.config.broker_config import BrokerConfig, ConfigLayers
from drumbeat.runtime.config.listeners import Endpoint
from drumbeat.runtime.config.load import ConfigError, LoadedConfig, load_config
from drumbeat.runtime.config.topic import TopicConfig, topic_config

__all__ = [
    "BrokerConfig",
    "ConfigError",
    "ConfigLayers",
    "Endpoint",
    "LoadedConfig",
    "TopicConfig",
    "load_config",
    "topic_config",
]
