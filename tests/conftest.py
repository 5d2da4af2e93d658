"""What every test may rely on, however pytest was started."""

import signal

from hypothesis import settings

# How long an example takes is for benchmarks to say: on a busy machine the first one of a test,
# which imports what it needs, took longer than the usual limit.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


def pytest_configure() -> None:
    """A shell's background ignores Ctrl-C, and so would all that tests start and interrupt."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
