"""The manual pages name every option, verb and key there is, and no other."""

import re
import shutil
import subprocess

import pytest

from conftest import BIN, ROOT

MAN = ROOT / "client/man"


def help_of(program, *args):
    return subprocess.run([BIN / program, *args, "--help"], capture_output=True, text=True,
                          check=True).stdout


def options(text):
    return set(re.findall(r"^ {2,6}(?:-\w, )?--([a-z-]+)", text, re.M))


def page(name):
    return (MAN / name).read_text().replace("\\-", "-")


def named(text):
    return set(re.findall(r"^\.It (?:Fl \w , )?Fl -([a-z-]+)", text, re.M))


def test_volt_submit():
    assert named(page("volt-submit.1")) == options(help_of("volt-submit"))


def test_volt_lock():
    assert named(page("volt-lock.1")) == options(help_of("volt-lock"))


def test_voltctl():
    text, everything = page("voltctl.1"), help_of("voltctl")
    verbs = set(re.findall(r"^  (\w+) .*[A-Z]", everything.split("\n\n")[1], re.M)) - {"help"}
    assert set(re.findall(r"^\.Ss ([a-z]+)$", text, re.M)) == verbs and len(verbs) == 27
    common = options(everything)
    for part in re.split(r"^\.Ss ", text, flags=re.M)[1:]:
        verb = part.split("\n")[0]
        if verb in verbs:
            part = part.split("\n.Sh ")[0]
            assert named(part) == options(help_of("voltctl", verb)) - common, verb


def letters(text):
    return re.sub(r"[^a-z0-9]", "", re.sub(r".\x08|\x1b\[[0-9;]*m", "", text).lower())


@pytest.mark.skipif(not shutil.which("groff"), reason="no groff")
def test_what_verbs_say_of_themselves():
    shown = letters(subprocess.run(["groff", "-mandoc", "-Tascii", MAN / "voltctl.1"],
                                   capture_output=True, text=True).stdout)
    verbs = re.findall(r"^  (\w+) .*[A-Z]", help_of("voltctl").split("\n\n")[1], re.M)
    for verb in set(verbs) - {"help", "wait"}:  # wait: the codes of volt-submit(1)
        text = help_of("voltctl", verb).split("Options:")[0].split("\nExample")[0]
        for sentence in re.split(r"[.;:]\s", " ".join(text.split("\n")[1:])):
            assert letters(sentence) in shown, (verb, sentence)


def test_voltd():
    text = page("voltd.8")
    for option in re.findall(r"--([a-z-]+)", help_of("voltd")):
        assert f"Fl -{option}" in text, option


def test_pages_name_pages_that_there_are():
    for file in MAN.iterdir():
        for name, section in re.findall(r"^\.Xr (volt[\w.-]*) (\d)", page(file.name), re.M):
            assert (MAN / f"{name}.{section}").exists(), f"{file.name}: {name}({section})"
        if file.name != "volt-job.5":
            assert ".Xr volt-job 5" in page(file.name).split(".Sh SEE ALSO")[1], file.name


def test_voltd_conf():
    keys = re.findall(r"^#(\w+=.*)$", (ROOT / "conf/voltd.conf").read_text(), re.M)
    assert re.findall(r"^\.It Cm (.*)$", page("voltd.conf.5"), re.M) == keys


@pytest.mark.skipif(not shutil.which("groff"), reason="no groff")
@pytest.mark.parametrize("name", ["volt-submit.1", "volt-lock.1", "voltctl.1", "voltclient.3", "volt-job.5", "volt-agent.7",
                                  "volt-coming-from.7",
                                  "voltd.8", "voltd.conf.5"])
def test_formats_without_a_warning(name):
    done = subprocess.run(["groff", "-mandoc", "-Tutf8", "-ww", "-z", MAN / name],
                          capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == ""
