"""systemd/voltd-users: the sockets of keepers are those of the members of a group. What it asks and
tells is played by scripts; with systemd itself: make check-vm."""

import os
import subprocess

from conftest import ROOT

GETENT = """#!/bin/sh
users='root:x:0:0::/:/bin/sh
alice:x:2000:2000::/:/bin/sh
bob:x:2001:2001::/:/bin/sh
voltd:x:990:990::/:/bin/sh
own:x:2005:900::/:/bin/sh
other:x:2009:2009::/:/bin/sh'
[ "$1 $2" != "group volt" ] || { echo "volt:x:900:$MEMBERS"; exit; }
[ "$1 $2" != "group empty" ] || { echo "empty:x:901:"; exit; }
[ "$1" = passwd ] || exit 2
shift
[ $# != 0 ] || { echo "$users"; exit; }
status=0
for name; do echo "$users" | grep "^$name:" || status=2; done
exit $status
"""
SYSTEMCTL = """#!/bin/sh
case "$*" in
    list-units*) for uid in $ACTIVE; do echo "voltd-keeper@$uid.socket loaded active listening Jobs"; done ;;
    is-enabled*@3001.socket) ;;
    is-enabled*) exit 1 ;;
    *) echo "$*"; exit 1 ;;
esac
"""


def voltd_users(tmp_path, *args, members="", active=""):
    """The exit status, and what is asked of systemd, by uid."""
    for name, text in (("getent", GETENT), ("systemctl", SYSTEMCTL)):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    env = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "MEMBERS": members, "ACTIVE": active}
    p = subprocess.run([ROOT / "systemd/voltd-users", *args], env=env, capture_output=True, text=True)
    return p.returncode, p.stdout.replace("voltd-keeper@", "").replace(".socket", "").splitlines()


def test_members_get_sockets(tmp_path):
    assert voltd_users(tmp_path, members="alice,bob") == (0, ["start 2000 2001 2005"])


def test_others_lose_them(tmp_path):
    assert voltd_users(tmp_path, members="alice", active="2000 2001 2005 2009") == (0, ["stop 2001", "stop 2009"])


def test_nothing_is_to_be_done(tmp_path):
    assert voltd_users(tmp_path, members="bob", active="2001 2005") == (0, [])


def test_never_root_nor_voltd_nor_nobody(tmp_path):
    assert voltd_users(tmp_path, members="root,voltd,gone") == (0, ["start 2005"])


def test_what_is_enabled_stays(tmp_path):
    assert voltd_users(tmp_path, "empty", active="3000 3001") == (0, ["stop 3000"])


def test_a_group_without_members(tmp_path):
    assert voltd_users(tmp_path, "empty") == (0, [])


def test_a_group_that_cannot_be_read_changes_nothing(tmp_path):
    assert voltd_users(tmp_path, "none", active="2000") == (1, [])
