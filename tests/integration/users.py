"""Several users of one voltd, for tests that are root."""

import contextlib
import os


@contextlib.contextmanager
def as_user(uid, gid=None, groups=()):
    """What connects meanwhile is this user's: the ids that a socket tells its other end, and by which
    the kernel lets one in. gid: the user's own, as many as uid, if not given."""
    if uid == 0:
        yield
        return
    own = os.getgroups()
    os.setgroups(groups)
    os.setegid(uid if gid is None else gid)
    os.seteuid(uid)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)
        os.setgroups(own)


def connect_as(daemon, uid, control=False):
    with as_user(uid):
        return daemon.connect_control() if control else daemon.connect()


def open_to_all(daemon):
    """Others than the account of the daemon, which runs, may reach it."""
    for path, mode in ((daemon.dir, 0o755), (daemon.runtime, 0o755), (daemon.socket, 0o666),
                       (daemon.control, 0o666)):
        path.chmod(mode)
