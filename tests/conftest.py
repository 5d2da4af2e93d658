"""What every test may rely on, however pytest was started."""

import signal


def pytest_configure() -> None:
    """A shell's background ignores Ctrl-C, and so would all that tests start and interrupt."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
