/* See stored.h. */
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include <sqlite3.h>
#include <volt/volt.h>

#include "daemon/job/env.h"
#include "tests/support/facts.h"
#include "tests/support/stored.h"

char stored_dir[SCRATCH_MAX];
uid_t stored_owner = 1;
static struct volt_runtime *rt;

void stored_path(const char *name, char path[PATH_MAX])
{
    (void)snprintf(path, PATH_MAX, "%s/%s", stored_dir, name);
}

int stored_setup(void **state)
{
    (void)state;
    return scratch_make(stored_dir);
}

int stored_teardown(void **state)
{
    (void)state;
    return scratch_remove(stored_dir);
}

int stored_start(void **state)
{
    (void)state;
    return volt_runtime_new(&(struct volt_options){.workers = 1}, &rt);
}

int stored_stop(void **state)
{
    (void)state;
    volt_runtime_free(rt);
    return 0;
}

int stored_open(uint8_t boot, struct store **ret, struct volt_error *err)
{
    struct store_sqlite_options o = {
        .dir = stored_dir, .boot_id = {boot}, .generation = {7}};

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

/* r: of the append. Its status, or that of the commit. */
static int wait_for(struct waiter *w, int r)
{
    struct volt_join join;

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

int stored_keep(struct store *s, const struct store_fact *facts, size_t n)
{
    struct waiter *w = volt_task_new(rt, &waiter_type);

    return wait_for(w, store_append(s, facts, n, &w->commit));
}

int stored_forget(struct store *s, uint64_t id)
{
    struct waiter *w = volt_task_new(rt, &waiter_type);

    return wait_for(w, store_forget(s, &id, 1, &w->commit));
}

int stored_replace(struct store *s, uint64_t gone, uint64_t id, const char *argument,
                   const char *env)
{
    struct store_commit first;

    assert_int_equal(store_forget(s, &gone, 1, &first), 0);
    int r = stored_submit(s, id, argument, env); /* which waits for both */
    store_commit_fini(&first);
    return r;
}

static struct job_spec *spec_new(const char *argument, const char *env)
{
    struct job_spec *s = job_spec_new();

    s->argv = calloc(3, sizeof(*s->argv));
    s->argv[0] = strdup("echo");
    s->argv[1] = strdup(argument);
    if (env)
        s->env = job_env_new((char *const[]){(char *)(uintptr_t)env, NULL});
    return s;
}

int stored_submit(struct store *s, uint64_t id, const char *argument, const char *env)
{
    struct job_spec *spec = spec_new(argument, env);
    struct store_fact fact = fact_submit(id, 1000 + id, spec);

    fact.submit.uid = stored_owner;
    fact.submit.gid = 2;
    int r = stored_keep(s, &fact, 1);
    job_spec_unref(spec);
    return r;
}

int stored_starting(struct store *s, uint64_t id)
{
    struct job_event ev = {.type = JOB_EV_STARTING, .at_usec = 5, .attempt = 1};
    const struct store_fact fact = fact_event(id, JOB_NO_INDEX, &ev);

    return stored_keep(s, &fact, 1);
}

int stored_end_with(struct store *s, uint64_t id, int code, const char *out,
                    const char *err)
{
    struct job_event ev[2] = {{.type = JOB_EV_STARTED, .at_usec = 6, .pid = 3},
                              {.type = JOB_EV_EXITED,
                               .at_usec = 7,
                               .result = code ? JOB_RESULT_EXIT : JOB_RESULT_SUCCESS,
                               .code = code}};
    const struct store_piece output[STORE_STREAMS] = {{out, out ? strlen(out) : 0},
                                                      {err, err ? strlen(err) : 0}};
    const struct store_fact facts[] = {
        fact_event(id, JOB_NO_INDEX, &ev[0]), fact_event(id, JOB_NO_INDEX, &ev[1]),
        fact_output(id, output), fact_last(id, ev[1].at_usec, stored_owner)};

    return stored_keep(s, facts, 4);
}

int stored_end(struct store *s, uint64_t id, int code)
{
    return stored_end_with(s, id, code, NULL, NULL);
}

/* --- what a load finds ---------------------------------------------------------- */

static int note(void *arg, const struct store_loaded *loaded)
{
    const struct store_loaded_job *job = &loaded->job;
    const struct store_loaded_event *e = &loaded->event;
    struct found *found = arg;
    size_t n = strlen(found->text);

    switch (loaded->type) {
    case STORE_LOADED_JOB:
        (void)snprintf(found->text + n, sizeof(found->text) - n, "%llu:submit:%s:%s%s ",
                       (unsigned long long)job->id, job->spec->argv[1],
                       job->spec->env ? job_env_strings(job->spec->env)[0] : "",
                       job->ended ? ":last" : "");
        break;
    case STORE_LOADED_EVENT:
        (void)snprintf(found->text + n, sizeof(found->text) - n, "%llu_%lld:%s%s%d ",
                       (unsigned long long)e->key.id, (long long)e->key.index,
                       job_event_name(e->event->type), e->event->other_life ? "!" : "",
                       e->event->code);
        break;
    case STORE_LOADED_RESOURCE:
        (void)snprintf(found->text + n, sizeof(found->text) - n,
                       "%s of %lld:%llu:%llu:%llu ", loaded->resource.name,
                       (long long)loaded->resource.owner,
                       (unsigned long long)loaded->resource.capacity,
                       (unsigned long long)loaded->resource.per_usec,
                       (unsigned long long)loaded->resource.full_usec);
        break;
    case STORE_LOADED_KEY:
        (void)snprintf(found->text + n, sizeof(found->text) - n, "%llu:key:%d ",
                       (unsigned long long)loaded->key.id, loaded->key.end.code);
        break;
    case STORE_LOADED_QUEUE:
        n += (size_t)snprintf(found->text + n, sizeof(found->text) - n, "queue %s",
                              loaded->queue.name);
        for (size_t i = 0; i < loaded->queue.n; i++)
            n += (size_t)snprintf(found->text + n, sizeof(found->text) - n, ":%llu",
                                  (unsigned long long)loaded->queue.numbers[i]);
        (void)snprintf(found->text + n, sizeof(found->text) - n, " ");
        break;
    }
    return 0;
}

/* Opens and loads: 0 and what was found, or the error. */
int stored_reload(uint8_t boot, struct found *found, struct volt_error *err)
{
    struct store *s;
    int r = stored_open(boot, &s, err);

    memset(found, 0, sizeof(*found));
    if (r < 0)
        return r;
    r = store_load(s, note, found, err);
    store_free(s);
    return r;
}

struct store *stored_fresh(void)
{
    struct volt_error err = {{0}};
    struct store *s = NULL;

    if (stored_open(1, &s, &err) < 0)
        fail_msg("%s", err.text);
    if (store_load(s, note, &(struct found){{0}}, &err) < 0)
        fail_msg("%s", err.text);
    return s;
}

const char stored_expected[] = "1:submit:a:E=1:last 1_-1:starting0 1_-1:started0 "
                               "1_-1:exited3 2:submit:b:E=1 2_-1:starting0 3:submit:c: ";

void stored_fill(struct store *s)
{
    assert_int_equal(stored_submit(s, 1, "a", "E=1"), 0);
    assert_int_equal(stored_submit(s, 2, "b", "E=1"), 0);
    assert_int_equal(stored_submit(s, 3, "c", NULL), 0);
    assert_int_equal(stored_starting(s, 1), 0);
    assert_int_equal(stored_starting(s, 2), 0);
    assert_int_equal(stored_end(s, 1, 3), 0);
}

size_t stored_read(const char *name, uint8_t **ret)
{
    char path[PATH_MAX];
    struct stat st;

    stored_path(name, path);
    int fd = open(path, O_RDONLY);
    assert_true(fd >= 0 && fstat(fd, &st) == 0);
    *ret = malloc((size_t)st.st_size + 1);
    assert_int_equal(read(fd, *ret, (size_t)st.st_size), st.st_size);
    close(fd);
    return (size_t)st.st_size;
}

void stored_write(const char *name, const uint8_t *bytes, size_t n)
{
    char path[PATH_MAX];

    stored_path(name, path);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, n), n);
    close(fd);
}

void stored_remove_journal(void)
{
    char path[PATH_MAX];

    stored_path("jobs.1.db-wal", path);
    (void)unlink(path);
    stored_path("jobs.1.db-shm", path);
    (void)unlink(path);
}

int64_t stored_query(const char *sql)
{
    char path[PATH_MAX];
    sqlite3 *db;
    sqlite3_stmt *st;

    stored_path("jobs.1.db", path);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &st, NULL), SQLITE_OK);
    int rc = sqlite3_step(st);
    int64_t v = rc == SQLITE_ROW ? sqlite3_column_int64(st, 0) : 0;
    assert_true(rc == SQLITE_ROW || rc == SQLITE_DONE);
    sqlite3_finalize(st);
    sqlite3_close(db);
    return v;
}
