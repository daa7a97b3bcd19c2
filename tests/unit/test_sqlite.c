/* The SQLite store: what is committed is loaded again, contents are kept once, a damaged
 * file is refused wherever the damage is, newer formats are refused, and a full or
 * failing disk loses nothing that was acknowledged. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>
#include <volt/volt.h>

#include "daemon/store/sqlite.h"
#include "daemon/store/sqlite_store.h"
#include "tests/support/scratch.h"

static char dir[SCRATCH_MAX];
static struct volt_runtime *rt;

static void path_of(const char *name, char path[PATH_MAX])
{
    (void)snprintf(path, PATH_MAX, "%s/%s", dir, name);
}

static int setup(void **state)
{
    (void)state;
    return scratch_make(dir);
}

static int teardown(void **state)
{
    (void)state;
    return scratch_remove(dir);
}

static int start(void **state)
{
    (void)state;
    return volt_runtime_new(&(struct volt_options){.workers = 1}, &rt);
}

static int stop(void **state)
{
    (void)state;
    volt_runtime_free(rt);
    return 0;
}

static int open_store(uint8_t boot, struct store **ret, struct volt_error *err)
{
    struct store_sqlite_options o = {.dir = dir, .boot_id = {boot}, .generation = {7}};

    return store_sqlite_open(&o, ret, err);
}

/* --- waiting for a commit ------------------------------------------------------- */

struct waiter {
    struct store_commit commit;
    int status;
};

static enum volt_poll waiter_poll(struct volt_cx *cx, void *state)
{
    struct waiter *w = state;

    if (store_commit_poll(cx, &w->commit) == VOLT_PENDING)
        return VOLT_PENDING;
    w->status = w->commit.status;
    return VOLT_READY;
}

static void waiter_drop(void *state)
{
    struct waiter *w = state;

    store_commit_fini(&w->commit);
}

static const struct volt_task_type waiter_type = {"waiter", sizeof(struct waiter),
                                                  waiter_poll, waiter_drop, NULL};

/* Appends and waits: the status of the commit, or of the append. */
static int keep(struct store *s, const struct store_fact *facts, size_t n)
{
    struct waiter *w = volt_task_new(rt, &waiter_type);
    struct volt_join join;
    int r = store_append(s, facts, n, &w->commit);

    if (r < 0) {
        w->commit = (struct store_commit){0};
        volt_task_discard(w);
        return r;
    }
    assert_int_equal(volt_task_spawn(w, &join), 0);
    assert_int_equal(volt_join_wait(&join), 0);
    r = ((struct waiter *)volt_join_state(&join))->status;
    volt_join_fini(&join);
    return r;
}

static struct job_spec *spec_new(const char *argument, const char *env)
{
    struct job_spec *s = job_spec_new();

    s->argv = calloc(3, sizeof(*s->argv));
    s->argv[0] = strdup("echo");
    s->argv[1] = strdup(argument);
    if (env) {
        s->env = calloc(2, sizeof(*s->env));
        s->env[0] = strdup(env);
    }
    return s;
}

static int keep_submit(struct store *s, uint64_t id, const char *argument,
                       const char *env)
{
    struct job_event ev = {.type = JOB_EV_SUBMIT, .at_usec = 1000 + id};
    struct store_fact fact = {.key = {.id = id, .index = JOB_NO_INDEX},
                              .event = &ev,
                              .spec = spec_new(argument, env),
                              .uid = 1,
                              .gid = 2};
    int r = keep(s, &fact, 1);

    job_spec_unref(fact.spec);
    return r;
}

static int keep_starting(struct store *s, uint64_t id)
{
    struct job_event ev = {.type = JOB_EV_STARTING, .at_usec = 5, .attempt = 1};
    struct store_fact fact = {.key = {.id = id, .index = JOB_NO_INDEX}, .event = &ev};

    return keep(s, &fact, 1);
}

static int keep_end_with(struct store *s, uint64_t id, int code, const char *out,
                         const char *err)
{
    struct job_event ev[2] = {{.type = JOB_EV_STARTED, .at_usec = 6, .pid = 3},
                              {.type = JOB_EV_EXITED,
                               .at_usec = 7,
                               .result = code ? JOB_RESULT_EXIT : JOB_RESULT_SUCCESS,
                               .code = code}};
    const struct store_piece output[STORE_STREAMS] = {{out, out ? strlen(out) : 0},
                                                      {err, err ? strlen(err) : 0}};
    struct store_fact facts[2] = {
        {.key = {.id = id, .index = JOB_NO_INDEX}, .event = &ev[0]},
        {.key = {.id = id, .index = JOB_NO_INDEX},
         .event = &ev[1],
         .last = true,
         .output = output}};

    return keep(s, facts, 2);
}

static int keep_end(struct store *s, uint64_t id, int code)
{
    return keep_end_with(s, id, code, NULL, NULL);
}

/* --- what a load finds ---------------------------------------------------------- */

struct found {
    char text[4096]; /* a word per fact */
};

static int note(void *arg, const struct store_fact *f)
{
    struct found *found = arg;
    size_t n = strlen(found->text);

    if (f->event->type == JOB_EV_SUBMIT)
        (void)snprintf(found->text + n, sizeof(found->text) - n, "%llu:%s:%s:%s%s ",
                       (unsigned long long)f->key.id, job_event_name(f->event->type),
                       f->spec->argv[1], f->spec->env ? f->spec->env[0] : "",
                       f->last ? ":last" : "");
    else
        (void)snprintf(found->text + n, sizeof(found->text) - n, "%llu_%lld:%s%s%d ",
                       (unsigned long long)f->key.id, (long long)f->key.index,
                       job_event_name(f->event->type), f->event->other_life ? "!" : "",
                       f->event->code);
    return 0;
}

/* Opens and loads: 0 and what was found, or the error. */
static int reload(uint8_t boot, struct found *found, struct volt_error *err)
{
    struct store *s;
    int r = open_store(boot, &s, err);

    memset(found, 0, sizeof(*found));
    if (r < 0)
        return r;
    r = store_load(s, note, found, err);
    store_free(s);
    return r;
}

static struct store *fresh(void)
{
    struct volt_error err = {{0}};
    struct store *s = NULL;

    if (open_store(1, &s, &err) < 0)
        fail_msg("%s", err.text);
    if (store_load(s, note, &(struct found){{0}}, &err) < 0)
        fail_msg("%s", err.text);
    return s;
}

static const char expected[] = "1:submit:a:E=1:last 1_-1:starting0 1_-1:started0 "
                               "1_-1:exited3 2:submit:b:E=1 2_-1:starting0 3:submit:c: ";

static void fill(struct store *s)
{
    assert_int_equal(keep_submit(s, 1, "a", "E=1"), 0);
    assert_int_equal(keep_submit(s, 2, "b", "E=1"), 0);
    assert_int_equal(keep_submit(s, 3, "c", NULL), 0);
    assert_int_equal(keep_starting(s, 1), 0);
    assert_int_equal(keep_starting(s, 2), 0);
    assert_int_equal(keep_end(s, 1, 3), 0);
}

static void what_was_committed_is_loaded(void **state)
{
    struct store *s = fresh();
    struct volt_error err = {{0}};
    struct found found;

    (void)state;
    assert_true(store_durable(s));
    fill(s);
    assert_int_equal(keep(s, NULL, 0), 0); /* a barrier */
    store_free(s);
    assert_int_equal(reload(1, &found, &err), 0);
    assert_string_equal(found.text, expected);
}

static void a_copy_of_the_files_at_any_moment_has_what_was_committed(void **state)
{
    char command[PATH_MAX * 2];
    struct store *s = fresh();
    struct volt_error err = {{0}};
    struct found found;

    (void)state;
    fill(s);
    (void)snprintf(command, sizeof(command), "mkdir %s.copy && cp %s/jobs.* %s.copy", dir,
                   dir, dir);
    assert_int_equal(system(command), 0); /* as after kill -9 */
    store_free(s);
    (void)snprintf(command, sizeof(command),
                   "rm %s/* && mv %s.copy/* %s && rmdir %s.copy", dir, dir, dir, dir);
    assert_int_equal(system(command), 0);
    assert_int_equal(reload(1, &found, &err), 0);
    assert_string_equal(found.text, expected);
}

static void another_boot_is_another_life(void **state)
{
    struct store *s = fresh();
    struct volt_error err = {{0}};
    struct found found;

    (void)state;
    fill(s);
    store_free(s);
    assert_int_equal(reload(2, &found, &err), 0);
    assert_non_null(strstr(found.text, "2_-1:starting!0"));
    assert_int_equal(reload(2, &found, &err), 0); /* and stays one */
    assert_non_null(strstr(found.text, "2_-1:starting!0"));
}

static int64_t query(const char *sql)
{
    char path[PATH_MAX];
    sqlite3 *db;
    sqlite3_stmt *st;

    path_of("jobs.1.db", path);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &st, NULL), SQLITE_OK);
    int rc = sqlite3_step(st);
    int64_t v = rc == SQLITE_ROW ? sqlite3_column_int64(st, 0) : 0;
    assert_true(rc == SQLITE_ROW || rc == SQLITE_DONE);
    sqlite3_finalize(st);
    sqlite3_close(db);
    return v;
}

static void equal_contents_are_kept_once(void **state)
{
    struct store *s = fresh();
    char text[600];

    (void)state;
    memset(text, 'y', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    assert_int_equal(keep_submit(s, 1, text, "E=1"), 0);
    assert_int_equal(keep_submit(s, 2, text, "E=1"), 0);
    assert_int_equal(keep_submit(s, 3, text, "E=2"), 0);
    store_free(s);
    assert_int_equal(query("SELECT count(*) FROM content"), 3);
    s = fresh(); /* also by one that found them there */
    assert_int_equal(keep_submit(s, 4, text, "E=2"), 0);
    store_free(s);
    assert_int_equal(query("SELECT count(*) FROM content"), 3);
}

static void what_has_ended_goes_when_it_is_too_much(void **state)
{
    struct store *s = fresh();
    struct volt_error err = {{0}};
    struct found found;
    char env[16];

    (void)state;
    store_retain(s, &(struct store_retention){.jobs = 10, .usec = UINT64_MAX});
    assert_int_equal(keep_submit(s, 1, "stays", "E=1"), 0); /* it has not ended */
    for (uint64_t id = 2; id < 602; id++) {
        (void)snprintf(env, sizeof(env), "E=%d", (int)id);
        assert_int_equal(keep_submit(s, id, "x", env), 0);
        assert_int_equal(keep_starting(s, id), 0);
        if (id % 50) /* some between the others stay, too */
            assert_int_equal(keep_end(s, id, 0), 0);
    }
    store_free(s);
    int64_t ended = query("SELECT count(*) FROM ended");
    assert_in_range(ended, 10, 10 + 2 * 256);
    assert_int_equal(query("SELECT count(*) FROM job"), ended + 1 + 12);
    assert_int_equal(query("SELECT count(*) FROM event"), ended * 2 + 12);
    assert_int_equal(query("SELECT count(*) FROM content"), ended + 1 + 12);
    assert_int_equal(query("SELECT max(id) FROM job"), 601);
    assert_int_equal(reload(1, &found, &err), 0);
}

static void the_last_id_is_remembered(void **state)
{
    const struct store_fact forget = {.key = {.id = 70, .index = JOB_NO_INDEX},
                                      .forget = true};
    struct store *s = fresh();

    (void)state;
    assert_int_equal(keep_submit(s, 70, "x", NULL), 0);
    assert_int_equal(keep_starting(s, 70), 0);
    assert_int_equal(keep_end(s, 70, 0), 0);
    assert_int_equal(keep(s, &forget, 1), 0);
    for (int life = 0; life < 2; life++) {
        store_free(s);
        s = fresh();
        assert_int_equal(store_has(s, 70), 0);
        assert_int_equal(store_last_id(s), 70);
        assert_int_equal(keep_submit(s, 68U - (unsigned)life, "x", NULL), 0);
    }
    store_free(s);
}

/* --- output --------------------------------------------------------------------- */

/* The output of a job: text, or "-" for none, "!" for damage. */
static const char *output_of(struct store *s, uint64_t id, unsigned stream)
{
    static char text[8192];
    struct job_key key = {.id = id, .index = JOB_NO_INDEX};
    void *bytes;
    size_t n;
    int r = store_output(s, &key, stream, &bytes, &n);

    if (r < 0)
        return r == -ENODATA ? "-" : r == -EBADMSG ? "!" : strerror(-r);
    assert_true(n < sizeof(text));
    memcpy(text, bytes, n);
    text[n] = '\0';
    free(bytes);
    return text;
}

static void output_is_kept_with_the_end(void **state)
{
    struct store *s = fresh();
    char large[5000];

    (void)state;
    memset(large, 'o', sizeof(large) - 1);
    large[sizeof(large) - 1] = '\0';
    fill(s); /* job 1 has ended and printed nothing */
    assert_true(store_keeps_output(s));
    assert_string_equal(output_of(s, 1, 0), "-");
    assert_int_equal(keep_end_with(s, 2, 0, "out\n", "err\n"), 0);
    assert_int_equal(keep_starting(s, 3), 0);
    assert_int_equal(keep_end_with(s, 3, 1, NULL, large), 0);
    for (int life = 0; life < 2; life++) {
        assert_string_equal(output_of(s, 2, 0), "out\n");
        assert_string_equal(output_of(s, 2, 1), "err\n");
        assert_string_equal(output_of(s, 3, 0), "-");
        assert_string_equal(output_of(s, 3, 1), large);
        assert_int_equal(store_has(s, 3), 1);
        assert_int_equal(store_has(s, 4), 0);
        store_free(s);
        s = life ? NULL : fresh();
    }
}

static void write_nothing(void *arg, const char *text)
{
    char *found = arg;

    (void)snprintf(found + strlen(found), 1000 - strlen(found), "%s\n", text);
}

static void damaged_output_is_named_and_not_handed_out(void **state)
{
    struct store *s = fresh();
    char found[1000] = "";

    (void)state;
    fill(s);
    assert_int_equal(keep_end_with(s, 2, 0, "out\n", "err\n"), 0);
    store_free(s);
    assert_int_equal(store_sqlite_check(dir, write_nothing, found), 0);
    query("UPDATE output SET body=replace(body,'out','oux') WHERE stream=0");
    s = fresh(); /* the rest is sound */
    assert_string_equal(output_of(s, 2, 0), "!");
    assert_string_equal(output_of(s, 2, 1), "err\n");
    store_free(s);
    assert_true(store_sqlite_check(dir, write_nothing, found) > 0);
    assert_non_null(strstr(found, "job 2: element -1: output 0: checksum"));
    query("DELETE FROM output WHERE stream=0");
    found[0] = '\0';
    assert_true(store_sqlite_check(dir, write_nothing, found) > 0);
    assert_non_null(strstr(found, "table output: 1 rows instead of 2"));
}

static uint64_t gone[700];
static unsigned ngone;

static void note_gone(void *arg, uint64_t id)
{
    assert_ptr_equal(arg, gone);
    gone[ngone++] = id;
}

static void output_goes_with_its_job(void **state)
{
    struct store *s = fresh();

    (void)state;
    ngone = 0;
    store_retain(
        s, &(struct store_retention){
               .jobs = 10, .usec = UINT64_MAX, .gone = note_gone, .gone_arg = gone});
    for (uint64_t id = 1; id < 601; id++) {
        assert_int_equal(keep_submit(s, id, "x", "E=1"), 0);
        assert_int_equal(keep_starting(s, id), 0);
        assert_int_equal(keep_end_with(s, id, 0, "text", "text"), 0);
    }
    store_free(s);
    assert_true(ngone > 0);
    for (unsigned i = 0; i < ngone; i++)
        assert_int_equal(gone[i], i + 1);
    assert_int_equal(query("SELECT count(*) FROM output"), 2 * (600 - ngone));
    assert_int_equal(query("SELECT min(job) FROM output"), ngone + 1);
    assert_int_equal(store_sqlite_check(dir, write_nothing, (char[1000]){""}), 0);
}

static void a_newer_format_is_refused(void **state)
{
    struct volt_error err = {{0}};
    struct found found;

    (void)state;
    store_free(fresh());
    query("PRAGMA user_version=99");
    assert_int_equal(reload(1, &found, &err), -EPROTO);
    assert_non_null(strstr(err.text, "newer voltd"));
}

static void fail_on_finding(void *arg, const char *text)
{
    (void)arg;
    fail_msg("%s", text);
}

/* The file as the first format had it: no table of outputs, no numbers in jobs and ends,
 * nor under their checksums; the sums end earlier. */
static void make_first_format(void)
{
    struct pack sums = {0}, body = {0};
    struct volt_error err = {{0}};
    struct row_sums want;
    struct db db;
    char path[PATH_MAX];

    path_of("jobs.1.db", path);
    assert_int_equal(db_open(&db, path, false, &err), 0);
    assert_int_equal(db_meta_get(&db, "sums", &sums), 0);
    assert_true(row_sums_unpack(&want, sums.bytes, sums.n));
    want.job = want.ended = (struct row_sum){0};
    sqlite3_stmt *get, *put;
    assert_int_equal(
        sqlite3_prepare_v2(db.handle, "SELECT id,body FROM job", -1, &get, NULL),
        SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db.handle, "UPDATE job SET body=?1 WHERE id=?2",
                                        -1, &put, NULL),
                     SQLITE_OK);
    while (sqlite3_step(get) == SQLITE_ROW) {
        const struct row_key key = {.table = ROW_JOB, .a = sqlite3_column_int64(get, 0)};

        pack_clear(&body);
        pack_raw(&body, sqlite3_column_blob(get, 1),
                 (size_t)sqlite3_column_bytes(get, 1) - 4);
        row_seal(&body, 0, &key);
        row_sum_add(&want.job, row_digest(body.bytes, body.n, &key));
        (void)sqlite3_bind_blob(put, 1, body.bytes, (int)body.n, SQLITE_STATIC);
        (void)sqlite3_bind_int64(put, 2, key.a);
        assert_int_equal(db_run(put), SQLITE_OK);
    }
    (void)sqlite3_finalize(get);
    (void)sqlite3_finalize(put);
    assert_int_equal(
        sqlite3_prepare_v2(db.handle, "SELECT id,at FROM ended", -1, &get, NULL),
        SQLITE_OK);
    while (sqlite3_step(get) == SQLITE_ROW)
        row_sum_add(&want.ended,
                    row_digest(NULL, 0,
                               &(struct row_key){.table = ROW_ENDED,
                                                 .a = sqlite3_column_int64(get, 0),
                                                 .b = sqlite3_column_int64(get, 1)}));
    (void)sqlite3_finalize(get);
    pack_clear(&sums);
    want.first = want.last_id = 0;
    row_sums_pack(&want, &sums);
    sums.n -= 4; /* zeros: the sum of outputs, the number before the first, the last id */
    assert_int_equal(db_meta_put(&db, "sums", &sums), SQLITE_OK);
    db_close(&db);
    pack_fini(&sums);
    pack_fini(&body);
    query("DROP TABLE output");
    query("ALTER TABLE job DROP COLUMN seq");
    query("ALTER TABLE ended DROP COLUMN seq");
    query("PRAGMA user_version=1");
}

static void an_older_format_is_brought_up(void **state)
{
    struct volt_error err = {{0}};
    struct store *s = fresh();
    struct found found;

    (void)state;
    fill(s);
    store_free(s);
    make_first_format();
    assert_int_equal(store_sqlite_check(dir, fail_on_finding, NULL), 0);
    assert_int_equal(query("PRAGMA user_version"), 1); /* a check changes nothing */
    assert_int_equal(reload(1, &found, &err), 0);
    assert_string_equal(found.text, expected);
    assert_int_equal(query("PRAGMA user_version"), DB_VERSION);
    s = fresh();
    assert_int_equal(store_last_id(s), 3);
    assert_int_equal(keep_submit(s, 4, "d", NULL), 0);
    assert_int_equal(keep_end_with(s, 2, 0, "out\n", NULL), 0);
    store_free(s);
    assert_int_equal(reload(1, &found, &err), 0);
    assert_non_null(strstr(found.text, "4:submit:d: "));
    assert_int_equal(store_sqlite_check(dir, fail_on_finding, NULL), 0);
}

/* --- a disk that refuses ---------------------------------------------------------------
 *
 * A VFS in front of SQLite's own, whose writes and syncs fail when they are told to. */

static sqlite3_vfs shim, *real_vfs;

/* Kinds of files have methods of their own. */
static struct methods {
    const sqlite3_io_methods *real;
    sqlite3_io_methods shim;
} methods[4];
static pthread_mutex_t shim_lock = PTHREAD_MUTEX_INITIALIZER;
static bool writes_fail;
static int syncs_to_fail;

static void set_faults(bool writes, int syncs)
{
    pthread_mutex_lock(&shim_lock);
    writes_fail = writes;
    syncs_to_fail = syncs;
    pthread_mutex_unlock(&shim_lock);
}

/* A file's own methods. */
static const sqlite3_io_methods *real_of(const sqlite3_file *f)
{
    size_t i = 0;

    while (f->pMethods != &methods[i].shim)
        i++;
    return methods[i].real;
}

static int shim_write(sqlite3_file *f, const void *p, int n, sqlite3_int64 at)
{
    pthread_mutex_lock(&shim_lock);
    bool fails = writes_fail;
    pthread_mutex_unlock(&shim_lock);
    return fails ? SQLITE_FULL : real_of(f)->xWrite(f, p, n, at);
}

static int shim_sync(sqlite3_file *f, int flags)
{
    pthread_mutex_lock(&shim_lock);
    bool fails = syncs_to_fail > 0 && syncs_to_fail--;
    pthread_mutex_unlock(&shim_lock);
    return fails ? SQLITE_IOERR_FSYNC : real_of(f)->xSync(f, flags);
}

static int shim_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *f, int flags,
                     int *ret_flags)
{
    int rc = real_vfs->xOpen(vfs, name, f, flags, ret_flags);

    pthread_mutex_lock(&shim_lock);
    for (size_t i = 0; rc == SQLITE_OK && i < 4; i++) {
        struct methods *m = &methods[i];

        if (!m->real) {
            m->real = f->pMethods;
            m->shim = *m->real;
            m->shim.xWrite = shim_write;
            m->shim.xSync = shim_sync;
        }
        if (m->real == f->pMethods) {
            f->pMethods = &m->shim;
            break;
        }
    }
    pthread_mutex_unlock(&shim_lock);
    return rc;
}

static void put_shim(void)
{
    real_vfs = sqlite3_vfs_find(NULL);
    shim = *real_vfs;
    shim.zName = "shim";
    shim.xOpen = shim_open;
    assert_int_equal(sqlite3_vfs_register(&shim, 1), SQLITE_OK);
}

static void take_shim(void)
{
    assert_int_equal(sqlite3_vfs_register(real_vfs, 1), SQLITE_OK);
    assert_int_equal(sqlite3_vfs_unregister(&shim), SQLITE_OK);
    memset(methods, 0, sizeof(methods));
}

/* Ends the fault when the store has felt it. */
static void *room_later(void *store)
{
    struct store_health h;

    do {
        (void)usleep(1000);
        store_health(store, &h);
    } while (!h.full);
    set_faults(false, 0);
    return NULL;
}

static void a_full_disk_refuses_submissions_and_keeps_the_rest(void **state)
{
    struct volt_error err = {{0}};
    struct store_health h;
    struct found found;
    pthread_t thread;

    (void)state;
    put_shim();
    struct store *s = fresh();
    assert_int_equal(keep_submit(s, 1, "a", "E=1"), 0);
    assert_int_equal(keep_submit(s, 2, "b", "E=1"), 0);
    assert_int_equal(keep_submit(s, 3, "c", NULL), 0);
    assert_int_equal(keep_starting(s, 1), 0);
    set_faults(true, 0);
    assert_int_equal(keep_submit(s, 4, "never", "E=4"), -ENOSPC);
    store_health(s, &h);
    assert_true(h.full);
    pthread_create(&thread, NULL, room_later, s);
    assert_int_equal(keep_starting(s, 2), 0); /* waited for the room */
    assert_int_equal(keep_end(s, 1, 3), 0);
    pthread_join(thread, NULL);
    for (store_health(s, &h); h.full; store_health(s, &h)) /* the reserve is back */
        (void)usleep(1000);
    assert_int_equal(keep_submit(s, 5, "later", "E=4"), 0);
    store_free(s);
    take_shim();
    assert_int_equal(reload(1, &found, &err), 0);
    assert_null(strstr(found.text, "never"));
    assert_non_null(strstr(found.text, "5:submit:later:E=4"));
    assert_memory_equal(found.text, expected, strlen(expected) - 1);
}

static void a_failed_sync_is_answered_by_a_full_copy(void **state)
{
    struct volt_error err = {{0}};
    struct found found;
    char path[PATH_MAX];

    (void)state;
    put_shim();
    struct store *s = fresh();
    assert_int_equal(keep_submit(s, 1, "a", "E=1"), 0);
    assert_int_equal(keep_submit(s, 2, "b", "E=1"), 0);
    assert_int_equal(keep_starting(s, 1), 0);
    set_faults(false, 1);
    assert_int_equal(keep_submit(s, 3, "c", NULL), 0); /* acknowledged by the copy */
    path_of("jobs.1.db", path);
    assert_int_equal(access(path, F_OK), -1);
    path_of("jobs.2.db", path);
    assert_int_equal(access(path, F_OK), 0);
    assert_int_equal(keep_starting(s, 2), 0);
    set_faults(false, 3); /* also the copy fails, twice */
    assert_int_equal(keep_end(s, 1, 3), 0);
    store_free(s);
    take_shim();
    assert_int_equal(reload(1, &found, &err), 0);
    assert_string_equal(found.text, expected);
}

/* --- damage --------------------------------------------------------------------- */

static size_t read_file(const char *name, uint8_t **ret)
{
    char path[PATH_MAX];
    struct stat st;

    path_of(name, path);
    int fd = open(path, O_RDONLY);
    assert_true(fd >= 0 && fstat(fd, &st) == 0);
    *ret = malloc((size_t)st.st_size + 1);
    assert_int_equal(read(fd, *ret, (size_t)st.st_size), st.st_size);
    close(fd);
    return (size_t)st.st_size;
}

static void write_file(const char *name, const uint8_t *bytes, size_t n)
{
    char path[PATH_MAX];

    path_of(name, path);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, n), n);
    close(fd);
}

static void remove_others(void)
{
    char path[PATH_MAX];

    path_of("jobs.1.db-wal", path);
    (void)unlink(path);
    path_of("jobs.1.db-shm", path);
    (void)unlink(path);
}

/* Refused, or exactly what was there. */
static void never_silently_wrong(size_t at)
{
    struct volt_error err = {{0}};
    struct found found;
    int r = reload(1, &found, &err);

    if (r == 0 && strcmp(found.text, expected) != 0)
        fail_msg("damage at %zu: accepted as %s", at, found.text);
    if (r < 0 && !err.text[0])
        fail_msg("damage at %zu: refused without a word", at);
}

static void no_flipped_byte_is_silently_wrong(void **state)
{
    struct store *s = fresh();
    uint8_t *bytes;

    (void)state;
    fill(s);
    store_free(s);
    size_t n = read_file("jobs.1.db", &bytes);
    for (size_t i = 0; i < n; i += 29) { /* all of them: tests/damage */
        bytes[i] ^= 0xff;
        remove_others();
        write_file("jobs.1.db", bytes, n);
        never_silently_wrong(i);
        bytes[i] ^= 0xff;
    }
    for (size_t i = 0; i < n; i += 211) {
        remove_others();
        write_file("jobs.1.db", bytes, i);
        never_silently_wrong(i);
    }
    remove_others();
    write_file("jobs.1.db", bytes, n);
    free(bytes);
}

/* A row that somebody deletes leaves a file that is perfectly sound to SQLite. */
static void a_missing_row_is_damage(void **state)
{
    static const char *const statements[] = {
        "DELETE FROM job WHERE id=3", "DELETE FROM event WHERE job=2",
        "DELETE FROM ended", "DELETE FROM content", "DELETE FROM meta WHERE name='sums'"};
    struct store *s = fresh();
    struct volt_error err = {{0}};
    struct found found;
    uint8_t *bytes;

    (void)state;
    fill(s);
    store_free(s);
    size_t n = read_file("jobs.1.db", &bytes);
    for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]); i++) {
        query(statements[i]);
        assert_int_equal(reload(1, &found, &err), -EBADMSG);
        remove_others();
        write_file("jobs.1.db", bytes, n);
    }
    assert_int_equal(reload(1, &found, &err), 0);
    free(bytes);
}

/* In the journal, where SQLite itself would take it for the end. */
static void damage_inside_the_journal_is_seen(void **state)
{
    struct store *s = fresh();
    struct volt_error err = {{0}};
    struct found found;
    uint8_t *bytes, *wal;

    (void)state;
    fill(s);
    size_t n = read_file("jobs.1.db", &bytes), wal_n = read_file("jobs.1.db-wal", &wal);
    store_free(s);
    assert_true(wal_n > 8 * 4120);
    for (size_t i = 0; i < 6; i++) {
        size_t at = 32 + i * 4120 + 100;

        wal[at] ^= 1;
        remove_others();
        write_file("jobs.1.db", bytes, n);
        write_file("jobs.1.db-wal", wal, wal_n);
        assert_int_equal(reload(1, &found, &err), -EBADMSG);
        assert_non_null(strstr(err.text, "journal"));
        wal[at] ^= 1;
    }
    remove_others();
    write_file("jobs.1.db", bytes, n);
    write_file("jobs.1.db-wal", wal, wal_n);
    assert_int_equal(reload(1, &found, &err), 0);
    assert_string_equal(found.text, expected);
    free(bytes);
    free(wal);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(what_was_committed_is_loaded),
        T(a_copy_of_the_files_at_any_moment_has_what_was_committed),
        T(another_boot_is_another_life),
        T(equal_contents_are_kept_once),
        T(what_has_ended_goes_when_it_is_too_much),
        T(the_last_id_is_remembered),
        T(output_is_kept_with_the_end),
        T(damaged_output_is_named_and_not_handed_out),
        T(output_goes_with_its_job),
        T(an_older_format_is_brought_up),
        T(a_newer_format_is_refused),
        T(a_full_disk_refuses_submissions_and_keeps_the_rest),
        T(a_failed_sync_is_answered_by_a_full_copy),
        T(no_flipped_byte_is_silently_wrong),
        T(a_missing_row_is_damage),
        T(damage_inside_the_journal_is_seen),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
