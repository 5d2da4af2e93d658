"""Names of topics and groups for the shell's tab key.

Asks the cluster that the half-typed command names, for a second at most; says nothing if that
fails, because a shell has no place for errors.
"""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import typer

from drumbeat.cli.common import DEFAULT_SERVERS, Target
from drumbeat.cli.logs import no_client_logs

if TYPE_CHECKING:
    from drumbeat.client import SyncAdmin

_PATIENCE_S = 1.0


def topic_names(ctx: typer.Context, incomplete: str) -> list[str]:
    return _matching(ctx, incomplete, lambda admin: admin.list_topics())


def group_ids(ctx: typer.Context, incomplete: str) -> list[str]:
    return _matching(ctx, incomplete, lambda admin: (g.group_id for g in admin.list_groups()))


def _matching(
    ctx: Any, incomplete: str, names: "Callable[[SyncAdmin], Iterable[str]]"
) -> list[str]:
    from drumbeat.client import SyncAdmin
    from drumbeat.client.errors import DrumbeatError

    servers = ctx.params.get("bootstrap_server") or DEFAULT_SERVERS
    try:
        with no_client_logs(), SyncAdmin(Target(servers, _PATIENCE_S).options()) as admin:
            return sorted(name for name in names(admin) if name.startswith(incomplete))
    except DrumbeatError:
        return []
