"""A partition comes to this node, or goes: groups wake up from the log, or are put to sleep."""

from __future__ import annotations

from collections.abc import Iterator

from drumbeat.core import effects
from drumbeat.core.classic import rebalance
from drumbeat.core.classic.changes import opened
from drumbeat.core.classic.replies import join_error, sync_error
from drumbeat.core.classic.subscription import topics_of_durable
from drumbeat.core.draft import Draft
from drumbeat.core.events import Cause, Reason
from drumbeat.core.outcome import Context, Outcome, Settle
from drumbeat.core.session import View
from drumbeat.core.state import Group
from drumbeat.protocol.errors import ErrorCode


def on_loaded(view: View, context: Context) -> Iterator[Outcome]:
    """One outcome per group with members. Their sessions start in full, whatever they had left."""
    for group_id, group in list(view.groups.items()):
        if group.members:
            yield _wake(context, group_id, group)


def _wake(context: Context, group_id: str, durable: Group) -> Outcome:
    draft = Draft()
    opening = effects.GroupOpened(group_id, durable, topics_of_durable(durable))
    draft.effects.append(opening)
    group = opened(opening)
    draft.effects.extend(
        rebalance.session_restarted(context, member) for member in group.members.values()
    )
    if len(group.members) <= context.config.group_max_size:
        return draft.outcome()
    # group.max.size was lowered meanwhile; a rebalance lets the members commit before some must go.
    rebalance.begin(draft, context, group, Cause(Reason.GROUP_FULL))
    return draft.outcome(Settle(group_id))


def on_unloaded(view: View, context: Context) -> Outcome:
    """Whoever waits here is sent to look for the new coordinator."""
    draft = Draft()
    for group in view.live_groups.values():
        for member_id, join in group.joins.items():
            response = join_error(join.api_version, ErrorCode.NOT_COORDINATOR, member_id)
            draft.reply(join.request_id, response)
        for sync in group.syncs.values():
            draft.reply(sync.request_id, sync_error(ErrorCode.NOT_COORDINATOR))
        draft.effects.append(effects.GroupDied(group.group_id, context.now_ms))
    return draft.outcome()
