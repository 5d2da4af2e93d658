"""Broker configs that were altered while running, kept over restarts.

One file, `broker-configs.json`, in the data directory: what was set for this broker and what was
set for all brokers. The static configuration stays where the operator keeps it.
"""

import json
import os
from typing import Protocol

from drumbeat.log.files import Disk, read_file, write_file_atomically
from drumbeat.runtime.config import BrokerConfig
from drumbeat.runtime.config.resolve import ConfigProblemsError, resolve
from drumbeat.runtime.data_files import DataFileError

FILE = "broker-configs.json"


class DynamicConfigError(DataFileError):
    """The stored configs cannot be used."""


class DynamicConfigs(Protocol):
    def restore(self, config: BrokerConfig) -> BrokerConfig: ...

    def save(self, config: BrokerConfig) -> None:
        """Blocks until durable."""


class MemoryDynamicConfigs:
    def restore(self, config: BrokerConfig) -> BrokerConfig:
        return config

    def save(self, config: BrokerConfig) -> None:
        """A node in memory has no restart to keep them for."""


class FileDynamicConfigs:
    def __init__(self, data_dir: str) -> None:
        self._path = os.path.join(data_dir, FILE)

    def restore(self, config: BrokerConfig) -> BrokerConfig:
        data = read_file(self._path)
        if data is None:
            return config
        try:
            stored = json.loads(data)
            layers = config.layers._replace(
                dynamic_default=dict(stored["all_brokers"]), dynamic_broker=dict(stored["broker"])
            )
            return resolve(layers).config
        except (ValueError, KeyError, TypeError, ConfigProblemsError) as problem:
            raise DynamicConfigError(
                f"{self._path}: {problem}; correct it, or move it away to go without"
            ) from problem

    def save(self, config: BrokerConfig) -> None:
        layers = config.layers
        stored = {
            "broker": dict(layers.dynamic_broker),
            "all_brokers": dict(layers.dynamic_default),
        }
        write_file_atomically(Disk(), self._path, json.dumps(stored, indent=1).encode())
