"""From `__consumer_offsets` to tables that people query: decoding, Spark sources, transforms."""
