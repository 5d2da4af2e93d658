"""What the producer's parts need to know of its configuration."""

from __future__ import annotations

from drumbeat.client.config.producer import ProducerConfig
from drumbeat.client.errors import ConfigError
from drumbeat.client.net.backoff import Backoff
from drumbeat.client.producer.accumulator import AccumulatorSettings
from drumbeat.client.producer.sender import SenderSettings
from drumbeat.protocol.compression import Codec, codec_by_name, compress


def accumulator_settings(config: ProducerConfig) -> AccumulatorSettings:
    return AccumulatorSettings(
        batch_size=config.batch_size,
        linger_ms=config.linger_ms,
        delivery_timeout_ms=config.delivery_timeout_ms,
        max_request_size=config.max_request_size,
        keeps_order_by_muting=config.max_in_flight_requests_per_connection == 1,
    )


def sender_settings(config: ProducerConfig) -> SenderSettings:
    return SenderSettings(
        acks=config.acks,
        retries=config.retries,
        request_timeout_ms=config.request_timeout_ms,
        delivery_timeout_ms=config.delivery_timeout_ms,
        in_flight_max=config.max_in_flight_requests_per_connection,
        codec=_codec(config),
        backoff=Backoff(config.retry_backoff_ms, config.retry_backoff_max_ms),
    )


def _codec(config: ProducerConfig) -> tuple[Codec, int | None]:
    name = config.compression_type
    levels = {
        "gzip": config.compression_gzip_level,
        "lz4": config.compression_lz4_level,
        "zstd": config.compression_zstd_level,
    }
    codec, level = codec_by_name(name), levels.get(name)
    try:
        compress(codec, b"", level)
    except ValueError as problem:  # some levels within the range are none, and the codec knows
        raise ConfigError(f"compression_{name}_level: {problem}") from None
    return codec, level
