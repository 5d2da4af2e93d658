"""What `drumbeat` exits with: one table for all verbs."""

from enum import IntEnum


class ExitCode(IntEnum):
    OK = 0
    FAILED = 1
    USAGE = 2
    UNAVAILABLE = 3
    INTERRUPTED = 130


MEANINGS = {
    ExitCode.OK: "done",
    ExitCode.FAILED: "the answer is no: refused, not there, damaged, or wrong",
    ExitCode.USAGE: "wrong use: an option, a configuration, an extra that is not installed",
    ExitCode.UNAVAILABLE: "could not be tried: no cluster, no file, no port, no room",
    ExitCode.INTERRUPTED: "Ctrl-C",
}
