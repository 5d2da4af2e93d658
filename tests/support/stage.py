"""A golden scene about one group: its members are known by the names that the rows give them."""

from typing import Any

from support.coordinator import Call, Coordinator
from support.golden import Scene, answers
from support.groups import Clients


class Stage(Scene):
    """`first_row` is any row that names the group."""

    def __init__(self, first_row: int, coordinator: Coordinator | None = None) -> None:
        super().__init__(coordinator or Coordinator())
        self.clients = Clients(self.coordinator, answers()[first_row]["request"]["GroupId"])

    def enter(self, name: str, **fields: Any) -> Call:
        """A new member, known to the rows as `name`, such as "A-<uuid-2>"."""
        client_id = name.split("-<", maxsplit=1)[0]
        call = self.clients.enter(client_id, **fields)
        self.know(name, self.clients.member_id_of(client_id))
        return call

    def hand_out(self, name: str, version: int = 9, **fields: Any) -> None:
        """An id that stays pending."""
        call = self.clients.join("", version, name.split("-<", maxsplit=1)[0], **fields)
        self.know(name, call.response.member_id)

    def id_of(self, name: str) -> str:
        resolved: str = self.resolved(name)
        return resolved

    def two_members(self, first: str, second: str, **fields: Any) -> None:
        """CompletingRebalance of generation 2; `first` leads."""
        self.enter(first, **fields)
        joined = self.enter(second, **fields)
        self.clients.join(self.id_of(first), **fields)
        assert joined.response.leader == self.id_of(first)
