"""What the oracle lets pass is what docs/protocol-support.md says, row by row."""

from interop.oracle.known_differences import (
    RECOGNISED,
    RECOGNISED_SILENCES,
    UNREACHED,
    documented,
)


def test_every_difference_is_documented_and_every_documented_one_is_looked_for():
    looked_for = [*RECOGNISED, *RECOGNISED_SILENCES, *UNREACHED]
    assert len(looked_for) == len(set(looked_for)), "a row is listed twice"
    assert sorted(looked_for) == sorted(documented())
