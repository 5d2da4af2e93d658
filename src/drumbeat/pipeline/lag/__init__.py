"""How far behind groups are: lag over time, and when a partition is stuck, slow or stopped."""
