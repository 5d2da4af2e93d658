"""What somebody should look at: findings, daily cost of groups, compaction and promises kept."""
