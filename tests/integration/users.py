"""Several users of one voltd, for tests that are root."""

import contextlib
import os


@contextlib.contextmanager
def as_user(uid):
    """What connects meanwhile is this user's."""
    os.setegid(uid)
    os.seteuid(uid)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)


def connect_as(daemon, uid, control=False):
    with as_user(uid):
        return daemon.connect_control() if control else daemon.connect()


def open_to_all(daemon):
    """Others than the account of the daemon, which runs, may reach it."""
    for path, mode in ((daemon.dir, 0o755), (daemon.runtime, 0o755), (daemon.socket, 0o666),
                       (daemon.control, 0o666)):
        path.chmod(mode)
