"""Questions to a warehouse, answered at once: DuckDB over its Parquet files, and replay by core."""
