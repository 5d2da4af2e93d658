"""Bytes of `__consumer_offsets` to Arrow tables, many records at once: numpy, no Spark.

`segments.decode_segment` reads a file, `batches.decode_batches` what a fetch brought;
`listing.segments_of` says which files make up a partition's whole history.
"""
