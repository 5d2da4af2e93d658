"""A sequence on one broker alone: to look at its log, or to compare it with what was recorded."""

from collections.abc import Sequence

from interop.oracle.brokers import Drumbeat, Kafka
from interop.oracle.connection import Call
from interop.oracle.executor import Side
from interop.oracle.normal import Plain
from interop.oracle.vocabulary import Step


class Solo:
    def __init__(self, broker: Kafka | Drumbeat, prefix: str = "") -> None:
        self.side = Side(broker, prefix)
        self._parked: list[tuple[int, Step, Call]] = []

    async def play(self, steps: Sequence[Step]) -> list[Plain]:
        """What each step was answered in the end, in the form that can be compared."""
        answers: dict[int, Plain] = {}
        for place, step in enumerate(steps):
            call = await self.side.begin(step)
            if not step.may_park:
                await call.result
            self._parked.append((place, step, call))
            await self.side.settle([parked for _, _, parked in self._parked])
            answers |= self._answered()
            if step.writes_metadata:
                await self.side.broker.catch_up()
        answers |= {place: self.side.answer(step, call) for place, step, call in self._parked}
        return [answers[place] for place in range(len(steps))]

    async def ask(self, step: Step) -> Plain:
        (answer,) = await self.play([step])
        return answer

    def close(self) -> None:
        self.side.client.close()

    def _answered(self) -> dict[int, Plain]:
        """The answers that have come, each noted before anything is learned from it."""
        answered = [(place, step, call) for place, step, call in self._parked if call.is_done]
        self._parked = [waiting for waiting in self._parked if waiting not in answered]
        answers = {}
        for place, step, call in answered:
            answers[place] = self.side.answer(step, call)
            if isinstance(call.result.result(), step.api.response):
                step.learn(self.side.known, call.result.result())
        return answers
