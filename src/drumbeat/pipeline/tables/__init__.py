"""Tables of groups from the records of one log partition: numpy and pyarrow, no Spark.

A builder is fed `log_records` batches in offset order. `feed` yields rows that are final, `finish`
those that are still open at the end of what was read. `finish` changes nothing, so that a stream
can ask for the open rows, and go on. `partition_tables.PartitionTables` runs all builders at once.
"""
