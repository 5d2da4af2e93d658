"""What the members of a group are told, step by step, whatever library they are made of."""

from typing import Any

# What the listeners are told in each step: how many partitions, in this order.
CALLBACKS = {
    "range": {
        "alone": {"first": [["assigned", 6]]},
        "joined": {"first": [["revoked", 6], ["assigned", 3]], "second": [["assigned", 3]]},
        "enforced": {
            "first": [["revoked", 3], ["assigned", 3]],
            "second": [["revoked", 3], ["assigned", 3]],
        },
        "left": {"first": [["revoked", 3], ["assigned", 6]], "second": [["revoked", 3]]},
        "removed": {"first": [["lost", 6], ["assigned", 6]]},
        "stalled": {"slow": [["lost", 6], ["assigned", 6]]},
        "matched": {"matching": [["revoked", 6], ["assigned", 8]]},
    },
    "cooperative-sticky": {
        "alone": {"first": [["assigned", 6]]},
        "joined": {"first": [["revoked", 3]], "second": [["assigned", 3]]},
        "enforced": {"first": [], "second": []},
        "left": {"first": [["assigned", 3]], "second": [["revoked", 3]]},
        "removed": {"first": [["lost", 6], ["assigned", 6]]},
        "stalled": {"slow": [["lost", 6], ["assigned", 6]]},
        "matched": {"matching": [["assigned", 2]]},
    },
}
# A member that an administrator has removed learns of it from its next commit.
COMMITS = {
    "committed": {"offset": 5, "metadata": "why", "leader_epoch": 0},
    "removed": {"commit": "CommitFailed", "is_new_member": True},
}


def expected_steps(assignor: str) -> dict[str, dict[str, Any]]:
    callbacks = CALLBACKS[assignor]
    return {step: callbacks.get(step, {}) | COMMITS.get(step, {}) for step in callbacks | COMMITS}
