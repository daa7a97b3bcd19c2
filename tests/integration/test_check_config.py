"""voltd --check-config: every mistake of a configuration, and what was meant."""
import subprocess

from conftest import BIN, LIMIT


def check(path, *words):
    r = subprocess.run([BIN / "voltd", "--check-config", "--config", path, *words], capture_output=True,
                       text=True, timeout=LIMIT)
    assert r.stderr == ""
    return r.returncode, r.stdout.splitlines()


def test_every_mistake_is_told(tmp_path):
    conf = tmp_path / "voltd.conf"
    conf.write_text("""Slots=1
[Queue]
Slot=3
Slots=many
[Daemn]
Workers=1
Workers=2
nonsense
[Limits]
MaxMesage=1K
Workers=1
[Limits
MaxDepth=none
[Daemon]
Wrkers=3
""")
    (tmp_path / "voltd.conf.d").mkdir()
    (tmp_path / "voltd.conf.d/10.conf").write_text("[Store]\nSync=tape\n")
    (tmp_path / "voltd.conf.d/20.conf").write_text("[Store]\nBackend=memory\n")
    code, lines = check(conf)
    assert code == 1
    told = [line.split("voltd.conf", 1)[1] for line in lines]
    assert [t.split(": ")[0] for t in told] == [
        ":1", ":3", ":4", ":6", ":8", ":10", ":11", ":12", ":15", ".d/10.conf:2", ".d/20.conf:2", ""], lines
    for n, text in ((0, "it belongs in [Queue]"), (1, "did you mean Slots=?"), (2, "it must be a number"),
                    (3, "unknown section [Daemn]"), (4, "neither [Section]"), (5, "did you mean MaxMessage=?"),
                    (6, "does not belong in [Limits] but in [Daemon]"), (7, "neither [Section]"),
                    (8, "did you mean Workers=?"), (9, "on or off"), (10, "write Sync=off"), (11, "11 mistakes")):
        assert text in told[n], (n, lines)


def test_none(tmp_path):
    conf = tmp_path / "voltd.conf"
    conf.write_text("\ufeff[Queue]\nSlots=3\n")
    assert check(conf) == (0, [f"{conf}: no mistake; 1 file read, with {conf}.d/*.conf"])
    code, lines = check(tmp_path / "missing")
    assert code == 1 and "missing: No such file or directory" in lines[0]


def test_what_follows_a_damage_is_not_read(tmp_path):
    conf = tmp_path / "voltd.conf"
    conf.write_bytes(b"[Queue]\nSlot=1\nSl\0ts=1\nSlt=1\n")
    code, lines = check(conf)
    assert code == 1 and len(lines) == 3 and "a NUL byte" in lines[1]


def test_not_beside_others(tmp_path):
    r = subprocess.run([BIN / "voltd", "--check-config", "--check-store"], capture_output=True, text=True)
    assert r.returncode == 2 and "exclude each other" in r.stderr
