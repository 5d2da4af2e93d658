"""What kind of member a client is: what it asks for, and the habits it has."""

from dataclasses import dataclass, replace

from drumbeat.protocol.consumer_protocol import PROTOCOL_TYPE


@dataclass(frozen=True, kw_only=True)
class Profile:
    """What kind of member it is."""

    group_id: str
    topics: tuple[str, ...] = ()
    protocol_type: str = PROTOCOL_TYPE
    protocols: tuple[str, ...] = ("range",)
    is_cooperative: bool = False
    group_instance_id: str | None = None
    session_timeout_ms: int = 6_000
    rebalance_timeout_ms: int = 8_000
    heartbeat_ms: int = 2_000
    join_timeout_ms: int = 13_000
    subscription_version: int = 1
    commits: float = 0.5  # how often it commits when it could
    dawdles: float = 0.0  # how often it does not sync, though its heart beats (KAFKA-12890)

    def calmed(self) -> "Profile":
        """The same member without its bad habits."""
        return replace(self, dawdles=0.0, join_timeout_ms=13_000)
