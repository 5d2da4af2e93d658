"""What a node tells of itself in numbers. Imported only where `metrics.port` is set."""
