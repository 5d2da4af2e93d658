"""Who this node is: cluster id and node id, kept in Kafka's `meta.properties`."""

import os
from typing import NamedTuple

from drumbeat.log.files import Disk, read_file, write_file_atomically
from drumbeat.runtime.config.properties import (
    PropertiesError,
    decode_properties,
    parse_properties,
)
from drumbeat.runtime.data_files import DataFileError
from drumbeat.runtime.entropy import new_cluster_id

FILE = "meta.properties"


class IdentityError(DataFileError):
    """The data directory belongs to another node, or does not say to whom."""


class Identity(NamedTuple):
    cluster_id: str
    node_id: int


def new_identity(node_id: int) -> Identity:
    return Identity(new_cluster_id(), node_id)


def load_identity(data_dir: str, node_id: int) -> Identity:
    """The identity that the directory has; a new directory is given one."""
    path = os.path.join(data_dir, FILE)
    data = read_file(path)
    if data is None:
        identity = new_identity(node_id)
        write_file_atomically(Disk(), path, _text(identity).encode())
        return identity
    told = _read(data)
    if "cluster.id" not in told:
        raise IdentityError(
            f"{path} names no cluster.id; restore it, or start on another directory"
        )
    stored = told.get("node.id", told.get("broker.id"))
    if stored is not None and stored != str(node_id):
        raise IdentityError(
            f"{path} says that this is the data of node {stored}; start with --set "
            f"node.id={stored} or on another directory"
        )
    return Identity(told["cluster.id"], node_id)


def _read(data: bytes) -> dict[str, str]:
    """Nothing, if it is no text of that kind."""
    try:
        return {entry.key: entry.value for entry in parse_properties(decode_properties(data))}
    except PropertiesError:
        return {}


def _text(identity: Identity) -> str:
    return f"version=1\ncluster.id={identity.cluster_id}\nnode.id={identity.node_id}\n"
