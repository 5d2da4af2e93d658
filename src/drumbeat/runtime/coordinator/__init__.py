"""The group coordinator's shell: one shard per partition of `__consumer_offsets`."""
