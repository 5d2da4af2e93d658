"""The listeners a broker opens and the addresses it advertises, from Kafka's four listener keys."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeVar

from drumbeat.runtime.config.definitions import ConfigValueError

_URI = re.compile(r"(.*)://\[?([0-9a-zA-Z\-%._:]*)\]?:([0-9]{1,5})")
_IPV4 = re.compile(r"[0-9.]+")
_PORT_MAX = 65_535
_SECURITY_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")

T = TypeVar("T")


class Endpoint(NamedTuple):
    """One address of one listener."""

    listener_name: str
    host: str | None
    """None is every interface; advertised, it is this machine's own canonical name."""
    port: int
    """0 takes a free port when the listener opens."""

    def __str__(self) -> str:
        host = self.host or ""
        return f"{self.listener_name}://{f'[{host}]' if ':' in host else host}:{self.port}"


class ListenerSettings(NamedTuple):
    """The parsed values of the keys this module reads."""

    listeners: tuple[str, ...]
    advertised_listeners: tuple[str, ...] | None
    security_protocol_map: Mapping[str, str]
    controller_listener_names: tuple[str, ...]


class Listeners(NamedTuple):
    """What the broker serves, and the controller's listeners it leaves out."""

    bound: tuple[Endpoint, ...]
    advertised: tuple[Endpoint, ...]
    left_out: tuple[Endpoint, ...]


def parse_security_protocol_map(key: str, text: str) -> dict[str, str]:
    """``NAME:PROTOCOL,…`` by upper-case listener name."""
    protocols = {}
    for entry in filter(None, (part.strip() for part in text.split(","))):
        name, colon, protocol = entry.rpartition(":")
        if not colon or protocol.strip().upper() not in _SECURITY_PROTOCOLS:
            wants = f"NAME:PROTOCOL with one of {', '.join(_SECURITY_PROTOCOLS)}"
            raise ConfigValueError(f"{key}: expected {wants}, got {entry!r}")
        protocols[name.strip().upper()] = protocol.strip().upper()
    return protocols


def resolve_listeners(settings: ListenerSettings) -> Listeners:
    """The broker's listeners; ConfigValueError for what cannot be served."""
    controllers = {name.upper() for name in settings.controller_listener_names}
    endpoints = [_parse_endpoint("listeners", uri) for uri in settings.listeners]
    bound = tuple(e for e in endpoints if e.listener_name not in controllers)
    if not bound:
        raise ConfigValueError(
            "listeners: every listener is the controller's (controller.listener.names); "
            "expected one for clients, such as PLAINTEXT://127.0.0.1:9092"
        )
    _check_protocols(bound, settings.security_protocol_map)
    _check_distinct(bound)
    left_out = tuple(e for e in endpoints if e.listener_name in controllers)
    return Listeners(bound, _advertised(settings, bound, controllers), left_out)


def _advertised(
    settings: ListenerSettings, bound: tuple[Endpoint, ...], controllers: set[str]
) -> tuple[Endpoint, ...]:
    advertised = bound
    if settings.advertised_listeners is not None:
        parsed = (_parse_endpoint("advertised.listeners", u) for u in settings.advertised_listeners)
        advertised = tuple(e for e in parsed if e.listener_name not in controllers)
    names = [endpoint.listener_name for endpoint in bound]
    for endpoint in advertised:
        if endpoint.listener_name not in names:
            wants = f"listener names out of {', '.join(names)}"
            raise ConfigValueError(f"advertised.listeners: expected {wants}, got '{endpoint}'")
        if endpoint.host == "0.0.0.0":
            raise ConfigValueError(
                f"advertised.listeners: clients cannot connect to {endpoint.host}; "
                f"set an address they can reach for '{endpoint}'"
            )
    if not advertised:
        raise ConfigValueError("advertised.listeners: expected at least one broker listener")
    return advertised


def _parse_endpoint(key: str, uri: str) -> Endpoint:
    match = _URI.fullmatch(uri)
    if match is None or int(match[3]) > _PORT_MAX:
        raise ConfigValueError(f"{key}: expected NAME://host:port, got {uri!r}")
    return Endpoint(match[1].upper(), match[2] or None, int(match[3]))


def _check_protocols(bound: Sequence[Endpoint], protocols: Mapping[str, str]) -> None:
    for endpoint in bound:
        protocol = protocols.get(endpoint.listener_name)
        if protocol is None:
            raise ConfigValueError(
                f"listeners: '{endpoint}' has no security protocol; "
                f"add {endpoint.listener_name}:PLAINTEXT to listener.security.protocol.map"
            )
        if protocol != "PLAINTEXT":
            raise ConfigValueError(
                f"listeners: '{endpoint}' asks for {protocol}, which is not supported yet; "
                "only PLAINTEXT listeners are"
            )


def _check_distinct(bound: Sequence[Endpoint]) -> None:
    if repeated := _repeated([e.listener_name for e in bound]):
        raise ConfigValueError(f"listeners: each needs its own name, {repeated} is there twice")
    ports = [(e.port, family) for e in bound if e.port != 0 for family in _ip_families(e.host)]
    if repeated_port := _repeated(ports):
        port = repeated_port[0]
        raise ConfigValueError(f"listeners: each needs its own port, {port} is there twice")


def _ip_families(host: str | None) -> tuple[int, ...]:
    """The address families a host may bind: one port may be open in each of the two."""
    if host is not None and ":" in host:
        return (6,)
    if host is not None and _IPV4.fullmatch(host):
        return (4,)
    return (4, 6)


def _repeated(values: Sequence[T]) -> T | None:
    return next((value for value, count in Counter(values).items() if count > 1), None)
