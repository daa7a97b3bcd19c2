"""Every block of the README works when it is pasted into a shell."""
import os
import re
import subprocess

from conftest import BIN, LIMIT, ROOT, daemon_for_a_test

TEXT = re.sub(r"^```.*?^```\n", "", (ROOT / "README.md").read_text(), flags=re.M | re.S)  # what is printed
BLOCKS = re.findall(r"(?:^    .*\n)+", TEXT, re.M)


def run(block, env):
    return subprocess.run(["bash", "-c", "set -x\n" + block], cwd=ROOT, env=env, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=2 * LIMIT)


def test_all_blocks_are_known():
    assert len(BLOCKS) == 3 and "make demo" in BLOCKS[1], BLOCKS
    assert all(b.startswith("    make ") or b.startswith("    make\n") for b in BLOCKS), BLOCKS


def test_the_targets_exist():
    """make demo and make check run elsewhere."""
    known = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for line in BLOCKS[1].splitlines():
        assert re.search(rf"^{line.split('#')[0].strip()}  ", known, re.M), line


def pasted(block):
    """All of a block's output, with the programs under test; of the plain build they are those that make makes."""
    if BIN != ROOT / "build/bin":
        block = re.sub("^    make.*\n", "", block).replace("build/bin", str(BIN))
    with daemon_for_a_test() as daemon:
        (daemon.dir / "runtime").mkdir(mode=0o700)
        env = {k: v for k, v in daemon.env.items() if k not in ("VOLT_ADDRESS", "MAKEFLAGS", "MAKELEVEL")}
        env.update(XDG_RUNTIME_DIR=str(daemon.dir / "runtime"), XDG_STATE_HOME=str(daemon.dir / "state"),
                   XDG_CONFIG_HOME=str(daemon.dir / "config"))
        r = run(block, env)
        assert r.returncode == 0, r
        assert not re.findall(r"not found|o such file|cannot be", r.stderr), r.stderr
        assert "command not found" not in r.stderr and "started one for this user" in r.stderr
        assert not os.path.exists(daemon.dir / "runtime/voltd/voltd.sock")
    return r


def test_the_first_six_commands():
    r = pasted(BLOCKS[0])
    for text in ("COMMAND", "item 8\n", "first\n     State: done, success"):
        assert text in r.stdout, (text, r.stdout)


def test_the_commands_of_use():
    r = pasted(BLOCKS[2])
    for text in ("7\nhello\n", "Failed: 981-1000", "_1000: 1000", "polled", "COMMAND"):
        assert text in r.stdout, (text, r.stdout[-3000:])
    assert "980 succeeded, 20 failed" in r.stderr
