"""Ctrl-C at a chosen moment, for tests of what it leaves behind."""

import signal
from contextlib import contextmanager


def _in_coverage(frame):
    while frame is not None:
        if "coverage" in frame.f_code.co_filename:
            return True
        frame = frame.f_back
    return False


@contextmanager
def interrupted_after(seconds):
    """Ctrl-C comes after so long; not inside of coverage, which would hold its lock for ever."""

    def interrupt(_signal, frame):
        if _in_coverage(frame):
            signal.setitimer(signal.ITIMER_REAL, 1e-4)
            return
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
