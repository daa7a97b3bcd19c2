/* Each allocation and each system call of a SQLite store fails once, those of SQLite as well:
 * while it is opened, loaded, written, and closed. What was acknowledged is found by the next
 * one, whole; what was refused may be; nothing is taken for damage. */
#include "tests/support/call_hook.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include <sqlite3.h>

#include "tests/support/stored.h"

/* --- of SQLite ---------------------------------------------------------------------------- */

/* Of its allocations, some thousands, one in so many counts: others with each SEED. */
#define ONE_IN 16
static sqlite3_mem_methods real_memory;
static vat_u64 allocations; /* of SQLite since the store was opened */

static uint64_t seed(void)
{
    const char *text = getenv("SEED");

    return text ? strtoull(text, NULL, 10) : 0;
}

static bool allocation_fails(void)
{
    return (vat_u64_add(&allocations, 1, VAT_RLX) + seed()) % ONE_IN == 0 && hook_fails();
}

static void *shim_malloc(int n)
{
    return allocation_fails() ? NULL : real_memory.xMalloc(n);
}

static void *shim_realloc(void *old, int n)
{
    return allocation_fails() ? NULL : real_memory.xRealloc(old, n);
}

static int (*real_open)(const char *path, int flags, int mode);
static int (*real_fstat)(int fd, struct stat *st);
static int (*real_ftruncate)(int fd, off_t size);
static ssize_t (*real_pread)(int fd, void *to, size_t n, off_t at);
static ssize_t (*real_pwrite)(int fd, const void *from, size_t n, off_t at);
static int (*real_unlink)(const char *path);

static int shim_open(const char *path, int flags, int mode)
{
    return hook_call_fails(EMFILE, false) ? -1 : real_open(path, flags, mode);
}

static int shim_fstat(int fd, struct stat *st)
{
    return hook_call_fails(EIO, false) ? -1 : real_fstat(fd, st);
}

static int shim_ftruncate(int fd, off_t size)
{
    return hook_call_fails(EIO, false) ? -1 : real_ftruncate(fd, size);
}

/* Not EIO, which SQLite takes for damage of the file system. */
static ssize_t shim_pread(int fd, void *to, size_t n, off_t at)
{
    return hook_call_fails(ENOMEM, false) ? -1 : real_pread(fd, to, n, at);
}

static ssize_t shim_pwrite(int fd, const void *from, size_t n, off_t at)
{
    return hook_call_fails(ENOSPC, false) ? -1 : real_pwrite(fd, from, n, at);
}

static int shim_unlink(const char *path)
{
    return hook_call_fails(EIO, false) ? -1 : real_unlink(path);
}

static void begin_sqlite(void)
{
    static sqlite3_mem_methods shim;

    assert_int_equal(sqlite3_config(SQLITE_CONFIG_GETMALLOC, &real_memory), SQLITE_OK);
    shim = real_memory;
    shim.xMalloc = shim_malloc;
    shim.xRealloc = shim_realloc;
    assert_int_equal(sqlite3_config(SQLITE_CONFIG_MALLOC, &shim), SQLITE_OK);
    sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
#define PUT(name, real, shim)                                                            \
    do {                                                                                 \
        sqlite3_syscall_ptr was = vfs->xGetSystemCall(vfs, name);                        \
        if (was) {                                                                       \
            memcpy(&(real), &was, sizeof(was));                                          \
            assert_int_equal(                                                            \
                vfs->xSetSystemCall(vfs, name, (sqlite3_syscall_ptr)(shim)), SQLITE_OK); \
        }                                                                                \
    } while (0)
    PUT("open", real_open, shim_open);
    PUT("fstat", real_fstat, shim_fstat);
    PUT("ftruncate", real_ftruncate, shim_ftruncate);
    PUT("pread64", real_pread, shim_pread);
    PUT("pwrite64", real_pwrite, shim_pwrite);
    PUT("unlink", real_unlink, shim_unlink);
}

/* --- a store, the calls of which are counted ---------------------------------------------- */

static const struct store_log_ops *real_log;
static const struct store_reader_ops *real_reader;
static const struct store_retention_ops *real_retention;

static int append(struct store *s, const struct store_fact *facts, size_t n,
                  struct store_commit *commit)
{
    hook_spares = false;
    int r = real_log->append(s, facts, n, commit);
    hook_spares = true;
    return r;
}

static int load(struct store *s, store_load_fn *fn, void *arg, struct volt_error *err)
{
    hook_spares = false;
    int r = real_reader->load(s, fn, arg, err);
    hook_spares = true;
    return r;
}

static int forget(struct store *s, const uint64_t *ids, size_t n,
                  struct store_commit *commit)
{
    hook_spares = false;
    int r = real_retention->forget(s, ids, n, commit);
    hook_spares = true;
    return r;
}

/* Of this thread, which is spared, these calls count. */
static void put_in_between(struct store *s)
{
    static struct store_log_ops log;
    static struct store_reader_ops reader;
    static struct store_retention_ops retention;

    log = *(real_log = s->log);
    log.append = append;
    s->log = &log;
    reader = *(real_reader = s->reader);
    reader.load = load;
    s->reader = &reader;
    retention = *(real_retention = s->retention);
    retention.forget = forget;
    s->retention = &retention;
}

static int ignore(void *arg, const struct store_loaded *loaded)
{
    (void)arg;
    (void)loaded;
    return 0;
}

/* NULL: it cannot be opened, or not be loaded. */
static struct store *open_counted(void)
{
    struct volt_error err = {""};
    struct store *s;

    hook_spares = false;
    int r = stored_open(1, &s, &err);
    hook_spares = true;
    if (r == 0) {
        put_in_between(s);
        r = store_load(s, ignore, NULL, &err);
        if (r < 0)
            store_free(s);
    }
    if (r == -EBADMSG)
        fail_msg("%d: %s", r, err.text);
    return r < 0 ? NULL : s;
}

static bool is_error_of_the_moment(int r)
{
    return r == -ENOMEM || r == -EIO || r == -ENOSPC || r == -EMFILE;
}

/* What was acknowledged. */
struct acknowledged {
    bool submitted, started, ended, forgotten;
};

/* Job 4 is submitted, starts, and ends; job 1, which has ended, is forgotten. */
static struct acknowledged write_some(struct store *s)
{
    struct acknowledged a = {false};
    int r = stored_submit(s, 4, "d", "E=2");

    assert_true(r == 0 || is_error_of_the_moment(r));
    a.submitted = r == 0;
    if (a.submitted) {
        r = stored_starting(s, 4);
        assert_true(r == 0 || is_error_of_the_moment(r));
        a.started = r == 0;
    }
    if (a.started) {
        r = stored_end_with(s, 4, 7, "printed", NULL);
        assert_true(r == 0 || is_error_of_the_moment(r));
        a.ended = r == 0;
    }
    r = stored_forget(s, 1);
    assert_true(r == 0 || is_error_of_the_moment(r));
    a.forgotten = r == 0;
    return a;
}

static void must_have(const struct found *found, const char *part, bool must, uint64_t n)
{
    if (must && !strstr(found->text, part))
        fail_msg("call %lu: no %s in %s", (unsigned long)n, part, found->text);
}

static void check(const struct acknowledged *a, uint64_t n)
{
    struct volt_error err = {""};
    struct found found;

    if (stored_reload(1, &found, &err) < 0)
        fail_msg("SEED=%lu: call %lu: %s", (unsigned long)seed(), (unsigned long)n,
                 err.text);
    must_have(&found, "2:submit:b:E=1 2_-1:starting0 3:submit:c: ", true, n);
    must_have(&found, "4:submit:d:E=2", a->submitted, n);
    must_have(&found, "4_-1:starting0", a->started, n);
    must_have(&found, "4_-1:exited7", a->ended, n);
    must_have(&found, "1:submit:a:E=1", !a->forgotten, n);
    if (a->forgotten && strstr(found.text, "1:submit"))
        fail_msg("call %lu: job 1 is not forgotten: %s", (unsigned long)n, found.text);
    if (a->ended) {
        const struct job_key key = {.id = 4, .index = JOB_NO_INDEX};
        struct store *s = stored_fresh();
        void *bytes;
        size_t size;

        assert_int_equal(store_output(s, &key, 0, &bytes, &size), 0);
        assert_int_equal(size, 7);
        assert_memory_equal(bytes, "printed", size);
        free(bytes);
        store_free(s);
    }
}

static unsigned descriptors(void)
{
    unsigned n = 0;

    for (int fd = 0; fd < 256; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

/* A store with three jobs; then call n fails. Returns how many calls there were. */
static uint64_t live(uint64_t n)
{
    struct acknowledged a = {false};
    const unsigned usual = descriptors();

    assert_int_equal(stored_setup(NULL), 0);
    struct store *s = stored_fresh();
    stored_fill(s);
    store_free(s);
    vat_u64_store(&allocations, 0, VAT_RLX);
    hook_arm(n, false);
    s = open_counted();
    if (s) {
        a = write_some(s);
        hook_spares = false;
        store_free(s);
        hook_spares = true;
    }
    uint64_t calls = hook_count();
    hook_arm(0, false);
    check(&a, n);
    assert_int_equal(descriptors(), usual);
    assert_int_equal(stored_teardown(NULL), 0);
    return calls;
}

static void whatever_fails_nothing_acknowledged_is_lost(void **state)
{
    uint64_t n;

    (void)state;
    hook_spares = true;
    for (n = 1; live(n) >= n; n++)
        ;
    assert_true(n > 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whatever_fails_nothing_acknowledged_is_lost),
    };

    begin_sqlite();
    return cmocka_run_group_tests(tests, stored_start, stored_stop);
}
