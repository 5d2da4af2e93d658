"""A member in a process of its own, so that it can be killed, or stopped in the middle of anything.

Run as a module it is that process: it takes its orders from the command line and prints what it
is given and what it commits, a line of JSON each.
"""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from groups.libraries import LIBRARIES
from groups.members import (
    POLL_S,
    SETTLE_TIMEOUT_S,
    Delivery,
    Ledger,
    Member,
    Options,
    Partition,
)

TESTS = Path(__file__).parent.parent


class ProcessMember(Member):
    """`of` a library, like any other member."""

    @classmethod
    def of(cls, library: str) -> type["ProcessMember"]:
        return type(f"{library} process", (cls,), {"library": library})

    def start(self) -> None:
        orders = [self.library, self.servers, self.group_id, self.name, asdict(self.options)]
        self._process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", "groups.member_process", json.dumps(orders)],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(TESTS)},
        )
        self._listener = threading.Thread(target=self._listen, name=self.name, daemon=True)
        self._listener.start()

    def begin_stop(self) -> None:
        self._process.send_signal(signal.SIGTERM)
        self.wake()  # or it will never know

    def stop(self) -> None:
        self.begin_stop()
        self._end()

    def kill(self) -> None:
        self._process.kill()
        self._end()

    def suspend(self) -> None:
        self._process.send_signal(signal.SIGSTOP)

    def wake(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def _end(self) -> None:
        try:
            self._process.wait(SETTLE_TIMEOUT_S)
        finally:
            self._process.kill()
            self._listener.join()
            self._process.stdout.close()

    def _listen(self) -> None:
        for line in self._process.stdout:
            event, items = json.loads(line)
            if event == "assigned":
                self.assignment = frozenset(map(tuple, items))
            elif event == "lost":
                self._ledger.lose(self.name, map(tuple, items))
            else:
                record = self._ledger.deliver if event == "delivered" else self._ledger.commit
                record(self.name, [Delivery(*item) for item in items])
        self.assignment = frozenset()


class _Printed(Ledger):
    """Tells the parent as well."""

    def deliver(self, member: str, batch: list[Delivery]) -> None:
        say("delivered", batch)
        super().deliver(member, batch)

    def commit(self, member: str, records: list[Delivery]) -> None:
        say("committed", records)
        super().commit(member, records)

    def lose(self, member: str, partitions: Iterable[Partition]) -> None:
        gone = list(partitions)
        say("lost", gone)
        super().lose(member, gone)


def say(event: str, items: Iterable[Any]) -> None:
    if listed := list(items):
        print(json.dumps([event, listed]), flush=True)


def main() -> None:
    library, servers, group_id, name, options = json.loads(sys.argv[1])
    options["topics"] = tuple(options["topics"])
    member = LIBRARIES[library](servers, group_id, name, Options(**options), _Printed())
    stopping = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    member.start()
    said: frozenset[Partition] = frozenset()
    while not stopping.wait(POLL_S):
        if member.assignment != said:
            said = member.assignment
            print(json.dumps(["assigned", sorted(said)]), flush=True)
    member.stop()


if __name__ == "__main__":
    main()
