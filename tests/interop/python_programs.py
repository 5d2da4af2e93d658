"""Python: our member on confluent-kafka or kafka-python, as a process of its own."""

import sys
from pathlib import Path

from interop.stage import Client, MemberOptions

PROGRAM = Path(__file__).parent / "python_member.py"


def member_of(library: str) -> Client:
    def command(options: MemberOptions) -> list[str]:
        assert options.group_instance_id is None, "not needed so far"
        return [
            *(sys.executable, str(PROGRAM), library),
            *(options.servers, options.group_id, options.topic, options.assignor),
            str(options.session_timeout_ms),
        ]

    return command
