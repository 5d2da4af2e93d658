"""A sequence on one broker alone, where it is the broker's log that is to be looked at."""

from collections.abc import Sequence

from interop.oracle.brokers import Drumbeat, Kafka
from interop.oracle.connection import Call
from interop.oracle.executor import Side
from interop.oracle.normal import Plain
from interop.oracle.vocabulary import Step


class Solo:
    def __init__(self, broker: Kafka | Drumbeat, prefix: str = "") -> None:
        self.side = Side(broker, prefix)
        self._parked: list[tuple[Step, Call]] = []

    async def play(self, steps: Sequence[Step]) -> None:
        for step in steps:
            call = await self.side.begin(step)
            if not step.may_park:
                await call.result
            self._parked.append((step, call))
            await self.side.settle([parked for _, parked in self._parked])
            self._learn()

    async def ask(self, step: Step) -> Plain:
        """The answer to a step, in the form that can be compared."""
        call = await self.side.begin(step)
        await call.result
        return self.side.answer(step, call)

    def close(self) -> None:
        self.side.client.close()

    def _learn(self) -> None:
        for step, call in self._parked:
            if call.is_done:
                step.learn(self.side.known, call.result.result())
        self._parked = [(step, call) for step, call in self._parked if not call.is_done]
