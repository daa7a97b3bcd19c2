/* voltd --check-store: proves all that a load proves, and also outputs and the structure
 * of the file. Reports every finding, not only the first. Opens read-only and leaves the
 * files unchanged. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "daemon/job/event.h"
#include "daemon/store/sqlite.h"
#include "daemon/store/sqlite_scan.h"

struct check {
    void (*fn)(void *arg, const char *text);
    void *arg;
    int findings;
    /* The job or element whose events are being replayed. */
    struct job_key key;
    struct job_status status;
    bool is_array;
    struct job_event submit; /* of the job */
};

static int find(void *arg, const char *text)
{
    struct check *c = arg;

    c->findings++;
    c->fn(c->arg, text);
    return 0;
}

static void find_event(struct check *c, const struct store_loaded_event *e)
{
    char name[JOB_KEY_TEXT_MAX], text[128];

    (void)job_key_format_job(&e->key, name);
    (void)snprintf(text, sizeof(text), "job %s: event %s is out of place", name,
                   job_event_name(e->event->type));
    (void)find(c, text);
}

/* An array is held as a whole: its elements are not. */
static void begin_status(struct check *c, const struct job_key *key)
{
    struct job_event submit = c->submit;

    if (key->index != JOB_NO_INDEX)
        submit.held = JOB_HELD_NO;
    c->key = *key;
    c->status = (struct job_status){0};
    (void)job_update(&c->status, &submit);
}

static void replay_job(struct check *c, const struct store_loaded_job *job)
{
    c->is_array = job->spec->is_array;
    c->submit = job_spec_submission(job->spec, job->submitted_usec);
    begin_status(c, &(struct job_key){.id = job->id, .index = JOB_NO_INDEX});
}

/* Replays an event. Events of one element follow each other. */
static void replay_event(struct check *c, const struct store_loaded_event *e)
{
    if (!job_key_equal(&c->key, &e->key))
        begin_status(c, &e->key);
    if (c->is_array && e->key.index == JOB_NO_INDEX
            ? !job_event_rows[e->event->type].of_array
            : job_update(&c->status, e->event) < 0)
        find_event(c, e);
}

static int replay(void *arg, const struct store_loaded *loaded)
{
    switch (loaded->type) {
    case STORE_LOADED_JOB:
        replay_job(arg, &loaded->job);
        break;
    case STORE_LOADED_EVENT:
        replay_event(arg, &loaded->event);
        break;
    case STORE_LOADED_RESOURCE:
    case STORE_LOADED_QUEUE:
    case STORE_LOADED_KEY:
        break;
    }
    return 0;
}

static void check_structure(struct check *c, struct db *db)
{
    sqlite3_stmt *st = NULL;
    int rc = sqlite3_prepare_v2(db->handle, "PRAGMA integrity_check(100)", -1, &st, NULL);

    while (rc == SQLITE_OK || rc == SQLITE_ROW) {
        rc = sqlite3_step(st);
        if (rc != SQLITE_ROW)
            break;
        const char *text = (const char *)sqlite3_column_text(st, 0);
        if (text && strcmp(text, "ok") != 0)
            (void)find(c, text);
    }
    if (rc != SQLITE_DONE)
        (void)find(c, sqlite3_errmsg(db->handle));
    (void)sqlite3_finalize(st);
}

static int check_rows(struct check *c, struct db *db, const char *dir)
{
    struct scan scan = {
        .db = db, .fn = replay, .arg = c, .damage = find, .damage_arg = c};
    struct row_sums want = {.seq = 1}, found;
    struct volt_error err = {{0}};
    struct db_life life = {0};
    struct witness self;
    int before = c->findings;
    int r = scan_meta(&scan, &want, &life, &self);
    bool comparable = r == 0 && c->findings == before;

    scan.life = life.number;
    if (comparable && witness_judge(dir, &self, &err) < 0)
        (void)find(c, err.text);
    if (r == 0)
        r = scan_run(&scan, &found);
    if (r == 0)
        r = scan_outputs(&scan, &found);
    if (r == 0 && comparable)
        r = scan_prove_sums(&scan, &want, &found);
    return r;
}

int store_sqlite_check(const char *dir, void (*fn)(void *arg, const char *text),
                       void *arg)
{
    struct check c = {.fn = fn, .arg = arg};
    struct volt_error err = {{0}};
    char path[PATH_MAX];
    struct db db;
    uint64_t number;
    int r = db_newest(dir, &number);

    if (r == 0 && number == 0 && witness_judge(dir, NULL, &err) < 0) {
        (void)find(&c, err.text);
        return c.findings;
    }
    if (r == 0 && number == 0)
        r = -ENOENT;
    if (r == 0)
        r = db_path(dir, number, "", path);
    if (r < 0)
        return r;
    r = db_open(&db, path, DB_LOOK, &err);
    if (r < 0) {
        (void)find(&c, err.text);
        return c.findings;
    }
    r = check_rows(&c, &db, dir);
    if (r == 0)
        check_structure(&c, &db);
    db_close(&db);
    return r < 0 ? r : c.findings;
}
