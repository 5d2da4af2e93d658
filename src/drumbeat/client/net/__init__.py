"""Brokers: connections, metadata, and which node to ask."""
