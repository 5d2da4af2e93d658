"""Bytes and disk: partition logs behind one port. Knows batches and offsets, nothing of groups."""
