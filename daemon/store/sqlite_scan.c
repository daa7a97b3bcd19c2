/* See sqlite_scan.h. Reads jobs, their events and the rows of `ended` side by side, all
 * in order of ids. A row without a partner is damage. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/job/event.h"
#include "daemon/job/spec_pack.h"
#include "daemon/store/fact.h"
#include "daemon/store/sqlite_scan.h"
#include "daemon/store/sqlite_store.h"

#define CACHED 64

/* A content that was read, as jobs in a row mostly share theirs. */
struct cached {
    int64_t id;
    struct pack bytes; /* payload */
};

struct reader {
    struct scan *scan;
    struct row_sums *sums;
    sqlite3_stmt *jobs, *events, *ended;
    int jobs_rc, events_rc, ended_rc; /* SQLITE_ROW: it stands at a row */
    int64_t ended_uid;                /* of the row of `ended` read last */
    int rows;                         /* ranges: rows since the last pause ... */
    size_t bytes;                     /* ... and their bytes */
    bool breathed;                    /* there was a pause: listed jobs may be purged */
    struct cached cache[CACHED];
    int result;
};

__attribute__((format(printf, 2, 3))) static int damage(struct reader *r,
                                                        const char *format, ...)
{
    char text[200];
    va_list ap;

    va_start(ap, format);
    (void)vsnprintf(text, sizeof(text), format, ap);
    va_end(ap);
    r->result = r->scan->damage(r->scan->damage_arg, text);
    return r->result;
}

/* Notes that a table could not be read. The cause is damage, or a passing error (no
 * memory, no descriptor) that says nothing about the store. */
static void note_error(struct reader *r, int rc, const char *table)
{
    struct db *db = r->scan->db;
    const bool is_cut = rc == SQLITE_IOERR_SHORT_READ || rc == SQLITE_IOERR_CORRUPTFS;
    const int error = is_cut ? -EBADMSG : db_errno(db, rc);

    if (error == -EBADMSG)
        (void)damage(r, "table %s: %s", table, sqlite3_errmsg(db->handle));
    else
        r->result = error;
}

static void step(struct reader *r, sqlite3_stmt *st, int *rc, const char *table)
{
    *rc = sqlite3_step(st);
    if (*rc != SQLITE_ROW && *rc != SQLITE_DONE)
        note_error(r, *rc, table);
}

static void step_jobs(struct reader *r)
{
    step(r, r->jobs, &r->jobs_rc, "job");
}

static void step_events(struct reader *r)
{
    step(r, r->events, &r->events_rc, "event");
}

static void step_ended(struct reader *r)
{
    step(r, r->ended, &r->ended_rc, "ended");
}

/* Returns the body of the row at which the statement stands. NULL: it is no BLOB, which
 * is damage; SQLite would convert it and change its bytes. */
static const void *body_of(sqlite3_stmt *st, int column, size_t *ret_n)
{
    if (sqlite3_column_type(st, column) != SQLITE_BLOB)
        return NULL;
    const void *body = sqlite3_column_blob(st, column);
    *ret_n = (size_t)sqlite3_column_bytes(st, column);
    return body;
}

/* --- contents ------------------------------------------------------------------- */

static int read_contents(struct reader *r)
{
    struct contents *all = r->scan->contents;
    sqlite3_stmt *st = NULL;
    int rc = sqlite3_prepare_v2(r->scan->db->handle, "SELECT id,body FROM content", -1,
                                &st, NULL);

    while (rc == SQLITE_OK || rc == SQLITE_ROW) {
        size_t n = 0, payload;

        rc = sqlite3_step(st);
        if (rc != SQLITE_ROW)
            break;
        const struct row_key key = {.table = ROW_CONTENT,
                                    .a = sqlite3_column_int64(st, 0)};
        const void *body = body_of(st, 1, &n);
        if (!body || !row_open(body, n, &key, &payload)) {
            if (damage(r, "content %lld: checksum", (long long)key.a))
                break;
            continue;
        }
        row_sum_add(&r->sums->content, row_digest(body, n, &key));
        if (all && !contents_add(all, key.a)) {
            r->result = -ENOMEM;
            break;
        }
    }
    if (rc != SQLITE_ROW && rc != SQLITE_DONE && r->result == 0)
        note_error(r, rc, "content");
    (void)sqlite3_finalize(st);
    return r->result;
}

/* Returns the bytes of a content, and counts the use. Borrowed until the next call. NULL:
 * damage, which was reported, or another error. */
static const void *content_of(struct reader *r, int64_t id, long long job, size_t *ret_n)
{
    struct cached *c = &r->cache[(uint64_t)id % CACHED];
    sqlite3_stmt *st = r->scan->db->statement[DB_CONTENT_GET];
    const struct row_key key = {.table = ROW_CONTENT, .a = id};
    struct contents_slot *slot;
    size_t n = 0, payload;

    if (c->id != id) {
        int rc;

        (void)sqlite3_bind_int64(st, 1, id);
        step(r, st, &rc, "content");
        const void *body = rc == SQLITE_ROW ? body_of(st, 0, &n) : NULL;
        r->bytes += n;
        c->id = 0;
        pack_clear(&c->bytes);
        if (body && row_open(body, n, &key, &payload)) {
            pack_raw(&c->bytes, body, payload);
            c->id = c->bytes.failed ? 0 : id;
            r->result = c->bytes.failed ? -ENOMEM : r->result;
        }
        (void)sqlite3_reset(st);
    }
    if (r->result < 0)
        return NULL;
    if (c->id != id) {
        (void)damage(r, "job %lld: its content %lld is damaged or missing", job,
                     (long long)id);
        return NULL;
    }
    if (r->scan->contents && (slot = contents_find(r->scan->contents, id)))
        slot->uses++;
    *ret_n = c->bytes.n;
    return c->bytes.bytes;
}

/* --- resources ------------------------------------------------------------------ */

/* Reads the fields of a resource that follow its name. */
static void unpack_resource(struct unpack *u, struct store_loaded_resource *ret)
{
    ret->capacity = unpack_number(u);
    if (u->failed || u->at == u->end)
        return;
    ret->per_usec = unpack_number(u);
    ret->full_usec = unpack_number(u);
}

static void unpack_numbers(struct unpack *u, uint64_t *numbers,
                           struct store_loaded_queue *ret)
{
    ret->numbers = numbers;
    while (!u->failed && u->at < u->end && ret->n < STORE_QUEUE_NUMBERS)
        numbers[ret->n++] = unpack_number(u);
}

/* Reads a resource or queue. The name is part of the body, so the CRC proves it too. */
static void read_resource(struct reader *r, sqlite3_stmt *st)
{
    const struct row_key key = {.table = ROW_RESOURCE, .a = sqlite3_column_int64(st, 0)};
    const char *text = (const char *)sqlite3_column_text(st, 1);
    struct store_loaded loaded = {.type = STORE_LOADED_RESOURCE};
    uint64_t numbers[STORE_QUEUE_NUMBERS];
    size_t n = 0, payload;
    const void *body = body_of(st, 2, &n);

    if (!text || !body || !row_open(body, n, &key, &payload)) {
        (void)damage(r, "resource of user %lld: checksum", (long long)key.a);
        return;
    }
    struct unpack u = unpack_of(body, payload);
    char *name = unpack_string(&u);
    if (key.a == ROW_OF_QUEUES) {
        loaded.type = STORE_LOADED_QUEUE;
        loaded.queue = (struct store_loaded_queue){.name = name};
        unpack_numbers(&u, numbers, &loaded.queue);
    } else {
        loaded.resource =
            (struct store_loaded_resource){.owner = (uid_t)key.a, .name = name};
        unpack_resource(&u, &loaded.resource);
    }
    row_sum_add(&r->sums->resource, row_digest(body, n, &key));
    if (u.no_memory)
        r->result = -ENOMEM;
    else if (u.failed || u.at != u.end || strcmp(name, text) != 0)
        (void)damage(r, "resource of user %lld: not as it is called", (long long)key.a);
    else
        r->result = r->scan->fn(r->scan->arg, &loaded);
    free(name);
}

static int read_resources(struct reader *r)
{
    sqlite3_stmt *st = NULL;
    int rc;

    if (r->scan->db->version < 14)
        return 0;
    rc = sqlite3_prepare_v2(r->scan->db->handle,
                            "SELECT owner,name,body FROM resource ORDER BY owner,name",
                            -1, &st, NULL);
    while ((rc == SQLITE_OK || rc == SQLITE_ROW) && r->result == 0) {
        rc = sqlite3_step(st);
        if (rc == SQLITE_ROW)
            read_resource(r, st);
    }
    if (rc != SQLITE_ROW && rc != SQLITE_DONE && r->result == 0)
        note_error(r, rc, "resource");
    (void)sqlite3_finalize(st);
    return r->result;
}

/* --- keys ----------------------------------------------------------------------- */

/* Reads a key and passes it to fn. Returns false if it is damaged, or after an error. */
static bool read_key(struct reader *r, sqlite3_stmt *st)
{
    struct store_loaded loaded = {.type = STORE_LOADED_KEY};
    struct row_key at;
    size_t n = 0;

    if (!sqlite_key_row(st, &loaded.key, &at)) {
        (void)damage(r, "key of job %lld: checksum", (long long)at.a);
        return false;
    }
    const struct owner_change more = {.uid = loaded.key.uid, .keys = 1};
    const void *body = body_of(st, 3, &n);
    row_sum_add(&r->sums->key, row_digest(body, n, &at));
    if (r->scan->owners && owners_change(r->scan->owners, &more) < 0)
        r->result = -ENOMEM;
    if (r->result == 0 && r->scan->fn)
        r->result = r->scan->fn(r->scan->arg, &loaded);
    return r->result == 0;
}

static int read_keys(struct reader *r)
{
    sqlite3_stmt *st = NULL;
    int rc;

    if (r->scan->db->version < 29)
        return 0;
    rc = sqlite3_prepare_v2(r->scan->db->handle,
                            "SELECT id,uid,at,body FROM key ORDER BY id", -1, &st, NULL);
    while ((rc == SQLITE_OK || rc == SQLITE_ROW) && r->result == 0) {
        rc = sqlite3_step(st);
        if (rc == SQLITE_ROW)
            (void)read_key(r, st);
    }
    if (rc != SQLITE_ROW && rc != SQLITE_DONE && r->result == 0)
        note_error(r, rc, "key");
    (void)sqlite3_finalize(st);
    return r->result;
}

/* Reads the key that a purged job may have left. Ranges only. Returns whether there is
 * one. */
static bool read_key_of(struct reader *r, int64_t id)
{
    sqlite3_stmt *st = r->scan->db->statement[DB_KEY_GET];
    int rc;

    (void)sqlite3_bind_int64(st, 1, id);
    step(r, st, &rc, "key");
    const bool there = rc == SQLITE_ROW;
    r->rows++;
    if (there)
        (void)read_key(r, st);
    (void)sqlite3_reset(st);
    return there;
}

/* --- jobs ----------------------------------------------------------------------- */

static int unpack_job(struct reader *r, struct unpack *u, int64_t id,
                      struct store_loaded_job *ret)
{
    struct spec_parts parts = {0};

    ret->uid = (uid_t)unpack_number_max(u, UINT32_MAX);
    ret->gid = (gid_t)unpack_number_max(u, UINT32_MAX);
    ret->submitted_usec = unpack_number(u);
    int64_t env = (int64_t)unpack_number_max(u, INT64_MAX);
    int64_t argv = (int64_t)unpack_number_max(u, INT64_MAX);
    parts.own = u->at;
    parts.own_n = unpack_left(u);
    if (env && !(parts.env = content_of(r, env, id, &parts.env_n)))
        return -EBADMSG;
    /* Both may have the same place in the cache, so env is copied before argv is read. */
    struct pack kept = {0};
    if (env && argv && (uint64_t)env % CACHED == (uint64_t)argv % CACHED && env != argv) {
        pack_raw(&kept, parts.env, parts.env_n);
        parts.env = kept.bytes;
    }
    int result = kept.failed ? -ENOMEM : 0;
    if (result == 0 && argv && !(parts.argv = content_of(r, argv, id, &parts.argv_n)))
        result = -EBADMSG;
    if (result == 0)
        result = u->failed ? -EBADMSG : job_spec_unpack(&parts, &ret->spec);
    pack_fini(&kept);
    return result;
}

static void note_seq(struct reader *r, int64_t seq)
{
    if ((uint64_t)seq >= r->sums->seq)
        r->sums->seq = (uint64_t)seq + 1;
}

/* Counts an ended job for its owner, and proves that `ended` names the same owner. */
static void count_ended(struct reader *r, const struct store_loaded_job *job)
{
    const struct owner_change more = {
        .uid = job->uid, .jobs = 1, .elements = (int64_t)job_spec_count(job->spec)};

    if (r->scan->db->version >= 28 && r->ended_uid != (int64_t)job->uid)
        (void)damage(r, "job %lld: it is in the history of another user",
                     (long long)job->id);
    if (r->scan->owners && owners_change(r->scan->owners, &more) < 0)
        r->result = -ENOMEM;
}

/* Reads a job and passes it to fn. ended: its row of `ended`, or NULL. Returns false if
 * its events are to be skipped. */
static bool read_job(struct reader *r, int64_t id, const struct row_key *ended)
{
    const struct row_key key = {
        .table = ROW_JOB, .a = id, .b = sqlite3_column_int64(r->jobs, 2)};
    struct store_loaded loaded = {.type = STORE_LOADED_JOB,
                                  .seq = (uint64_t)key.b,
                                  .job = {.id = (uint64_t)id,
                                          .ended = ended != NULL,
                                          .ended_usec = ended ? (uint64_t)ended->b : 0,
                                          .end_seq = ended ? (uint64_t)ended->c : 0,
                                          .lacks_key_row = r->scan->db->found < 29}};
    size_t n = 0, payload;
    const void *body = body_of(r->jobs, 1, &n);

    r->bytes += n;
    if (!body || !row_open(body, n, &key, &payload)) {
        (void)damage(r, "job %lld: checksum", (long long)id);
        return false;
    }
    row_sum_add(&r->sums->job, row_digest(body, n, &key));
    r->sums->last_id = (uint64_t)id; /* in order of ids */
    note_seq(r, key.b);
    struct unpack u = unpack_of(body, payload);
    int result = unpack_job(r, &u, id, &loaded.job);
    if (result == -ENOMEM)
        r->result = -ENOMEM;
    else if (result < 0 && r->result == 0)
        (void)damage(r, "job %lld: its spec cannot be read", (long long)id);
    if (result == 0 && ended && ended->a)
        count_ended(r, &loaded.job);
    if (result == 0 && r->result == 0 && r->scan->fn)
        r->result = r->scan->fn(r->scan->arg, &loaded);
    job_spec_unref(loaded.job.spec);
    return result == 0 && r->result == 0;
}

/* Reads the events of the row at which r->events stands. */
static void read_events(struct reader *r, int64_t id)
{
    const struct row_key key = {.table = ROW_EVENT,
                                .a = id,
                                .b = sqlite3_column_int64(r->events, 1),
                                .c = sqlite3_column_int64(r->events, 2)};
    size_t n = 0, payload;
    const void *body = body_of(r->events, 3, &n);
    struct job_event_room room;
    uint64_t life;

    r->bytes += n;
    if (!body || !row_open(body, n, &key, &payload)) {
        (void)damage(r, "job %lld: event %lld: checksum", (long long)id,
                     (long long)key.c);
        return;
    }
    row_sum_add(&r->sums->event, row_digest(body, n, &key));
    note_seq(r, key.c);
    struct job_event ev;
    struct store_loaded loaded = {
        .type = STORE_LOADED_EVENT,
        .seq = (uint64_t)key.c,
        .event = {.key = {.id = (uint64_t)id, .index = key.b}, .event = &ev}};
    struct unpack u = unpack_of(body, payload);
    while (u.at < u.end && r->result == 0) {
        if (job_event_unpack(&u, &ev, &life, &room) < 0) {
            (void)damage(r, "job %lld: event %lld cannot be read", (long long)id,
                         (long long)key.c);
            return;
        }
        ev.other_life = ev.type == JOB_EV_STARTING && life != r->scan->life;
        if (r->scan->fn)
            r->result = r->scan->fn(r->scan->arg, &loaded);
        loaded.seq++;
    }
}

/* Returns whether `ended` has a row of the job. Rows of smaller ids have no job:
 * damage. */
static bool read_ended(struct reader *r, int64_t id, struct row_key *ret)
{
    while (r->ended_rc == SQLITE_ROW && r->result == 0) {
        const struct row_key key = {.table = ROW_ENDED,
                                    .a = sqlite3_column_int64(r->ended, 0),
                                    .b = sqlite3_column_int64(r->ended, 1),
                                    .c = sqlite3_column_int64(r->ended, 2)};

        if (key.a > id)
            return false;
        row_sum_add(&r->sums->ended, row_digest(NULL, 0, &key));
        note_seq(r, key.c);
        *ret = key;
        r->ended_uid = sqlite3_column_int64(r->ended, 3);
        step_ended(r);
        if (key.a == id)
            return true;
        (void)damage(r, "job %lld: its row is missing, though it has ended",
                     (long long)key.a);
    }
    return false;
}

static void read_events_of(struct reader *r, int64_t id, bool good)
{
    while (r->events_rc == SQLITE_ROW && r->result == 0) {
        int64_t job = sqlite3_column_int64(r->events, 0);

        if (job > id)
            return;
        if (job < id)
            (void)damage(r, "job %lld: its row is missing, but not its events",
                         (long long)job);
        else if (good)
            read_events(r, id);
        if (r->result == 0)
            step_events(r);
    }
}

static int read_jobs(struct reader *r)
{
    int64_t before = 0;

    step_jobs(r);
    step_events(r);
    step_ended(r);
    while (r->jobs_rc == SQLITE_ROW && r->result == 0) {
        int64_t id = sqlite3_column_int64(r->jobs, 0);

        if (id <= before && damage(r, "job %lld: out of order", (long long)id))
            break;
        before = id;
        struct row_key ended = {0};
        bool last = read_ended(r, id, &ended);
        bool good = r->result == 0 && read_job(r, id, last ? &ended : NULL);
        if (r->result == 0)
            read_events_of(r, id, good);
        if (r->result == 0)
            step_jobs(r);
    }
    if (r->result == 0 && r->jobs_rc == SQLITE_DONE) {
        struct row_key none;
        (void)read_ended(r, INT64_MAX, &none);
        read_events_of(r, INT64_MAX, false);
    }
    return r->result;
}

static sqlite3_stmt *query(struct reader *r, const char *table, const char *sql)
{
    sqlite3_stmt *st = NULL;

    if (r->result == 0) {
        int rc = sqlite3_prepare_v2(r->scan->db->handle, sql, -1, &st, NULL);

        if (rc != SQLITE_OK)
            note_error(r, rc, table);
    }
    return st;
}

int scan_run(struct scan *scan, struct row_sums *ret_sums)
{
    struct reader *r = calloc(1, sizeof(*r));

    *ret_sums = (struct row_sums){.seq = 1};
    if (!r)
        return -ENOMEM;
    r->scan = scan;
    r->sums = ret_sums;
    r->jobs = query(r, "job",
                    scan->db->version < 4 ? "SELECT id,body,0 FROM job ORDER BY id"
                                          : "SELECT id,body,seq FROM job ORDER BY id");
    r->events =
        query(r, "event", "SELECT job,item,seq,body FROM event ORDER BY job,item,seq");
    r->ended =
        query(r, "ended",
              scan->db->version < 4    ? "SELECT id,at,0,-1 FROM ended ORDER BY id"
              : scan->db->version < 28 ? "SELECT id,at,seq,-1 FROM ended ORDER BY id"
                                       : "SELECT id,at,seq,uid FROM ended "
                                         "ORDER BY id");
    if (r->result == 0 && read_contents(r) == 0 && read_resources(r) == 0 &&
        read_keys(r) == 0 && r->jobs && r->events && r->ended)
        (void)read_jobs(r);
    (void)sqlite3_finalize(r->jobs);
    (void)sqlite3_finalize(r->events);
    (void)sqlite3_finalize(r->ended);
    for (int i = 0; i < CACHED; i++)
        pack_fini(&r->cache[i].bytes);
    int result = r->result;
    free(r);
    return result;
}

/* Reads a row of outputs. Its job has a row, as both were written and deleted by the same
 * transactions. */
static void read_output(struct reader *r, sqlite3_stmt *st)
{
    const struct row_key key = {.table = ROW_OUTPUT,
                                .a = sqlite3_column_int64(st, 0),
                                .b = sqlite3_column_int64(st, 1),
                                .c = sqlite3_column_int64(st, 2)};
    size_t n = 0, payload;
    const void *body = body_of(st, 3, &n);

    if (!body || !row_open(body, n, &key, &payload))
        (void)damage(r, "job %lld: element %lld: output %lld: checksum", (long long)key.a,
                     (long long)key.b, (long long)key.c);
    else
        row_sum_add(&r->sums->output, row_digest(body, n, &key));
    if (r->result == 0 && sqlite3_column_type(st, 4) == SQLITE_NULL)
        (void)damage(r, "job %lld: its row is missing, but not its output",
                     (long long)key.a);
}

int scan_outputs(struct scan *scan, struct row_sums *sums)
{
    struct reader r = {.scan = scan, .sums = sums};
    int rc = SQLITE_ROW;

    if (scan->db->version < 3)
        return 0;
    sqlite3_stmt *st = query(&r, "output",
                             "SELECT o.job,item,stream,o.body,j.id FROM output o "
                             "LEFT JOIN job j ON j.id=o.job ORDER BY o.job");
    while (st && r.result == 0 && rc == SQLITE_ROW) {
        step(&r, st, &rc, "output");
        if (rc == SQLITE_ROW)
            read_output(&r, st);
    }
    (void)sqlite3_finalize(st);
    return r.result;
}

/* --- a range --------------------------------------------------------------------- */

static int run(struct reader *r, enum db_statement st)
{
    return db_run(r->scan->db->statement[st]) == SQLITE_OK ? 0 : -EIO;
}

/* Returns whether the job is still there; the statement then stands at its row. */
static bool at_job(struct reader *r, int64_t id)
{
    (void)sqlite3_reset(r->jobs);
    (void)sqlite3_bind_int64(r->jobs, 1, id);
    step(r, r->jobs, &r->jobs_rc, "job");
    return r->jobs_rc == SQLITE_ROW;
}

static bool is_enough(const struct reader *r)
{
    return r->rows >= ROWS_AT_A_TIME || r->bytes >= BYTES_AT_A_TIME;
}

static void note_most(struct reader *r)
{
    struct store_read_counts *most = &r->scan->most;

    most->rows = most->rows > (uint64_t)r->rows ? most->rows : (uint64_t)r->rows;
    most->bytes = most->bytes > r->bytes ? most->bytes : r->bytes;
    r->rows = 0;
    r->bytes = 0;
}

/* Ends the transaction and begins another, so that others may read and write between
 * them. A job purged there is gone as a whole. */
static void breathe(struct reader *r)
{
    struct scan *scan = r->scan;

    note_most(r);
    r->breathed = true;
    (void)sqlite3_reset(r->jobs);
    r->result = run(r, DB_COMMIT);
    if (r->result == 0 && scan->pause)
        r->result = scan->pause(scan->pause_arg);
    r->jobs = scan->db->statement[DB_JOB_AT];
    if (r->result == 0)
        r->result = run(r, DB_BEGIN_READ);
}

static void breathe_within(struct reader *r, int64_t id)
{
    breathe(r);
    if (r->result == 0 && !at_job(r, id) && r->result == 0)
        r->result = -ESTALE;
}

/* Reads the events of the items in a range. */
static void read_events_from(struct reader *r, int64_t id, int64_t item, int64_t last)
{
    int64_t seq = INT64_MIN;
    bool enough;

    do {
        int most = ROWS_AT_A_TIME - r->rows;

        r->events = r->scan->db->statement[DB_EVENTS];
        (void)sqlite3_bind_int64(r->events, 1, id);
        (void)sqlite3_bind_int64(r->events, 2, item);
        (void)sqlite3_bind_int64(r->events, 3, seq);
        (void)sqlite3_bind_int64(r->events, 4, last);
        (void)sqlite3_bind_int64(r->events, 5, most);
        for (step_events(r); r->events_rc == SQLITE_ROW && r->result == 0;) {
            item = sqlite3_column_int64(r->events, 1);
            seq = sqlite3_column_int64(r->events, 2);
            r->rows++;
            read_events(r, id);
            if (is_enough(r))
                break;
            if (r->result == 0)
                step_events(r);
        }
        (void)sqlite3_reset(r->events);
        enough = is_enough(r);
        if (enough && r->result == 0)
            breathe_within(r, id);
    } while (enough && r->result == 0);
}

static void read_kept_job(struct reader *r, const struct store_range *range, int64_t id)
{
    bool there = at_job(r, id);

    const bool key =
        !there && r->result == 0 && (range->one || range->keys) && read_key_of(r, id);
    if (!there && !key && r->result == 0 && !r->breathed && !range->one)
        (void)damage(r, "job %lld: its row is missing, though it has ended",
                     (long long)id);
    r->rows++;
    if (r->result == 0 && there && read_job(r, id, &(struct row_key){0})) {
        if (range->some_items)
            read_events_from(r, id, JOB_NO_INDEX, JOB_NO_INDEX);
        if (r->result == 0 && range->some_items)
            read_events_from(r, id, range->item, range->item_last);
        else if (r->result == 0)
            read_events_from(r, id, INT64_MIN, INT64_MAX);
    }
    (void)sqlite3_reset(r->jobs);
}

/* Lists the ids of a page. Returns their number. */
static size_t list_ended(struct reader *r, const struct store_range *range,
                         int64_t ids[STORE_RANGE_MAX])
{
    static const enum db_statement which[2][3] = {
        {DB_HISTORY_UP, DB_HISTORY_DOWN, DB_KEPT_DOWN},
        {DB_OWN_HISTORY_UP, DB_OWN_HISTORY_DOWN, DB_OWN_KEPT_DOWN}};
    const int order = range->keys ? 2 : range->newest_first;
    sqlite3_stmt *st = r->scan->db->statement[which[range->of_owner][order]];
    size_t max = range->max < STORE_RANGE_MAX ? range->max : STORE_RANGE_MAX, n = 0;

    (void)sqlite3_bind_int64(st, 1, (int64_t)range->first);
    (void)sqlite3_bind_int64(st, 2,
                             range->last < INT64_MAX ? (int64_t)range->last : INT64_MAX);
    (void)sqlite3_bind_int64(st, 3, (int64_t)max);
    if (range->of_owner)
        (void)sqlite3_bind_int64(st, 4, range->owner);
    for (step(r, st, &r->ended_rc, "ended"); r->ended_rc == SQLITE_ROW;
         step(r, st, &r->ended_rc, "ended"), r->rows++)
        ids[n++] = sqlite3_column_int64(st, 0);
    (void)sqlite3_reset(st);
    return n;
}

int scan_range(struct scan *scan, const struct store_range *range, uint64_t *ret_at)
{
    struct reader *r = calloc(1, sizeof(*r));
    struct row_sums sums = {.seq = 1};
    int64_t ids[STORE_RANGE_MAX];
    size_t n = 0;

    if (!r)
        return -ENOMEM;
    r->scan = scan;
    r->sums = &sums;
    r->jobs = scan->db->statement[DB_JOB_AT];
    r->result = run(r, DB_BEGIN_READ);
    ids[0] = (int64_t)range->first;
    if (r->result == 0)
        n = range->one ? 1 : list_ended(r, range, ids);
    for (size_t i = 0; i < n && r->result == 0; i++) {
        *ret_at = (uint64_t)ids[i];
        read_kept_job(r, range, ids[i]);
        if (r->result == 0 && is_enough(r))
            breathe(r);
    }
    note_most(r);
    if (scan->db->handle && !sqlite3_get_autocommit(scan->db->handle))
        (void)run(r, DB_ROLLBACK);
    for (int i = 0; i < CACHED; i++)
        pack_fini(&r->cache[i].bytes);
    int result = r->result;
    free(r);
    return result ? result : (int)n;
}

int scan_prove_sums(struct scan *scan, const struct row_sums *want,
                    const struct row_sums *found)
{
    const struct {
        const char *table;
        const struct row_sum *want, *is;
    } all[] = {{"content", &want->content, &found->content},
               {"job", &want->job, &found->job},
               {"event", &want->event, &found->event},
               {"ended", &want->ended, &found->ended},
               {"output", &want->output, &found->output},
               {"resource", &want->resource, &found->resource},
               {"key", &want->key, &found->key}};
    int r = 0;

    for (size_t i = 0; r == 0 && i < sizeof(all) / sizeof(all[0]); i++) {
        char text[160];

        if (all[i].want->rows == all[i].is->rows && all[i].want->sum == all[i].is->sum)
            continue;
        (void)snprintf(text, sizeof(text), "table %s: %llu rows instead of %llu%s",
                       all[i].table, (unsigned long long)all[i].is->rows,
                       (unsigned long long)all[i].want->rows,
                       all[i].want->rows == all[i].is->rows ? ", but not the same" : "");
        r = scan->damage(scan->damage_arg, text);
    }
    if (r == 0 &&
        (found->seq > want->seq || (want->last_id && found->last_id > want->last_id)))
        r = scan->damage(scan->damage_arg, "rows of the future");
    return r;
}

/* Judges the result r of reading a row of meta. A damaged or missing row is reported, and
 * the scan may go on. After another error nothing is known of the row, so the scan
 * ends. */
static int judge_meta(struct scan *scan, int r, const char *what)
{
    return r == -ENOENT || r == -EBADMSG ? scan->damage(scan->damage_arg, what) : r;
}

static int read_sums(struct db *db, struct row_sums *ret)
{
    struct pack p = {0};
    int r = db_meta_get(db, "sums", &p);

    if (r == 0 && !row_sums_unpack(ret, p.bytes, p.n))
        r = -EBADMSG;
    pack_fini(&p);
    return r;
}

static int read_life(struct db *db, struct db_life *ret)
{
    struct pack p = {0};
    int r = db_meta_get(db, "life", &p);

    if (r == 0 && !db_life_unpack(ret, &p))
        r = -EBADMSG;
    pack_fini(&p);
    return r;
}

int scan_meta(struct scan *scan, struct row_sums *ret_sums, struct db_life *ret_life,
              struct witness *ret_self)
{
    *ret_self = (struct witness){0};
    int r = judge_meta(scan, read_sums(scan->db, ret_sums), "table meta: the sums");
    if (r == 0)
        r = judge_meta(scan, read_life(scan->db, ret_life), "table meta: the life");
    if (r == 0)
        r = judge_meta(scan, db_self_get(scan->db, ret_self), "table meta: the store");
    ret_self->facts = ret_sums->seq - ret_sums->first - 1;
    return r;
}
