/* Exit records: what can be read back, and that no damage whatever yields a
 * wrong status. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "daemon/keeper/record.h"
#include "daemon/keeper/tree.h"
#include "daemon/link/record_make.h"
#include "base/crc.h"

static const struct job_key key = {17, 3, 2};
static uint8_t boot[RECORD_ID_SIZE];

struct dir {
    char path[64];
    int fd;
};

static int dir_setup(void **state)
{
    struct dir *d = calloc(1, sizeof(*d));
    strcpy(d->path, "/tmp/volt-record-XXXXXX");
    assert_non_null(mkdtemp(d->path));
    d->fd = open(d->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(d->fd >= 0);
    assert_int_equal(record_boot_id(boot), 0);
    *state = d;
    return 0;
}

static int unlink_one(const struct job_key *k, void *arg)
{
    char name[JOB_KEY_TEXT_MAX];
    job_key_format(k, name);
    return unlinkat(*(int *)arg, name, 0);
}

static int dir_teardown(void **state)
{
    struct dir *d = *state;
    assert_int_equal(record_scan(d->fd, unlink_one, &d->fd), 0);
    (void)unlinkat(d->fd, "generation", 0);
    assert_int_equal(rmdir(d->path), 0); /* nothing half-made is left */
    close(d->fd);
    free(d);
    return 0;
}

/* A complete record with `slots` slots written, read back into buf; its
 * file is removed. */
static void make_record(struct dir *d, int slots, uint8_t buf[RECORD_SIZE])
{
    uint32_t seed;
    struct record_started s = {
        .pid = 100, .shim_pid = 99, .pid_start = 5, .shim_start = 4};
    struct record_exited x = {.end = RECORD_END_EXIT, .status = 7, .user_usec = 1234};
    int fd = record_create(d->fd, NULL, &key, boot, 1, &seed);
    assert_true(fd >= 0);
    if (slots >= 1)
        assert_int_equal(record_write_started(fd, seed, &s), 0);
    if (slots >= 2)
        assert_int_equal(record_write_exited(fd, seed, &x), 0);
    assert_int_equal(pread(fd, buf, RECORD_SIZE, 0), RECORD_SIZE);
    close(fd);
    assert_int_equal(unlink_one(&key, &d->fd), 0);
}

static enum record_verdict verdict(const void *buf, size_t len, struct record *r)
{
    record_parse(buf, len, &key, boot, false, r);
    return r->verdict;
}

static void test_crc_is_crc32c(void **state)
{
    (void)state;
    assert_int_equal(crc32c(0, "123456789", 9), 0xe3069283);
    assert_int_equal(crc32c(crc32c(0, "1234", 4), "56789", 5), 0xe3069283);
}

static void test_verdicts(void **state)
{
    struct dir *d = *state;
    uint8_t buf[RECORD_SIZE], other[RECORD_ID_SIZE] = {1};
    struct record r;
    make_record(d, 0, buf);
    assert_int_equal(verdict(buf, sizeof(buf), &r), RECORD_NEVER_RAN);
    make_record(d, 1, buf);
    assert_int_equal(verdict(buf, sizeof(buf), &r), RECORD_SHIM_KILLED);
    assert_true(r.has_started);
    assert_int_equal(r.started.pid, 100);
    record_parse(buf, sizeof(buf), &key, other, false, &r);
    assert_int_equal(r.verdict, RECORD_OTHER_BOOT);

    make_record(d, 2, buf);
    assert_int_equal(verdict(buf, sizeof(buf), &r), RECORD_DONE);
    assert_int_equal(r.exited.end, RECORD_END_EXIT);
    assert_int_equal(r.exited.status, 7);
    assert_int_equal(r.exited.user_usec, 1234);
    assert_int_equal(r.header.kill_mode, 1);
    record_parse(buf, sizeof(buf), &key, other, false, &r);
    assert_int_equal(r.verdict, RECORD_DONE); /* known exactly, whatever the boot */
}

/* --- the table of verdicts ------------------------------------------------------------- */

enum { ZERO, VALID, BAD, STATES };

struct content {
    bool header, other_boot; /* header: valid */
    int slot1, slot2;
};

/* The table of record.h, read aloud: the first line that fits. */
static enum record_verdict expected(const struct content *c, bool held)
{
    if (!c->header)
        return held ? RECORD_RUNNING : RECORD_DAMAGED;
    if (c->slot2 == VALID)
        return RECORD_DONE;
    if (c->other_boot)
        return RECORD_OTHER_BOOT;
    if (held)
        return RECORD_RUNNING;
    if (c->slot1 == BAD || c->slot2 == BAD)
        return RECORD_DAMAGED;
    return c->slot1 == VALID ? RECORD_SHIM_KILLED : RECORD_NEVER_RAN;
}

/* A record of that content. */
static void make_content(const struct content *c, uint32_t version,
                         const struct record_started *started, uint8_t buf[RECORD_SIZE])
{
    struct record_header h = {.magic = RECORD_MAGIC,
                              .version = version,
                              .job = key.id,
                              .index = key.index,
                              .attempt = key.attempt};
    struct record_started s = *started;
    struct record_exited x = {.end = RECORD_END_EXIT, .status = 7};
    memset(buf, 0, RECORD_SIZE);
    memcpy(h.boot_id, boot, sizeof(boot));
    h.boot_id[0] ^= c->other_boot;
    h.crc = crc32c(0, &h, offsetof(struct record_header, crc));
    s.crc = crc32c(h.crc + 1, &s, offsetof(struct record_started, crc));
    x.crc = crc32c(h.crc + 2, &x, offsetof(struct record_exited, crc));
    memcpy(buf, &h, sizeof(h));
    if (c->slot1 != ZERO)
        memcpy(buf + RECORD_STARTED_AT, &s, sizeof(s));
    if (c->slot2 != ZERO)
        memcpy(buf + RECORD_EXITED_AT, &x, sizeof(x));
    buf[0] ^= !c->header;
    buf[RECORD_STARTED_AT] ^= c->slot1 == BAD;
    buf[RECORD_EXITED_AT] ^= c->slot2 == BAD;
}

/* Calls fn for each of the 36 contents. */
static void each_content(void (*fn)(const struct content *c, void *arg), void *arg)
{
    for (int n = 0; n < 4 * STATES * STATES; n++) {
        const struct content c = {.header = n & 1,
                                  .other_boot = n & 2,
                                  .slot1 = n / 4 % STATES,
                                  .slot2 = n / 4 / STATES};
        fn(&c, arg);
    }
}

static void parse_content(const struct content *c, void *arg)
{
    static const struct record_started s = {.pid = 100, .shim_pid = 99, .shim_start = 4};
    uint8_t buf[RECORD_SIZE];
    struct record r;
    for (uint32_t version = RECORD_VERSION_FLOCK; version <= RECORD_VERSION; version++)
        for (int held = 0; held < 2; held++) {
            make_content(c, version, &s, buf);
            record_parse(buf, sizeof(buf), &key, boot, held, &r);
            assert_int_equal(r.verdict, expected(c, held));
            assert_int_equal(r.exited.status, r.verdict == RECORD_DONE ? 7 : 0);
            assert_int_equal(r.has_started, c->header && c->slot1 == VALID);
            ++*(int *)arg;
        }
}

static void test_each_verdict(void **state)
{
    (void)state;
    int rows = 0;
    each_content(parse_content, &rows);
    assert_int_equal(rows, 144);
}

/* What of a file is locked, by another description than the probe's. */
enum locked {
    BY_NOBODY,
    BY_OFD,
    BY_OFD_READ,
    BY_POSIX,
    BY_FLOCK,
    BY_FLOCK_SHARED,
    BY_ALL
};

/* A child that holds a POSIX lock on it, until its pipe is closed; the others are of fd. */
static pid_t lock_record(int fd, enum locked lock, int gate[2])
{
    struct flock all = {.l_type = lock == BY_OFD_READ ? F_RDLCK : F_WRLCK,
                        .l_whence = SEEK_SET};
    pid_t child = 0;
    if (lock == BY_OFD || lock == BY_OFD_READ)
        assert_int_equal(fcntl(fd, F_OFD_SETLK, &all), 0);
    if (lock == BY_FLOCK || lock == BY_FLOCK_SHARED)
        assert_int_equal(flock(fd, lock == BY_FLOCK ? LOCK_EX : LOCK_SH), 0);
    if (lock != BY_POSIX)
        return 0;
    assert_int_equal(pipe2(gate, O_CLOEXEC), 0);
    child = fork();
    assert_true(child >= 0);
    char byte = 1;
    if (child == 0) {
        byte = fcntl(fd, F_SETLK, &all) == 0;
        close(gate[0]);
        _exit(write(gate[1], &byte, 1) != 1 || pause());
    }
    close(gate[1]);
    assert_int_equal(read(gate[0], &byte, 1), 1);
    assert_int_equal(byte, 1);
    return child;
}

static void unlock_record(pid_t child, int gate)
{
    if (child == 0)
        return;
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    close(gate);
}

static bool is_held(uint32_t version, enum locked lock)
{
    if (version == RECORD_VERSION_FLOCK)
        return lock == BY_FLOCK;
    return lock == BY_OFD || lock == BY_POSIX;
}

/* Shims that slot 1 may name. */
static struct shims {
    struct record_started alive, gone, other, zombie;
    int dir_fd, rows;
} shims;

static void probe_with(const struct content *c, const struct record_started *s,
                       enum locked lock, bool lives)
{
    const uint32_t versions[] = {RECORD_VERSION_FLOCK, RECORD_VERSION};
    for (size_t v = 0; v < 2; v++) {
        char name[JOB_KEY_TEXT_MAX];
        uint8_t buf[RECORD_SIZE];
        struct record r;
        int gate[2] = {-1, -1};
        (void)job_key_format(&key, name);
        make_content(c, versions[v], s, buf);
        int fd = openat(shims.dir_fd, name, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
        assert_int_equal(write(fd, buf, sizeof(buf)), sizeof(buf));
        pid_t child = lock_record(fd, lock, gate);
        /* A header that cannot be read tells no version: the newest. */
        bool held = is_held(c->header ? versions[v] : RECORD_VERSION, lock);
        bool decides = c->header && c->slot1 == VALID;
        assert_int_equal(record_probe(shims.dir_fd, &key, boot, &r), 0);
        assert_int_equal(r.verdict, expected(c, held && (lives || !decides)));
        unlock_record(child, gate[0]);
        close(fd);
        assert_int_equal(unlinkat(shims.dir_fd, name, 0), 0);
        shims.rows++;
    }
}

static void probe_content(const struct content *c, void *arg)
{
    (void)arg;
    for (enum locked lock = 0; lock < BY_ALL; lock++) {
        probe_with(c, &shims.alive, lock, true);
        probe_with(c, &shims.gone, lock, false);
        probe_with(c, &shims.other, lock, false);
        probe_with(c, &shims.zombie, lock, false);
    }
}

static struct record_started started_by(pid_t pid)
{
    struct proc p;
    assert_int_equal(proc_read(pid, &p), 0);
    return (struct record_started){
        .pid = 1, .shim_pid = (uint32_t)pid, .shim_start = p.start};
}

/* Every content, under every lock, with a shim that lives, has gone, whose number another
 * process has, or that nobody has reaped. */
static void test_each_verdict_of_a_file(void **state)
{
    struct dir *d = *state;
    shims.dir_fd = d->fd;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(0);
    siginfo_t ended;
    assert_int_equal(waitid(P_PID, (id_t)child, &ended, WEXITED | WNOWAIT), 0);
    shims.alive = shims.other = started_by(getpid());
    shims.other.shim_start++;
    shims.zombie = started_by(child);
    shims.gone = (struct record_started){.pid = 1, .shim_pid = 1 << 22, .shim_start = 1};
    each_content(probe_content, NULL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(shims.rows, 36 * BY_ALL * 4 * 2);
}

static void test_not_this_key(void **state)
{
    struct dir *d = *state;
    uint8_t buf[RECORD_SIZE];
    struct record r;
    const struct job_key others[] = {{17, 3, 1}, {17, -1, 2}, {18, 3, 2}};
    make_record(d, 2, buf);
    for (size_t i = 0; i < 3; i++) {
        record_parse(buf, sizeof(buf), &others[i], boot, false, &r);
        assert_int_equal(r.verdict, RECORD_DAMAGED);
    }
}

static void test_each_truncation(void **state)
{
    struct dir *d = *state;
    uint8_t buf[RECORD_SIZE + 1] = {0};
    struct record r;
    make_record(d, 2, buf);
    for (size_t len = 0; len <= RECORD_SIZE + 1; len++) {
        /* a block of its own, so that the sanitizer sees a read beyond the end */
        uint8_t *copy = malloc(len + (len == 0));
        memcpy(copy, buf, len);
        enum record_verdict v = verdict(copy, len, &r);
        assert_int_equal(v, len == RECORD_SIZE ? RECORD_DONE : RECORD_DAMAGED);
        free(copy);
    }
}

/* A flipped bit may cost the status (damaged), never change it, and never turn a job that
 * may have run into one that never did. */
static void test_each_flipped_bit(void **state)
{
    struct dir *d = *state;
    uint8_t buf[RECORD_SIZE];
    struct record r;
    for (int slots = 0; slots <= 2; slots++) {
        const enum record_verdict whole[] = {RECORD_NEVER_RAN, RECORD_SHIM_KILLED,
                                             RECORD_DONE};
        make_record(d, slots, buf);
        for (size_t bit = 0; bit < RECORD_SIZE * 8; bit++) {
            buf[bit / 8] ^= (uint8_t)(1u << bit % 8);
            enum record_verdict v = verdict(buf, sizeof(buf), &r);
            assert_true(v == whole[slots] || v == RECORD_DAMAGED);
            if (v == RECORD_DONE) {
                assert_int_equal(r.exited.end, RECORD_END_EXIT);
                assert_int_equal(r.exited.status, 7);
            }
            buf[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
    }
}

static void damage_each(uint8_t *buf, size_t at, size_t size)
{
    struct record r;
    for (size_t i = at; i < at + size; i++) {
        buf[i] = 0x80;
        assert_int_equal(verdict(buf, RECORD_SIZE, &r), RECORD_DAMAGED);
        buf[i] = 0;
    }
}

/* Every byte of a slot that is not written counts, its CRC's as well. */
static void test_each_byte_of_an_empty_slot(void **state)
{
    uint8_t buf[RECORD_SIZE];
    make_record(*state, 0, buf);
    damage_each(buf, RECORD_STARTED_AT, sizeof(struct record_started));
    damage_each(buf, RECORD_EXITED_AT, sizeof(struct record_exited));
}

/* A slot is bound to its record and to its place. */
static void test_slot_of_another_record(void **state)
{
    struct dir *d = *state;
    uint8_t a[RECORD_SIZE], b[RECORD_SIZE];
    struct record r;
    make_record(d, 2, a);
    make_record(d, 1, b);
    memcpy(b + RECORD_EXITED_AT, a + RECORD_EXITED_AT, 512);
    assert_int_equal(verdict(b, sizeof(b), &r), RECORD_DAMAGED);
}

static void test_lock_is_life(void **state)
{
    struct dir *d = *state;
    uint32_t seed;
    struct record r;
    assert_int_equal(record_probe(d->fd, &key, boot, &r), 0);
    assert_int_equal(r.verdict, RECORD_ABSENT);
    int fd = record_create(d->fd, NULL, &key, boot, 0, &seed);
    assert_true(fd >= 0);
    assert_int_equal(record_probe(d->fd, &key, boot, &r), 0);
    assert_int_equal(r.verdict, RECORD_RUNNING);
    assert_int_equal(record_create(d->fd, NULL, &key, boot, 0, &seed), -EEXIST);
    assert_int_equal(record_remove(d->fd, NULL, &key, boot), -EBUSY);
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    close(fd);
    assert_int_equal(record_probe(d->fd, &key, boot, &r), 0);
    assert_int_equal(r.verdict, RECORD_RUNNING);
    close(copy);
    assert_int_equal(record_probe(d->fd, &key, boot, &r), 0);
    assert_int_equal(r.verdict, RECORD_NEVER_RAN);
}

/* What a keeper is given: the same verdicts, and no way to other records. */
static void test_by_its_descriptor(void **state)
{
    struct dir *d = *state;
    const struct job_key mine = {34, JOB_NO_INDEX, 1}, link = {33, JOB_NO_INDEX, 1};
    uint32_t seed;
    struct record r;
    char name[JOB_KEY_TEXT_MAX];
    assert_int_equal(record_open(d->fd, &mine), -ENOENT);
    int held = record_create(d->fd, NULL, &mine, boot, 0, &seed);
    int fd = record_open(d->fd, &mine);
    assert_true(held >= 0 && fd >= 0);
    assert_int_equal(record_probe_fd(fd, &mine, boot, &r), 0);
    assert_int_equal(r.verdict, RECORD_RUNNING);
    assert_false(r.has_started);
    struct record_started s = {.pid = 1, .shim_pid = (uint32_t)getpid()};
    assert_int_equal(record_write_started(held, seed, &s), 0);
    close(held);
    assert_int_equal(record_probe_fd(fd, &mine, boot, &r), 0);
    assert_int_equal(r.verdict, RECORD_SHIM_KILLED);
    assert_int_equal(r.started.pid, 1);
    assert_int_equal(record_probe_fd(fd, &link, boot, &r), 0);
    assert_int_equal(r.verdict, RECORD_DAMAGED); /* of another attempt */
    assert_int_equal(record_remove(d->fd, NULL, &mine, boot), 0);
    assert_int_equal(record_probe_fd(fd, &mine, boot, &r), 0);
    assert_int_equal(r.verdict, RECORD_ABSENT);
    close(fd);
    assert_int_equal(record_probe_fd(d->fd, &mine, boot, &r), 0);
    assert_int_equal(r.verdict, RECORD_DAMAGED); /* a folder */
    assert_int_equal(record_probe_fd(-1, &mine, boot, &r), -EBADF);
    (void)job_key_format(&link, name);
    assert_int_equal(symlinkat("/nowhere", d->fd, name), 0);
    assert_int_equal(record_open(d->fd, &link), -EIO);
    assert_int_equal(unlinkat(d->fd, name, 0), 0);
}

static void test_started(void **state)
{
    struct dir *d = *state;
    struct record_started s = {.pid = 100, .shim_pid = 99}, got = {.pid = 1};
    const struct job_key mine = {18, JOB_NO_INDEX, 1};
    uint32_t seed;

    assert_int_equal(record_started(d->fd, &mine, boot, &got), 0); /* there is none */
    int fd = record_create(d->fd, NULL, &mine, boot, 1, &seed);
    assert_true(fd >= 0);
    assert_int_equal(record_started(d->fd, &mine, boot, &got), 0);
    assert_int_equal(record_write_started(fd, seed + 1, &s), 0); /* another record's */
    assert_int_equal(record_started(d->fd, &mine, boot, &got), 0);
    assert_int_equal(got.pid, 1);
    assert_int_equal(record_write_started(fd, seed, &s), 0);
    assert_int_equal(record_started(d->fd, &mine, boot, &got), 1);
    assert_int_equal(got.pid, 100);
    close(fd);
    assert_int_equal(unlink_one(&mine, &d->fd), 0);
}

/* A file that is used again carries nothing over, and tells its new name. */
static void test_pool(void **state)
{
    struct dir *d = *state;
    struct record_pool pool = {0};
    struct record_exited x = {.end = RECORD_END_EXIT, .status = 7};
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
    struct job_key first = key, next = key;
    struct stat a, b;
    struct record r;
    uint32_t seed;
    char events[512] = "";
    first.attempt = 8;
    next.attempt = 9;
    int fd = record_create(d->fd, &pool, &first, boot, 0, &seed);
    assert_int_equal(record_write_exited(fd, seed, &x), 0);
    assert_int_equal(fstat(fd, &a), 0);
    close(fd);
    assert_int_equal(record_remove(d->fd, &pool, &first, boot), 0);
    assert_int_equal(pool.n, 1);
    assert_int_equal(record_probe(d->fd, &first, boot, &r), 0);
    assert_int_equal(r.verdict, RECORD_ABSENT);

    fd = record_create(d->fd, &pool, &next, boot, 0, &seed);
    assert_int_equal(fstat(fd, &b), 0);
    assert_int_equal(a.st_ino, b.st_ino);
    assert_int_equal(pool.n, 0);
    assert_int_equal(record_probe(d->fd, &next, boot, &r), 0);
    assert_int_equal(r.verdict, RECORD_RUNNING); /* locked like a new one */
    int in = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    assert_true(inotify_add_watch(in, d->path, IN_CLOSE_WRITE) >= 0);
    close(fd);
    assert_true(read(in, events, sizeof(events)) > 0);
    close(in);
    assert_string_equal(events + sizeof(struct inotify_event), "17_3.9");
    assert_int_equal(record_probe(d->fd, &next, boot, &r), 0);
    assert_int_equal(r.verdict, RECORD_NEVER_RAN);

    /* none is made for want of a spare one, where that is asked */
    assert_int_equal(record_create_spare(d->fd, &pool, &first, boot, 0, &seed), -ENFILE);

    /* one that somebody holds is not waited for */
    assert_int_equal(record_remove(d->fd, &pool, &next, boot), 0);
    char name[32];
    snprintf(name, sizeof(name), ".%d.%u", (int)getpid(), pool.name[0]);
    int held = openat(d->fd, name, O_RDONLY | O_CLOEXEC);
    assert_int_equal(fcntl(held, F_OFD_SETLK, &lock), 0);
    int unused = dup(held);
    close(unused);
    fd = record_create(d->fd, &pool, &first, boot, 0, &seed);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(dup(held), unused); /* and nothing else was left open */
    close(unused);
    close(held);
    assert_int_equal(record_remove(d->fd, NULL, &first, boot), 0);

    /* nor is one of another size kept, or one too many */
    for (int i = 0; i < 2; i++) {
        fd = record_create(d->fd, NULL, &first, boot, 0, &seed);
        assert_int_equal(ftruncate(fd, i == 0 ? 17 : RECORD_SIZE), 0);
        close(fd);
        uint32_t n = pool.n = i == 0 ? 0 : RECORD_POOL_MAX;
        assert_int_equal(record_remove(d->fd, &pool, &first, boot), 0);
        assert_int_equal(pool.n, n);
        assert_int_equal(record_probe(d->fd, &first, boot, &r), 0);
        assert_int_equal(r.verdict, RECORD_ABSENT);
    }
    record_sweep(d->fd);
}

static void make_socket(const char *path)
{
    struct sockaddr_un sun = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true((size_t)snprintf(sun.sun_path, sizeof(sun.sun_path), "%s", path) <
                sizeof(sun.sun_path));
    assert_int_equal(bind(fd, (const struct sockaddr *)&sun, sizeof(sun)), 0);
    close(fd);
}

static void make_odd(const struct dir *d, const char *what, const char *name)
{
    char path[256];
    assert_true((size_t)snprintf(path, sizeof(path), "%s/%s", d->path, name) <
                sizeof(path));
    if (strcmp(what, "FIFO") == 0)
        assert_int_equal(mkfifo(path, 0600), 0);
    else if (strcmp(what, "directory") == 0)
        assert_int_equal(mkdir(path, 0700), 0);
    else if (strcmp(what, "link") == 0)
        assert_int_equal(symlink("generation", path), 0);
    else
        make_socket(path);
}

/* What stands in the place of a record is a damaged one, and goes like one; but nobody
 * empties a directory. */
static void test_no_file(void **state)
{
    struct dir *d = *state;
    const char *const odd[] = {"FIFO", "directory", "link", "socket"};
    struct record_started started;
    struct record r;
    uint32_t seed;
    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
        const struct job_key mine = {30, JOB_NO_INDEX, 1};
        bool stays = strcmp(odd[i], "directory") == 0;
        make_odd(d, odd[i], "30.1");
        assert_int_equal(record_probe(d->fd, &mine, boot, &r), 0);
        assert_int_equal(r.verdict, RECORD_DAMAGED);
        assert_int_equal(record_started(d->fd, &mine, boot, &started), 0);
        assert_int_equal(record_create(d->fd, NULL, &mine, boot, 0, &seed), -EEXIST);
        assert_int_equal(record_remove(d->fd, NULL, &mine, boot), 0);
        assert_int_equal(unlinkat(d->fd, "30.1", stays ? AT_REMOVEDIR : 0),
                         stays ? 0 : -1);
    }
}

static int count_one(const struct job_key *k, void *arg)
{
    (void)k;
    ++*(int *)arg;
    return 0;
}

static void test_scan_and_sweep(void **state)
{
    struct dir *d = *state;
    const char *const strangers[] = {".999999999.new", "17",     "17.0",   "x.1",
                                     "017.1",          ".x.new", ".0.new", ".999999999x"};
    const size_t all = sizeof(strangers) / sizeof(strangers[0]);
    char own[32], living[32];
    uint32_t seed;
    int n = 0;
    close(record_create(d->fd, NULL, &key, boot, 0, &seed));
    for (size_t i = 0; i < all; i++)
        close(openat(d->fd, strangers[i], O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    (void)snprintf(own, sizeof(own), ".%d.7", (int)getpid());
    (void)snprintf(living, sizeof(living), ".%d.new", (int)getppid());
    close(openat(d->fd, own, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    close(openat(d->fd, living, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    assert_int_equal(record_scan(d->fd, count_one, &n), 0);
    assert_int_equal(n, 1);
    record_sweep(d->fd);
    assert_int_equal(faccessat(d->fd, strangers[0], F_OK, 0), -1);
    assert_int_equal(faccessat(d->fd, own, F_OK, 0), -1);
    assert_int_equal(unlinkat(d->fd, living, 0),
                     0); /* an older keeper may be filling it */
    for (size_t i = 1; i < all; i++)
        assert_int_equal(unlinkat(d->fd, strangers[i], 0), 0);
}

/* A name of its own that is taken is no record, of which -EEXIST would tell. */
static void test_a_leftover_is_not_in_the_way(void **state)
{
    struct dir *d = *state;
    const struct job_key mine = {31, JOB_NO_INDEX, 1};
    struct record_pool pool = {0};
    char name[32];
    uint32_t seed;
    int fd = record_create(d->fd, &pool, &mine, boot, 0, &seed);
    close(fd);
    assert_int_equal(record_remove(d->fd, &pool, &mine, boot), 0);
    (void)snprintf(name, sizeof(name), ".%d.%u", (int)getpid(), pool.name[0] + 1);
    close(openat(d->fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    fd = record_create(d->fd, NULL, &mine, boot, 0, &seed);
    assert_true(fd >= 0);
    assert_int_equal(faccessat(d->fd, name, F_OK, 0), -1);
    close(fd);
    record_sweep(d->fd);
}

/* What never ran goes without a descriptor, and what is not there is no failure. */
static void test_discard(void **state)
{
    struct dir *d = *state;
    const struct job_key mine = {32, JOB_NO_INDEX, 1};
    struct rlimit before, none;
    uint32_t seed;
    close(record_create(d->fd, NULL, &mine, boot, 0, &seed));
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    int first = record_discard(d->fd, &mine), second = record_discard(d->fd, &mine);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(first, 0);
    assert_int_equal(second, 0);
    assert_int_equal(unlink_one(&mine, &d->fd), -1);
}

static void test_generation(void **state)
{
    struct dir *d = *state;
    uint8_t a[RECORD_ID_SIZE], b[RECORD_ID_SIZE];
    assert_int_equal(record_generation_read(d->fd, a), -ENOENT);
    assert_int_equal(record_generation_ensure(d->fd, a), 0);
    assert_int_equal(record_generation_ensure(d->fd, b), 0);
    assert_memory_equal(a, b, sizeof(a));
    int fd = openat(d->fd, "generation", O_WRONLY | O_TRUNC | O_CLOEXEC);
    assert_int_equal(write(fd, "0123\n", 5), 5);
    close(fd);
    assert_int_equal(record_generation_read(d->fd, b), -EBADMSG);
}

static void test_key_text(void **state)
{
    (void)state;
    char buf[JOB_KEY_TEXT_MAX];
    struct job_key k;
    const struct job_key largest = {UINT64_MAX, INT64_MAX, UINT32_MAX};
    assert_true(job_key_format(&largest, buf) < JOB_KEY_TEXT_MAX);
    assert_int_equal(job_key_parse(buf, &k), 0);
    assert_true(job_key_equal(&k, &largest));
    assert_int_equal(job_key_parse("17_3.2", &k), 0);
    assert_true(job_key_equal(&k, &key));
    assert_int_equal(job_key_parse("17", &k), 0);
    assert_true(k.id == 17 && k.index == JOB_NO_INDEX && k.attempt == 0);
    const char *const bad[] = {"",
                               "-1",
                               "+1",
                               "017",
                               "17_",
                               "17_.1",
                               "17.",
                               "17.1x",
                               "1 ",
                               "18446744073709551616",
                               "1_9223372036854775808",
                               "1.4294967296"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_true(job_key_parse(bad[i], &k) < 0);
}

/* A part whose checksum is right and whose content nobody writes. */
static void test_out_of_range(void **state)
{
    struct dir *d = *state;
    uint8_t buf[RECORD_SIZE];
    struct record r;
    struct record_header h;
    const struct record_exited bad[] = {
        {.end = 0},
        {.end = RECORD_END_EXEC_FAILED + 1},
        {.end = RECORD_END_EXIT, .status = -1},
        {.end = RECORD_END_EXIT, .status = 256},
        {.end = RECORD_END_SIGNAL, .status = 0},
        {.end = RECORD_END_SIGNAL, .status = 65},
        {.end = RECORD_END_EXEC_FAILED, .status = 0, .step = CHILD_STEP_EXEC},
        {.end = RECORD_END_EXEC_FAILED, .status = 2, .step = CHILD_STEP_NONE},
        {.end = RECORD_END_EXEC_FAILED, .status = 2, .step = CHILD_STEP_COUNT},
    };
    make_record(d, 2, buf);
    memcpy(&h, buf, sizeof(h));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct record_exited x = bad[i];
        x.real_usec = 1;
        x.crc = crc32c(h.crc + 2, &x, offsetof(struct record_exited, crc));
        memcpy(buf + RECORD_EXITED_AT, &x, sizeof(x));
        assert_int_equal(verdict(buf, sizeof(buf), &r), RECORD_DAMAGED);
    }
    for (int i = 0; i < 2; i++) {
        struct record_header other = h;
        *(i == 0 ? &other.magic : &other.version) += 1; /* no version of today */
        other.crc = crc32c(0, &other, offsetof(struct record_header, crc));
        memcpy(buf, &other, sizeof(other));
        assert_int_equal(verdict(buf, sizeof(buf), &r), RECORD_DAMAGED);
    }
}

static int stop_at_once(const struct job_key *k, void *arg)
{
    (void)k;
    return ++*(int *)arg;
}

static void test_scan_stops(void **state)
{
    struct dir *d = *state;
    uint32_t seed;
    int seen = 4;
    for (uint64_t id = 1; id <= 3; id++) {
        const struct job_key k = {id, JOB_NO_INDEX, 1};
        close(record_create(d->fd, NULL, &k, boot, 1, &seed));
    }
    assert_int_equal(record_scan(d->fd, stop_at_once, &seen), 5);
    assert_int_equal(record_scan(d->fd, unlink_one, &d->fd), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_crc_is_crc32c),
        cmocka_unit_test(test_verdicts),
        cmocka_unit_test(test_each_verdict),
        cmocka_unit_test(test_each_verdict_of_a_file),
        cmocka_unit_test(test_not_this_key),
        cmocka_unit_test(test_out_of_range),
        cmocka_unit_test(test_scan_stops),
        cmocka_unit_test(test_each_truncation),
        cmocka_unit_test(test_each_flipped_bit),
        cmocka_unit_test(test_each_byte_of_an_empty_slot),
        cmocka_unit_test(test_slot_of_another_record),
        cmocka_unit_test(test_lock_is_life),
        cmocka_unit_test(test_by_its_descriptor),
        cmocka_unit_test(test_started),
        cmocka_unit_test(test_pool),
        cmocka_unit_test(test_no_file),
        cmocka_unit_test(test_scan_and_sweep),
        cmocka_unit_test(test_a_leftover_is_not_in_the_way),
        cmocka_unit_test(test_discard),
        cmocka_unit_test(test_generation),
        cmocka_unit_test(test_key_text),
    };
    return cmocka_run_group_tests(tests, dir_setup, dir_teardown);
}
