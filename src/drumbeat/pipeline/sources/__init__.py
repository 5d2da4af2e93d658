"""What Spark reads from and writes to: each file is one data source, or what it stands on."""
