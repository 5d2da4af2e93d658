"""Python: a member on confluent-kafka, kafka-python or Drumbeat, as a process of its own."""

import sys
from pathlib import Path

from interop.stage import Client, MemberOptions

PROGRAM = Path(__file__).parent / "python_member.py"


def member_of(library: str) -> Client:
    def command(options: MemberOptions) -> list[str]:
        instance = options.group_instance_id
        return [
            *(sys.executable, str(PROGRAM), library),
            *(options.servers, options.group_id, options.topic, options.assignor),
            str(options.session_timeout_ms),
            *((instance,) if instance else ()),
        ]

    return command
