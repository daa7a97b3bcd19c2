/* The cgroup of an attempt that is paused, in folders with the files of a /proc and of a
 * hierarchy of cgroups: who is moved, what is written, and what is said where it cannot
 * be had. Processes, their trees and signals are real. The linker redirects what only a
 * kernel with such a hierarchy would answer, and the clock (Makefile); a real one is in
 * the VM (tests/systemd). */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "daemon/keeper/freezer.h"
#include "daemon/keeper/keeper.h"
#include "daemon/link/record_make.h"
#include "tests/support/scratch.h"

#define LIMIT  UINT64_C(100000)
#define UNIT   "/voltd.service"
#define OURS   "volt-00f1e2d3c4b5a6978879605142332415-"
#define OTHERS "volt-00f1e2d3c4b5a6978879605142332416-"
#define RECORD "17.2"
#define OWN    OURS RECORD
#define FROZEN "populated 1\nfrozen 1\n"
#define MOVING "populated 1\nfrozen 0\n"

enum { CHILDREN = 2 };

static char dir[SCRATCH_MAX], proc[SCRATCH_MAX + 8], mount[SCRATCH_MAX + 8];
static int dir_fd, unit_fd, record_fd;
static struct freezer_name own;
static struct keeper_self self;
static struct freezer *const freezer = &self.freezer;
static struct tree_root root;
static pid_t child[CHILDREN];
static const uint8_t generation[RECORD_ID_SIZE] = {0x00, 0xf1, 0xe2, 0xd3, 0xc4, 0xb5,
                                                   0xa6, 0x97, 0x88, 0x79, 0x60, 0x51,
                                                   0x42, 0x33, 0x24, 0x15};
static const struct job_key key = {.id = 17, .index = JOB_NO_INDEX, .attempt = 2};

/* What it answers, and what it was asked. */
static struct {
    bool is_other_type, fails;
    const char *user_mark, *trusted_mark;
    bool marks_parent; /* instead of the keeper's own */

    int refusal;            /* errno of a move */
    bool goes;              /* what is moved ends instead */
    bool moves_unfreeze;    /* what is moved is not frozen yet */
    unsigned moves_in_vain; /* the first ones */
    unsigned moves;
    pid_t moved[8];

    uint64_t now;
    uint64_t wait;    /* how long a poll takes; 0: to its end */
    bool freezes;     /* with the next poll */
    pid_t comes_back; /* it is seen outside, with the next poll */
    bool removes;     /* the record, with the next poll */
    unsigned polls;
    int timeout[8];
} kernel;

/* --- files -------------------------------------------------------------------------- */

static void write_file(int at, const char *path, const char *text)
{
    int fd = openat(at, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(dprintf(fd, "%s", text), (int)strlen(text));
    (void)close(fd);
}

static const char *read_file(int at, const char *path)
{
    static char text[64];
    int fd = openat(at, path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    ssize_t n = read(fd, text, sizeof(text) - 1);
    assert_true(n >= 0);
    text[n] = '\0';
    (void)close(fd);
    return text;
}

static bool is_there(int at, const char *path)
{
    return faccessat(at, path, F_OK, 0) == 0;
}

static void make_folder(const char *path)
{
    assert_true(mkdirat(dir_fd, path, 0700) == 0 || errno == EEXIST);
}

/* NULL: it has gone. */
static void show_text(pid_t pid, const char *text)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "proc/%d", (int)pid);
    make_folder(path);
    (void)strcat(path, "/cgroup");
    if (text != NULL)
        write_file(dir_fd, path, text);
    else
        assert_int_equal(unlinkat(dir_fd, path, 0), 0);
}

/* That the process is in this cgroup. */
static void show(pid_t pid, const char *cgroup)
{
    char text[256];
    (void)snprintf(text, sizeof(text), "12:cpu:/voltd\n0::%s\n", cgroup);
    show_text(pid, text);
}

static void make_cgroup(const char *events)
{
    make_folder("cgroup" UNIT "/" OWN);
    write_file(unit_fd, OWN "/cgroup.events", events);
    write_file(unit_fd, OWN "/cgroup.procs", "");
    write_file(unit_fd, OWN "/cgroup.freeze", "-");
}

static void assert_written(const char *freeze)
{
    assert_string_equal(read_file(unit_fd, OWN "/cgroup.freeze"), freeze);
}

/* --- the kernel --------------------------------------------------------------------- */

int __real_fstatfs(int fd, struct statfs *ret);
int __wrap_fstatfs(int fd, struct statfs *ret);
ssize_t __wrap_fgetxattr(int fd, const char *name, void *ret, size_t size);
ssize_t __real_write(int fd, const void *buf, size_t size);
ssize_t __wrap_write(int fd, const void *buf, size_t size);
int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout);
uint64_t __wrap_mono_usec(void);
ssize_t __real_pread(int fd, void *buf, size_t size, off_t offset);
ssize_t __wrap_pread(int fd, void *buf, size_t size, off_t offset);

int __wrap_fstatfs(int fd, struct statfs *ret)
{
    int r = __real_fstatfs(fd, ret);
    assert_true(fd >= 0);
    if (!kernel.is_other_type)
        ret->f_type = CGROUP2_SUPER_MAGIC;
    return kernel.fails ? -1 : r;
}

ssize_t __wrap_fgetxattr(int fd, const char *name, void *ret, size_t size)
{
    const bool is_user = strcmp(name, "user.delegate") == 0;
    const char *mark = is_user ? kernel.user_mark : kernel.trusted_mark;
    struct stat st, unit;
    assert_int_equal(fstat(fd, &st) | fstat(unit_fd, &unit), 0);
    assert_true(is_user || strcmp(name, "trusted.delegate") == 0);
    if (mark == NULL || (kernel.marks_parent && st.st_ino == unit.st_ino))
        return -1;
    assert_int_equal(size, 1);
    memcpy(ret, mark, size);
    return (ssize_t)size;
}

/* Moves a process whose number it is. */
static void move(const char *text)
{
    const pid_t pid = (pid_t)strtol(text, NULL, 10);
    kernel.moved[kernel.moves++ % 8] = pid;
    if (kernel.goes)
        show_text(pid, NULL);
    else if (kernel.refusal == 0 && kernel.moves > kernel.moves_in_vain)
        show(pid, UNIT "/" OWN);
    if (kernel.moves_unfreeze)
        write_file(unit_fd, OWN "/cgroup.events", MOVING);
}

ssize_t __wrap_write(int fd, const void *buf, size_t size)
{
    char link[32], path[256], text[16] = "";
    assert_true(fd >= 0);
    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    const ssize_t n = readlink(link, path, sizeof(path));
    const size_t end = strlen("/cgroup.procs");
    if (n < (ssize_t)end || memcmp(path + n - end, "/cgroup.procs", end) != 0)
        return __real_write(fd, buf, size);
    assert_true(size < sizeof(text));
    memcpy(text, buf, size);
    move(text);
    errno = kernel.goes ? ESRCH : kernel.refusal;
    return errno != 0 ? -1 : (ssize_t)size;
}

int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout)
{
    assert_int_equal(n, 1);
    assert_int_equal(fds->events, POLLPRI);
    kernel.timeout[kernel.polls++ % 8] = timeout;
    kernel.now += kernel.wait > 0 ? kernel.wait : (uint64_t)timeout * 1000;
    if (kernel.freezes)
        write_file(unit_fd, OWN "/cgroup.events", FROZEN);
    if (kernel.comes_back != 0)
        show(kernel.comes_back, UNIT);
    kernel.comes_back = 0;
    if (kernel.removes)
        assert_int_equal(unlinkat(dir_fd, RECORD, 0), 0);
    kernel.removes = false;
    return 1;
}

ssize_t __wrap_pread(int fd, void *buf, size_t size, off_t offset)
{
    assert_true(fd >= 0);
    return __real_pread(fd, buf, size, offset);
}

uint64_t __wrap_mono_usec(void)
{
    return kernel.now;
}

/* --- each test ---------------------------------------------------------------------- */

static pid_t make_child(void)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        for (;;)
            (void)pause();
    show(pid, UNIT);
    return pid;
}

static uint64_t start_of(pid_t pid)
{
    struct proc now;
    assert_int_equal(proc_read(pid, &now), 0);
    return now.start;
}

static void end_child(pid_t pid)
{
    (void)kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void init(void)
{
    freezer_init(freezer, proc, mount);
}

static int setup(void **state)
{
    (void)state;
    if (scratch_make(dir) < 0)
        return -1;
    memset(&kernel, 0, sizeof(kernel));
    kernel.user_mark = "1";
    kernel.now = 5000000;
    (void)snprintf(proc, sizeof(proc), "%s/proc", dir);
    (void)snprintf(mount, sizeof(mount), "%s/cgroup", dir);
    dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    make_folder("proc");
    make_folder("cgroup");
    make_folder("cgroup" UNIT);
    unit_fd = openat(dir_fd, "cgroup" UNIT, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    write_file(unit_fd, "cgroup.procs", "");
    show(getpid(), UNIT);
    write_file(dir_fd, RECORD, "");
    record_fd = openat(dir_fd, RECORD, O_RDONLY | O_CLOEXEC);
    own = freezer_name(generation, &key);
    init();
    if (freezer->dir_fd < 0)
        return -1;
    root = (struct tree_root){.shim = getpid(), .shim_start = start_of(getpid())};
    for (int i = 0; i < CHILDREN; i++)
        child[i] = make_child();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    for (int i = 0; i < CHILDREN; i++)
        if (child[i] != 0)
            end_child(child[i]);
    if (freezer->dir_fd >= 0)
        (void)close(freezer->dir_fd);
    (void)close(unit_fd);
    (void)close(record_fd);
    (void)close(dir_fd);
    return scratch_remove(dir);
}

/* --- which cgroup ------------------------------------------------------------------- */

/* It is looked for anew. */
static bool is_found(void)
{
    if (freezer->dir_fd >= 0)
        (void)close(freezer->dir_fd);
    init();
    assert_true(freezer->dir_fd >= -1);
    return freezer->dir_fd >= 0;
}

static void the_own_cgroup_is_it_where_it_was_delegated(void **state)
{
    (void)state;
    assert_string_equal(freezer->path, UNIT);
    kernel.is_other_type = true;
    assert_false(is_found());
    kernel.is_other_type = false;
    kernel.fails = true;
    assert_false(is_found());
    kernel.fails = false;
    kernel.user_mark = "0";
    kernel.trusted_mark = "1";
    assert_false(is_found());
    kernel.user_mark = NULL;
    assert_true(is_found());
    kernel.trusted_mark = NULL;
    assert_false(is_found());
    kernel.user_mark = "1";
    kernel.marks_parent = true;
    assert_true(is_found());
    kernel.user_mark = NULL;
    assert_false(is_found());
    kernel.marks_parent = false;
    kernel.user_mark = "1";
    assert_int_equal(unlinkat(unit_fd, "cgroup.procs", 0), 0);
    assert_false(is_found());
}

static void without_a_cgroup_of_its_own_there_is_none(void **state)
{
    (void)state;
    show(getpid(), "/nowhere");
    assert_false(is_found());
    show_text(getpid(), "12:cpu:/voltd\n");
    assert_false(is_found());
    show_text(getpid(), "");
    assert_false(is_found());
    show_text(getpid(), NULL);
    assert_false(is_found());
    assert_false(freezer_freeze(freezer, &own, record_fd, &root, LIMIT));
    assert_int_equal(freezer_holds(freezer, &own, &root), 0);
    freezer_remove(freezer, &own);
    freezer_thaw(freezer, &own, child[0]);
    assert_int_equal(kernel.moves, 0);
    /* In a container it is the root of what is seen; with v2 alone it stands first. */
    write_file(dir_fd, "cgroup/cgroup.procs", "");
    show_text(getpid(), "0::/\n");
    assert_true(is_found());
    assert_string_equal(freezer->path, "");
    show(child[0], "/");
    show(child[1], "/other");
    assert_int_equal(mkdirat(dir_fd, "cgroup/" OWN, 0700), 0);
    write_file(dir_fd, "cgroup/" OWN "/cgroup.events", FROZEN);
    write_file(dir_fd, "cgroup/" OWN "/cgroup.procs", "");
    assert_false(freezer_freeze(freezer, &own, record_fd, &root, LIMIT));
    assert_int_equal(kernel.moves, 1);
    show(child[1], "/" OWN);
    show_text(child[0], "12:cpu:/\n"); /* that is not the root */
    assert_false(freezer_freeze(freezer, &own, record_fd, &root, LIMIT));
    assert_int_equal(kernel.moves, 1);
}

/* That of the own attempt, and it is not empty. */
static void make_left(void)
{
    make_folder("cgroup" UNIT "/" OWN);
    write_file(unit_fd, OWN "/cgroup.freeze", "1");
}

/* It came while the tree was being frozen, and thawed too early. */
static void what_is_frozen_after_the_removal_goes_on(void **state)
{
    (void)state;
    make_cgroup(MOVING);
    kernel.freezes = kernel.removes = true;
    assert_false(freezer_freeze(freezer, &own, record_fd, &root, LIMIT));
    assert_int_equal(kernel.polls, 1);
    assert_written("0");
}

static void it_is_made_and_goes_with_the_record(void **state)
{
    struct stat st;
    (void)state;
    assert_false(
        freezer_freeze(freezer, &own, record_fd, &root, LIMIT)); /* a folder alone */
    assert_int_equal(fstatat(unit_fd, OWN, &st, 0), 0);
    assert_int_equal(st.st_mode & 0777, 0755);
    freezer_thaw(freezer, &own, child[0]);
    freezer_remove(freezer, &own);
    assert_false(is_there(unit_fd, OWN));
    write_file(unit_fd, OWN, "");
    assert_false(freezer_freeze(freezer, &own, record_fd, &root, LIMIT));
    assert_int_equal(unlinkat(unit_fd, OWN, 0), 0);
    make_cgroup(FROZEN);
    assert_int_equal(unlinkat(unit_fd, OWN "/cgroup.procs", 0), 0);
    assert_false(freezer_freeze(freezer, &own, record_fd, &root, LIMIT));
    assert_written("0");
    write_file(unit_fd, OWN "/cgroup.procs", "");
    assert_int_equal(unlinkat(unit_fd, OWN "/cgroup.freeze", 0), 0);
    assert_false(freezer_freeze(freezer, &own, record_fd, &root, LIMIT));
    assert_int_equal(freezer_holds(freezer, &own, &root), 2);
    assert_int_equal(unlinkat(unit_fd, OWN "/cgroup.events", 0), 0);
    assert_int_equal(freezer_holds(freezer, &own, &root), 0);
    show(child[0], UNIT);
    const unsigned moves = kernel.moves;
    assert_false(freezer_freeze(freezer, &own, record_fd, &root, LIMIT));
    assert_int_equal(kernel.moves, moves);
}

/* --- who is frozen ------------------------------------------------------------------ */

static void all_are_moved_and_frozen_and_thawed(void **state)
{
    (void)state;
    make_cgroup(MOVING);
    assert_int_equal(freezer_holds(freezer, &own, &root), 0);
    assert_int_equal(kernel.polls, 0);
    show(child[1], UNIT "/" OWN);
    kernel.freezes = kernel.moves_unfreeze = true;
    kernel.comes_back = child[1]; /* it has forked before it was frozen, say */
    kernel.wait = 30001;
    assert_true(freezer_freeze(freezer, &own, record_fd, &root, 100001));
    assert_written("1");
    assert_int_equal(kernel.moves, 2);
    assert_int_equal(kernel.moved[0], child[0]);
    assert_int_equal(kernel.moved[1], child[1]);
    assert_int_equal(kernel.polls, 2);
    assert_int_equal(kernel.timeout[0], 101);
    assert_int_equal(kernel.timeout[1], 70);
    assert_int_equal(freezer_holds(freezer, &own, &root), CHILDREN);
    const struct tree_root none = {.shim = child[0], .shim_start = start_of(child[0])};
    assert_int_equal(freezer_holds(freezer, &own, &none), 0);
    freezer_thaw(freezer, &own, child[0]);
    assert_written("0");
    show(child[0], UNIT);
    assert_int_equal(freezer_holds(freezer, &own, &root), 0);
    assert_int_equal(kernel.moves, 2);
}

static void a_pause_takes_no_longer_than_its_limit(void **state)
{
    (void)state;
    make_cgroup(MOVING);
    assert_false(freezer_freeze(freezer, &own, record_fd, &root, LIMIT));
    assert_int_equal(kernel.moves, CHILDREN);
    assert_int_equal(kernel.polls, 1);
    assert_written("0");
    show(child[0], UNIT); /* how many there ever are */
    show(child[1], UNIT);
    write_file(unit_fd, OWN "/cgroup.events", FROZEN);
    assert_false(freezer_freeze(freezer, &own, record_fd, &root, 0));
    assert_int_equal(kernel.moves, CHILDREN);
    assert_true(freezer_freeze(freezer, &own, record_fd, &root, 1));
    assert_int_equal(kernel.moves, 2 * CHILDREN);
}

static void what_may_not_be_moved_is_not_frozen(void **state)
{
    (void)state;
    make_cgroup(FROZEN);
    kernel.refusal = EACCES;
    assert_false(freezer_freeze(freezer, &own, record_fd, &root, LIMIT));
    assert_int_equal(kernel.moves, 1);
    assert_written("0");
}

static void a_move_counts_when_it_is_seen(void **state)
{
    (void)state;
    make_cgroup("");
    show(child[1], UNIT "/" OWN);
    kernel.moves_in_vain = 1;
    kernel.freezes = true;
    assert_true(freezer_freeze(freezer, &own, record_fd, &root, LIMIT));
    assert_int_equal(kernel.moves, 2);
    assert_int_equal(kernel.polls, 1);
}

static void what_has_gone_is_not_waited_for(void **state)
{
    (void)state;
    make_cgroup(FROZEN);
    kernel.goes = true;
    show_text(child[0], NULL);
    assert_true(freezer_freeze(freezer, &own, record_fd, &root, LIMIT));
    assert_int_equal(kernel.moves, 1);
    assert_int_equal(kernel.moved[0], child[1]);
    assert_int_equal(freezer_holds(freezer, &own, &root), 0);
}

/* Whether the tree can be frozen while the file of a child says this. */
static bool freezes(const char *text)
{
    show_text(child[0], text);
    return freezer_freeze(freezer, &own, record_fd, &root, LIMIT);
}

static void a_job_keeps_the_cgroups_that_it_has_made(void **state)
{
    static const char *const others[] = {
        "0::/\n",
        "0::/voltd.servic\n",
        "0::/voltd.service2\n",
        "0::/other.service/voltd.service\n",
        "0::/voltd.service/own\n",
        "0::/voltd.service/" OURS "17.22\n",
        "0::/voltd.service/" OURS "17\n",
        "0::/voltd.service/own/" OWN "\n",
        "0::/voltd.service/" OTHERS RECORD "\n",
        "0::/voltd.service/volt-17.2\n",
        "0::/other/" OWN "\n",
    };
    (void)state;
    make_cgroup(FROZEN);
    show(child[1], UNIT "/" OWN "/own/deep"); /* below: it is frozen with it */
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
        assert_false(freezes(others[i]));
    assert_int_equal(kernel.moves, 0);
    assert_true(freezes("0::" UNIT "/" OWN "\n"));
    assert_int_equal(kernel.moves, 0);
    assert_int_equal(freezer_holds(freezer, &own, &root), CHILDREN);
}

static void what_nobody_knows_the_place_of_is_not_frozen(void **state)
{
    static char far[2 * FREEZER_PATH_MAX];
    char path[64];
    (void)state;
    make_cgroup(FROZEN);
    show(child[1], UNIT "/" OWN);
    assert_false(freezes("12:cpu:" UNIT "\n"));
    assert_false(freezes("0::" UNIT)); /* cut off */
    assert_false(freezes("x0::" UNIT "\n"));
    memset(far, 'x', sizeof(far) - 1);
    memcpy(far, "0::/", 4);
    assert_false(freezes(far));
    /* What just fits is understood, and elsewhere. */
    far[FREEZER_PATH_MAX - 1] = '\n';
    far[FREEZER_PATH_MAX] = '\0';
    memcpy(far, "0::" UNIT "/" OWN "/", strlen("0::" UNIT "/" OWN "/"));
    assert_true(freezes(far));
    far[FREEZER_PATH_MAX - 1] = 'x';
    far[FREEZER_PATH_MAX] = '\n';
    assert_false(freezes(far));
    show_text(child[0], NULL);
    (void)snprintf(path, sizeof(path), "proc/%d/cgroup", (int)child[0]);
    make_folder(path);
    assert_false(freezer_freeze(freezer, &own, record_fd, &root, LIMIT));
    assert_int_equal(kernel.moves, 0);
    assert_int_equal(unlinkat(dir_fd, path, AT_REMOVEDIR), 0);
    assert_int_equal(symlinkat("cgroup", dir_fd, path), 0); /* a loop */
    assert_false(freezer_freeze(freezer, &own, record_fd, &root, LIMIT));
}

static void an_earlier_keeper_may_have_been_elsewhere(void **state)
{
    (void)state;
    make_folder("cgroup/old");
    make_folder("cgroup/old/" OURS "17.22");
    make_folder("cgroup/old/" OURS "17.22/" OWN);
    write_file(dir_fd, "cgroup/old/" OURS "17.22/" OWN "/cgroup.freeze", "1");
    show(child[0], "/old/" OURS "17.22/" OWN "/own");
    show(child[1], "/old/" OURS "17.22");
    make_cgroup(FROZEN);
    freezer_thaw(freezer, &own, child[0]);
    assert_string_equal(
        read_file(dir_fd, "cgroup/old/" OURS "17.22/" OWN "/cgroup.freeze"), "1");
    assert_int_equal(unlinkat(unit_fd, OWN "/cgroup.freeze", 0), 0);
    freezer_thaw(freezer, &own, child[1]);
    assert_string_equal(
        read_file(dir_fd, "cgroup/old/" OURS "17.22/" OWN "/cgroup.freeze"), "1");
    freezer_thaw(freezer, &own, child[0]);
    assert_string_equal(
        read_file(dir_fd, "cgroup/old/" OURS "17.22/" OWN "/cgroup.freeze"), "0");
}

/* --- what the keeper does with it --------------------------------------------------- */

/* The record of an attempt whose main process is the first child; its lock. */
static int make_record(void)
{
    uint32_t seed;
    assert_int_equal(record_boot_id(self.boot_id), 0);
    struct record_started s = {.pid = (uint32_t)child[0],
                               .pid_start = start_of(child[0]),
                               .shim_pid = (uint32_t)getpid(),
                               .shim_start = start_of(getpid())};
    assert_int_equal(unlinkat(dir_fd, RECORD, 0), 0);
    int fd = record_create(dir_fd, NULL, &key, self.boot_id, KEEPER_KILL_TREE, &seed);
    assert_true(fd >= 0);
    assert_int_equal(record_write_started(fd, seed, &s), 0);
    return fd;
}

static struct keeper_reply send_to(const struct job_key *to, int sig, uint32_t scope)
{
    struct keeper_signal m = {
        .key = keeper_key_pack(to), .signal = (uint32_t)sig, .scope = scope};
    struct keeper_reply reply = {0};
    int record = record_open(dir_fd, to);
    memcpy(m.owner, generation, sizeof(m.owner));
    signal_job(&self, &m, record >= 0 ? record : -1, &reply);
    if (record >= 0)
        (void)close(record);
    return reply;
}

static struct keeper_reply send(int sig, uint32_t scope)
{
    return send_to(&key, sig, scope);
}

/* As voltd removes the record of an attempt that was paused. Returns what that says. */
static int remove_record(const struct job_key *of)
{
    int r = record_remove(dir_fd, NULL, of, self.boot_id);

    if (r == 0)
        assert_int_equal(send_to(of, SIGCONT, KEEPER_SCOPE_TREE).status, -ESRCH);
    return r;
}

static void assert_reached(struct keeper_reply reply)
{
    assert_int_equal(reply.status, 0);
    assert_int_equal(reply.reached, CHILDREN);
    assert_int_equal(reply.survivors, 0);
}

/* Waits for that. */
static void assert_comes(int i, int options, int code)
{
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)child[i], &info, options), 0);
    assert_int_equal(info.si_code, code);
}

/* Nothing has stopped or continued it since. */
static void assert_left_alone(int i)
{
    siginfo_t info = {0};
    const int options = WSTOPPED | WCONTINUED | WNOHANG;
    assert_int_equal(waitid(P_PID, (id_t)child[i], &info, options), 0);
    assert_int_equal(info.si_pid, 0);
}

/* A slow machine may not even have stopped it. */
static void assert_continued(int i)
{
    struct proc now;
    siginfo_t info;
    const int options = WSTOPPED | WCONTINUED | WNOHANG;
    assert_int_equal(proc_read(child[i], &now), 0);
    assert_false(now.stopped);
    assert_int_equal(waitid(P_PID, (id_t)child[i], &info, options), 0);
}

static void a_pause_freezes_and_stops_nobody(void **state)
{
    const int lock = make_record();
    (void)state;
    make_cgroup(FROZEN);
    assert_reached(send(SIGSTOP, KEEPER_SCOPE_FREEZE));
    assert_written("1");
    assert_continued(0);
    assert_continued(1);
    /* Once more, as a voltd does that has started anew: they are not touched. */
    assert_reached(send(SIGSTOP, KEEPER_SCOPE_FREEZE));
    assert_int_equal(kernel.moves, CHILDREN);
    assert_left_alone(0);
    assert_left_alone(1);
    end_child(child[1]);
    assert_int_equal(send(SIGSTOP, KEEPER_SCOPE_FREEZE).reached, 1);
    assert_left_alone(0);
    child[1] = make_child();
    show(child[1], UNIT "/" OWN);
    assert_reached(send(SIGWINCH, KEEPER_SCOPE_TREE));
    assert_written("1");
    assert_reached(send(SIGCONT, KEEPER_SCOPE_TREE));
    assert_written("0");
    (void)close(lock);
}

static void where_it_cannot_be_frozen_a_pause_stops(void **state)
{
    const int lock = make_record();
    (void)state;
    show(getpid(), "/nowhere");
    assert_false(is_found());
    assert_reached(send(SIGSTOP, KEEPER_SCOPE_FREEZE));
    for (int i = 0; i < CHILDREN; i++)
        assert_comes(i, WSTOPPED, CLD_STOPPED);
    assert_left_alone(0);
    assert_reached(send(SIGCONT, KEEPER_SCOPE_TREE));
    for (int i = 0; i < CHILDREN; i++)
        assert_comes(i, WCONTINUED, CLD_CONTINUED);
    assert_int_equal(kernel.moves, 0);
    (void)close(lock);
}

/* Also where only the main process is signalled. */
static void what_is_to_end_is_thawed(void **state)
{
    const int lock = make_record();
    (void)state;
    make_cgroup(FROZEN);
    assert_reached(send(SIGSTOP, KEEPER_SCOPE_FREEZE));
    assert_written("1");
    assert_int_equal(send(SIGTERM, KEEPER_SCOPE_MAIN | KEEPER_SCOPE_WAKE).reached, 1);
    assert_written("0");
    assert_comes(0, WEXITED, CLD_KILLED);
    child[0] = 0;
    (void)close(lock);
}

static void sigkill_ends_what_could_not_be_thawed(void **state)
{
    const int lock = make_record();
    (void)state;
    make_cgroup(FROZEN);
    assert_reached(send(SIGSTOP, KEEPER_SCOPE_FREEZE));
    assert_int_equal(unlinkat(unit_fd, OWN "/cgroup.freeze", 0), 0);
    make_folder("cgroup" UNIT "/" OWN "/cgroup.freeze"); /* which refuses to be written */
    assert_reached(send(SIGWINCH, KEEPER_SCOPE_TREE | KEEPER_SCOPE_WAKE));
    const struct keeper_reply reply = send(SIGKILL, KEEPER_SCOPE_TREE);
    assert_int_equal(reply.status, 0);
    assert_true(reply.reached >= CHILDREN);
    for (int i = 0; i < CHILDREN; i++) {
        assert_comes(i, WEXITED, CLD_KILLED);
        child[i] = 0;
    }
    (void)close(lock);
}

static void the_cgroup_goes_when_the_record_is_removed(void **state)
{
    const struct job_key element = {.id = 18, .index = 3, .attempt = 1};
    (void)state;
    (void)close(make_record());
    make_folder("cgroup" UNIT "/" OWN);
    make_folder("cgroup" UNIT "/" OURS "18_3.1");
    make_folder("cgroup" UNIT "/" OURS "19.1");
    assert_int_equal(remove_record(&key), 0);
    assert_int_equal(remove_record(&element), 0);
    assert_false(is_there(unit_fd, OWN));
    assert_false(is_there(unit_fd, OURS "18_3.1"));
    assert_true(is_there(unit_fd, OURS "19.1"));
    assert_false(is_there(dir_fd, RECORD));
}

static void what_is_left_of_it_goes_on(void **state)
{
    const int lock = make_record();
    (void)state;
    make_left();
    assert_int_equal(remove_record(&key), -EBUSY); /* it has not ended */
    assert_written("1");
    (void)close(lock);
    assert_int_equal(send(SIGCONT, KEEPER_SCOPE_TREE).status,
                     0); /* its record is there */
    assert_int_equal(remove_record(&key), 0);
    assert_written("0");
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(the_own_cgroup_is_it_where_it_was_delegated),
        T(without_a_cgroup_of_its_own_there_is_none),
        T(what_is_frozen_after_the_removal_goes_on),
        T(it_is_made_and_goes_with_the_record),
        T(all_are_moved_and_frozen_and_thawed),
        T(a_pause_takes_no_longer_than_its_limit),
        T(what_may_not_be_moved_is_not_frozen),
        T(a_move_counts_when_it_is_seen),
        T(what_has_gone_is_not_waited_for),
        T(a_job_keeps_the_cgroups_that_it_has_made),
        T(what_nobody_knows_the_place_of_is_not_frozen),
        T(an_earlier_keeper_may_have_been_elsewhere),
        T(a_pause_freezes_and_stops_nobody),
        T(where_it_cannot_be_frozen_a_pause_stops),
        T(what_is_to_end_is_thawed),
        T(sigkill_ends_what_could_not_be_thawed),
        T(the_cgroup_goes_when_the_record_is_removed),
        T(what_is_left_of_it_goes_on),
    };
    (void)umask(022);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
