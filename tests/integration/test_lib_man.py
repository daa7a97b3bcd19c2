"""libvolt's headers, manual pages and tour: each function has a page that says what the header
does, nothing else is there, the pages are sound, their examples compile and that in volt(7) runs,
and the tour names what is there."""

import os
import re
import shutil
import subprocess

import pytest

from conftest import ROOT

HEADERS = sorted((ROOT / "lib/include/volt").glob("*.h"))
PAGES = sorted((ROOT / "lib/man").glob("*.[37]"))
LIBVOLT = os.environ["VOLT_BUILD"] + "/libvolt.a"


def squeeze(text):
    return re.sub(r"\s*([*,])\s*", r"\1", re.sub(r"\s+", " ", text)).strip()


def declared():
    """{function: (header, "ret name(args)")}"""
    found = {}
    for header in HEADERS:
        text = re.sub(r"/\*.*?\*/", " ", header.read_text(), flags=re.S)
        for ret, name, args in re.findall(
                r"(?:VOLT_API|static inline)\s+([^;{}()]*?)(\bvolt_\w+)"
                r"\(((?:[^()]|\([^()]*\))*)\)\s*[;{]", text):
            found[name] = (header.name, squeeze(f"{ret} {name}({args})"))
    return found


def documented():
    """{function: [(headers of its page, "ret name(args)")]}"""
    found = {}
    for page in PAGES:
        text = page.read_text()
        headers = re.findall(r"^\.In volt/(\S+)$", text, re.M)
        for ret, name, args in re.findall(r"^\.Ft (.*)\n\.Fo (.*)\n((?:\.Fa .*\n)+)\.Fc$", text, re.M):
            args = ", ".join(re.findall(r'^\.Fa "(.*)"$', args, re.M))
            found.setdefault(name, []).append((headers, squeeze(f"{ret} {name}({args})")))
    return found


def names(page):
    return re.findall(r"^\.Nm (\w+)(?: ,)?$", page.read_text(), re.M)


def test_every_function_has_its_page():
    headers, pages = declared(), documented()
    assert len(headers) > 80
    assert sorted(pages) == sorted(headers)
    for name, (header, prototype) in headers.items():
        assert len(pages[name]) == 1, name
        assert header in pages[name][0][0] and pages[name][0][1] == prototype, name


def test_names_find_their_page():
    """What stands under NAME becomes a link when the pages are installed."""
    everything = [name for page in PAGES for name in names(page)]
    assert len(everything) == len(set(everything))
    assert set(declared()) <= set(everything)
    for page in PAGES:
        assert page.stem in names(page)


def test_references_are_there():
    there = {f"{page.stem} {page.suffix[1]}" for page in PAGES}
    named = set()
    for page in PAGES:
        refs = set(re.findall(r"\bXr (volt(?:_\w+)? [37])\b", page.read_text()))
        assert refs <= there, page.name
        named |= refs if page.stem == "volt" else set()
    assert named == there - {"volt 7"}


@pytest.mark.parametrize("header", HEADERS, ids=lambda h: h.name)
def test_header_stands_alone(header):
    for flags in (["-std=c11"], ["-std=gnu17", "-DNDEBUG"]):
        subprocess.run(["gcc", *flags, "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-x", "c",
                        f"-I{ROOT}/lib/include", "-"], input=f"#include <volt/{header.name}>\n".encode(),
                       check=True)


@pytest.mark.skipif(not shutil.which("g++"), reason="no g++")
@pytest.mark.parametrize("header", HEADERS, ids=lambda h: h.name)
def test_header_is_cxx(header):
    subprocess.run(["g++", "-std=c++11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-x", "c++",
                    f"-I{ROOT}/lib/include", "-"], input=f"#include <volt/{header.name}>\n".encode(),
                   check=True)


POLL = """#include <volt/volt.h>
struct s { int at, i; struct volt_yield y; };
enum volt_poll poll(struct volt_cx *cx, void *state);
enum volt_poll poll(struct volt_cx *cx, void *state)
{
    struct s *s = state;
    VOLT_BEGIN(s->at);
    for (LOCAL = 0; NAME < 3; NAME++)
        VOLT_AWAIT(s->at, volt_yield_poll(cx, &s->y));
    VOLT_END(s->at);
}
"""


@pytest.mark.parametrize("local, name, warned", [("s->i", "s->i", False), ("int i", "i", True)])
def test_locals_that_do_not_survive_an_await_are_warned_of(local, name, warned):
    done = subprocess.run(["gcc", "-Wall", "-Wextra", "-fsyntax-only", "-x", "c", f"-I{ROOT}/lib/include",
                           "-"], input=POLL.replace("LOCAL", local).replace("NAME", name),
                          capture_output=True, text=True, check=True)
    assert ("-Wjump-misses-init" in done.stderr) == warned, done.stderr
    assert warned or done.stderr == ""


def literals(text):
    return [block.replace("\\e", "\\") for block in
            re.findall(r"^\.Bd -literal.*?\n(.*?)^\.Ed$", text, re.M | re.S)]


def example(page):
    """The code under EXAMPLES, all of it one source, with its includes."""
    section = re.search(r"^\.Sh EXAMPLES\n(.*?)(?=^\.Sh )", page.read_text(), re.M | re.S)
    return "\n".join(literals(section.group(1))) if section else ""


def compile_example(page, tmp_path, *flags):
    (tmp_path / "example.c").write_text(example(page))
    sanitize = [f"-fsanitize={os.environ['VOLT_SAN']}"] if os.environ.get("VOLT_SAN") else []
    compiler = "clang" if "clang" in os.environ["VOLT_BUILD"] else "gcc"
    subprocess.run([compiler, "-Wall", "-Wextra", "-Werror", "-Wno-unused-function", "-Wno-unused-const-variable",
                    *sanitize, f"-I{ROOT}/lib/include", "-o", tmp_path / "example",
                    tmp_path / "example.c", *flags], check=True)


@pytest.mark.parametrize("page", [p for p in PAGES if example(p)], ids=lambda p: p.name)
def test_examples_compile(page, tmp_path):
    compile_example(page, tmp_path, "-c")


def test_every_leaf_has_an_example():
    """A page with a poll function shows how it is awaited."""
    leaves = [page for page in PAGES if any(name.endswith("_poll") for name in names(page))]
    assert len(leaves) > 15
    for page in leaves:
        awaits = [name for name in names(page) if name.endswith(("_poll", "_wait")) or name.startswith("VOLT_AWAIT")]
        assert any(f"{name}(" in example(page) for name in awaits), page.name


def test_other_code_in_pages_is_that_of_the_headers():
    """Outside of EXAMPLES: structs are shown without their comments, initialisers as they are."""
    headers = squeeze(re.sub(r"/\*.*?\*/", " ", " ".join(h.read_text() for h in HEADERS), flags=re.S))
    shown = 0
    for page in PAGES:
        text = re.sub(r"^\.Sh EXAMPLES\n.*?(?=^\.Sh )", "", page.read_text(), flags=re.M | re.S)
        for block in literals(text):
            if block.startswith("static "):
                subprocess.run(["gcc", "-Wall", "-Wextra", "-Werror", "-Wno-unused-variable", "-fsyntax-only", "-x", "c",
                                f"-I{ROOT}/lib/include", "-"], input=f"#include <volt/volt.h>\n{block}".encode(),
                               check=True)
            else:
                assert squeeze(block) in headers, page.name
            shown += 1
    assert shown > 5


def test_example_of_volt_7(tmp_path):
    compile_example(ROOT / "lib/man/volt.7", tmp_path, LIBVOLT, "-pthread")
    done = subprocess.run([tmp_path / "example"], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "42\n"


@pytest.mark.skipif(not shutil.which("groff"), reason="no groff")
@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_formats_without_a_warning(page):
    done = subprocess.run(["groff", "-mandoc", "-Tutf8", "-ww", "-z", page], capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == ""


@pytest.mark.skipif(not shutil.which("mandoc"), reason="no mandoc")
@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_lint(page):
    done = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", page], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_tour_names_what_is_there():
    tour = (ROOT / "lib/README.md").read_text()
    for path in set(re.findall(r"\b((?:tests/unit|base|task|sync|driver|sched|runtime|io)/\w+\.[ch])\b", tour)):
        assert (ROOT / "lib" / path).exists() or (ROOT / path).exists(), path
    for link in re.findall(r"\]\((?!http)([^)#]+)\)", tour):
        assert (ROOT / "lib" / link).exists(), link
    for function in set(re.findall(r"\b(volt_\w+)\(\)", tour)):
        assert function in declared(), function
