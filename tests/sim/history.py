"""Everything that clients asked and were told, in one order of events.

An operation is seen at four points: the client sends it, the node receives it, the node answers,
the client gets the answer. One without the last has an outcome its client cannot know.
"""

import itertools
from dataclasses import dataclass, field
from typing import Any

from drumbeat.protocol.api import Api
from drumbeat.protocol.apis import APIS

API_OF_REQUEST = {api.request: api for api in APIS.values()}
NEVER = 2**62  # later than every event


@dataclass(slots=True, eq=False)
class Operation:
    """Moments are places in the order of all events, except those in milliseconds."""

    number: int
    client: str
    api: Api
    version: int
    request: Any
    invoked: int
    invoked_ms: int
    correlation_id: int = 0
    arrived: int = NEVER
    arrived_ms: int = -1
    answered: int = NEVER
    answered_ms: int = -1
    response: Any = None  # what the node answered, whether or not it reached the client
    returned: int = NEVER

    @property
    def is_answered(self) -> bool:
        return self.answered != NEVER

    @property
    def is_known(self) -> bool:
        """Whether the client has seen the answer."""
        return self.returned != NEVER

    def __str__(self) -> str:
        return f"#{self.number} {self.client} {self.api.name} v{self.version}"


@dataclass
class History:
    operations: list[Operation] = field(default_factory=list)
    _moments: Any = field(default_factory=lambda: itertools.count(1))
    _tokens: Any = field(default_factory=lambda: itertools.count(1))

    def now(self) -> int:
        """The next place in the order of events."""
        moment: int = next(self._moments)
        return moment

    def token(self) -> int:
        """A number that no client has used in what it writes."""
        number: int = next(self._tokens)
        return number

    def invoke(self, client: str, request: Any, version: int, now_ms: int) -> Operation:
        api = API_OF_REQUEST[type(request)]
        operation = Operation(
            number=len(self.operations),
            client=client,
            api=api,
            version=version,
            request=request,
            invoked=self.now(),
            invoked_ms=now_ms,
        )
        self.operations.append(operation)
        return operation

    def of(self, request_type: type[Any]) -> list[Operation]:
        return [o for o in self.operations if type(o.request) is request_type]
