"""Drumbeat for other people's tests."""

from drumbeat.testing.cluster import Cluster

__all__ = ["Cluster"]
