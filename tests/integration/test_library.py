"""libvoltclient: what its header says, from C."""
import json
import os
import re
import subprocess

import pytest

from conftest import LIMIT, ROOT, SANITIZER

BUILD = os.environ.get("VOLT_BUILD", ROOT / "build/plain")
HEADER = (ROOT / "client/include/volt/client.h").read_text()
PROGRAM = r"""
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <volt/client.h>

static struct volt_client *c;

static int show(void *arg, const char *event)
{
    int *left = arg;
    printf("%s\n", event);
    char *reply = NULL;
    if (volt_client_call(c, "org.varlink.service.GetInfo", NULL, &reply, NULL) < 0)
        return 1; /* a watch leaves the connection free */
    free(reply);
    return strstr(event, "\"event\":\"exited\"") && --*left == 0 ? 42 : 0;
}

static int until_mark(void *arg, const char *event)
{
    (void)arg;
    printf("%s\n", event);
    return strstr(event, "\"name\":\"mark\"") && strstr(event, "\"event\":\"exited\"") ? 7 : 0;
}

/* What has happened behind a cursor, up to the end of a job. */
static int resume(char *address, int64_t cursor)
{
    struct volt_error err = {""};
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (volt_client_open(address, &c, &err) < 0)
        return 1;
    int r = volt_client_watch_from(c, NULL, &cursor, until_mark, NULL, &err);
    printf("%d %lld %s\n", r, (long long)cursor, err.text);
    volt_client_close(c);
    return 0;
}

int main(int argc, char **argv)
{
    struct volt_client *beside;
    struct volt_error err = {""};
    if (argc > 2)
        return resume(argv[1], atoll(argv[2]));
    char id[VOLT_CLIENT_ID_SIZE], *reply;
    int code = -1, left = 1;
    setvbuf(stdout, NULL, _IOLBF, 0);
    int r = volt_client_open(argc > 1 ? argv[1] : NULL, &c, &err);
    if (r < 0) {
        printf("%d %s\n", r == -ENOENT, err.text);
        return 1;
    }
    if (volt_client_submit(c, "{\"argv\": [\"true\"], \"no\": 1}", id, &err) == -EINVAL)
        printf("refused: %s\n", err.text);
    if (volt_client_submit(c, "[]", id, &err) == -EINVAL && volt_client_submit(c, "{", id, NULL) == -EINVAL)
        printf("refused: %s\n", err.text);
    if (volt_client_wait(c, "999", &code, &err) == -ENOENT && code == -1)
        printf("missing: %s\n", err.text);
    if (volt_client_logs(c, "999", VOLT_CLIENT_STDERR, &err) == -ENOENT)
        printf("missing: %s\n", err.text);
    if (volt_client_submit(c, "{\"shell\": \"exit 3\", \"output_split\": true}", id, &err) == 0 &&
        volt_client_wait(c, id, &code, &err) == 0)
        printf("code %d\n", code);
    int fd = volt_client_logs(c, id, VOLT_CLIENT_STDERR, &err);
    printf("fd %d %d\n", fd >= 0, read(fd, id, 1) == 0);
    if (volt_client_call(c, "org.varlink.service.GetInfo", NULL, &reply, &err) == 0)
        printf("info %d\n", strstr(reply, "org.voltd.jobs") != NULL);
    free(reply);
    if (volt_client_open(NULL, &beside, &err) == 0 &&
        volt_client_submit(beside, "{\"name\": \"seen\", \"shell\": \"until [ -e seen ]; do sleep 0.05; done\","
                           "\"cwd\": \"" DIRECTORY "\", \"env\": {\"PATH\": \"/usr/bin:/bin\"}}", id, &err) == 0)
        printf("watch %d\n", volt_client_watch(c, "{\"name\": \"seen\"}", show, &left, &err));
    if (volt_client_submit(c, "{\"shell\": \"exit 5\"}", id, &err) == 0 && volt_client_wait(c, id, &code, &err) == 0)
        printf("and then %d\n", code);
    volt_client_close(beside);
    volt_client_close(c);
    volt_client_close(NULL);
    return 0;
}
"""


@pytest.fixture(scope="module")
def program(shared):
    (shared.dir / "a.c").write_text(PROGRAM)
    flags = [f"-fsanitize={SANITIZER}"] if SANITIZER else []
    compiler = "clang" if "clang" in str(BUILD) else "gcc"
    subprocess.run([compiler, "-Wall", "-Werror", f'-DDIRECTORY="{shared.dir}"', *flags, "-I", ROOT / "client/include",
                    "-I", ROOT / "lib/include", "-o", shared.dir / "a", shared.dir / "a.c", "-L", BUILD,
                    "-lvoltclient", f"-Wl,-rpath,{BUILD}"], check=True)
    return shared.dir / "a"


def test_each_function(shared, program):
    p = subprocess.Popen([program], env=shared.env, stdout=subprocess.PIPE, text=True)
    lines = [p.stdout.readline().strip() for _ in range(8)]
    assert lines[0].startswith("refused: spec.no: "), lines
    assert lines[1:7] == ["refused: the job: it must be an object", "missing: no such job: 999",
                          "missing: no such job: 999", "code 3", "fd 1 1", "info 1"]
    assert json.loads(lines[7])["name"] == "seen"  # as it was when the watch began
    (shared.dir / "seen").touch()
    *events, last, then = p.communicate(timeout=LIMIT)[0].splitlines()
    assert (last, then) == ("watch 42", "and then 5") and json.loads(events[-1])["event"] == "exited" and p.returncode == 0


def test_a_gap_is_told(private, program):
    """One that reads too slowly is told how many changes it has missed; a later watch goes on behind the last one."""
    private.start(config="[Limits]\nMaxOutputBacklog=64K\nMaxWatchBacklog=100\n")
    address = private.env["VOLT_ADDRESS"].removeprefix("unix:")

    def resume(cursor):
        return subprocess.Popen([program, address, str(cursor)], stdout=subprocess.PIPE, text=True)
    private.submit("--hold", "-n", "first", "--kind=noop")
    p = resume(-1)
    assert json.loads(p.stdout.readline())["name"] == "first"
    for _ in range(3):  # it waits for us, who do not read
        private.submit("-w", "--quiet", "-f", "-", input='{"kind":"noop"}\n' * 3000)
    private.submit("-w", "-n", "mark", "--kind=noop")
    *events, last = p.communicate(timeout=LIMIT)[0].splitlines()
    events = [json.loads(event) for event in events]
    lagged = [event["lagged"] for event in events if "lagged" in event]
    seen = [event for event in events if "cursor" in event]
    assert lagged and last.startswith("7 ") and seen[-1]["cursor"] - seen[0]["cursor"] + 1 == sum(lagged) + len(seen)
    private.submit("-w", "-n", "mark", "--kind=noop")
    private.stop()
    private.start()
    *events, last = resume(seen[-1]["cursor"]).communicate(timeout=LIMIT)[0].splitlines()
    assert {json.loads(event)["name"] for event in events} == {"mark"} and last.startswith("7 "), events


def test_no_voltd(shared, program):
    r = subprocess.run([program, "/none/voltd.sock"], env=shared.env, capture_output=True, text=True,
                       timeout=LIMIT)
    assert r.returncode == 1 and r.stdout.startswith("1 no voltd answers; tried") and "/none/voltd.sock" in r.stdout


def test_the_page_names_each_function():
    names = set(re.findall(r"\b(volt_client_(?!event)\w+)\(", HEADER))
    page = (ROOT / "client/man/voltclient.3").read_text()
    assert names == set(re.findall(r"^\.Nm (volt_client_\w+)", page, re.M))
    assert names == set(re.findall(r"^\.Fo (volt_client_\w+)", page, re.M))
    assert len(names) == 8


def test_both_texts_say_when_a_submission_may_be_repeated():
    header = " ".join(re.findall(r"[^\s*]+", HEADER))
    page = " ".join((ROOT / "client/man/voltclient.3").read_text().split())
    for text in header.replace("`", ""), page:
        assert "submitted again, it becomes a second job, unless its spec has a key" in text
