"""The small files beside the logs: topics, identity, altered configs, producer ids."""


class DataFileError(Exception):
    """One of them cannot be used; the message names it and says what helps. Nothing was changed."""
