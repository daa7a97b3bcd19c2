/* Reads single rows and ended jobs beside the writer, over a connection that only reads.
 *
 * The connection is opened at first use. Between two reads no transaction is open, so no
 * checkpoint is held up. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/store/sqlite_scan.h"
#include "daemon/store/sqlite_store.h"

void sqlite_read_lock(struct sqlite_store *s)
{
    pthread_mutex_lock(&s->read_turn);
    pthread_mutex_lock(&s->read_lock);
    pthread_mutex_unlock(&s->read_turn);
}

static int begin_locked(struct sqlite_store *s)
{
    char path[PATH_MAX];
    int r = 0;

    if (s->reading)
        return 0;
    r = db_path(s->dir, s->number, "", path);
    if (r == 0)
        r = db_open(&s->reader, path, DB_READ, NULL);
    s->reading = r == 0;
    return r;
}

/* Returns a copy of the body of the row that the bound statement finds, without its
 * CRC. */
static int take_locked(struct sqlite_store *s, sqlite3_stmt *st,
                       const struct row_key *key, void **ret, size_t *ret_n)
{
    int rc = sqlite3_step(st), r = 0;
    size_t payload = 0;
    void *copy = NULL;

    if (rc == SQLITE_ROW) {
        const void *body = sqlite3_column_blob(st, 0);
        size_t n = (size_t)sqlite3_column_bytes(st, 0);

        r = body && row_open(body, n, key, &payload) ? 0 : -EBADMSG;
        copy = r == 0 ? malloc(payload + 1) : NULL;
        if (r == 0 && !copy)
            r = -ENOMEM;
        if (copy)
            memcpy(copy, body, payload);
    } else {
        r = rc == SQLITE_DONE ? -ENODATA : db_error(&s->reader, rc, "reading", NULL);
    }
    (void)sqlite3_reset(st);
    if (r < 0)
        return r;
    *ret = copy;
    *ret_n = payload;
    return 0;
}

static int sqlite_output(struct store *store, const struct job_key *job, unsigned stream,
                         void **ret, size_t *ret_n)
{
    struct sqlite_store *s = sqlite_of(store);
    const struct row_key key = {
        .table = ROW_OUTPUT, .a = (int64_t)job->id, .b = job->index, .c = stream};

    sqlite_read_lock(s);
    int r = begin_locked(s);
    if (r == 0) {
        sqlite3_stmt *st = s->reader.statement[DB_OUTPUT_GET];

        (void)sqlite3_bind_int64(st, 1, key.a);
        (void)sqlite3_bind_int64(st, 2, key.b);
        (void)sqlite3_bind_int64(st, 3, key.c);
        r = take_locked(s, st, &key, ret, ret_n);
    }
    pthread_mutex_unlock(&s->read_lock);
    return r;
}

static int sqlite_has(struct store *store, uint64_t id)
{
    struct sqlite_store *s = sqlite_of(store);
    int rc = SQLITE_DONE;

    sqlite_read_lock(s);
    int r = begin_locked(s);
    if (r == 0) {
        sqlite3_stmt *st = s->reader.statement[DB_JOB_GET];

        (void)sqlite3_bind_int64(st, 1, (int64_t)id);
        rc = sqlite3_step(st);
        if (rc != SQLITE_ROW && rc != SQLITE_DONE)
            r = db_error(&s->reader, rc, "reading", NULL);
        (void)sqlite3_reset(st);
    }
    pthread_mutex_unlock(&s->read_lock);
    return r < 0 ? r : rc == SQLITE_ROW;
}

static int let_others_read(void *store)
{
    struct sqlite_store *s = store;

    pthread_mutex_unlock(&s->read_lock);
    sqlite_read_lock(s);
    return 0;
}

/* Lock held. */
static void keep_largest(vat_u64 *largest, uint64_t value)
{
    if (value > vat_u64_load(largest, VAT_RLX))
        vat_u64_store(largest, value, VAT_RLX);
}

static int sqlite_history(struct store *store, const struct store_range *range,
                          store_load_fn *fn, void *arg, uint64_t *ret_at,
                          struct volt_error *err)
{
    struct sqlite_store *s = sqlite_of(store);
    struct scan scan = {.db = &s->reader,
                        .fn = fn,
                        .arg = arg,
                        .life = s->life.number,
                        .damage = sqlite_damaged,
                        .damage_arg = err,
                        .pause = let_others_read,
                        .pause_arg = s};

    sqlite_read_lock(s);
    int r = begin_locked(s);
    if (r == 0)
        r = scan_range(&scan, range, ret_at);
    keep_largest(&s->most_rows, scan.most.rows);
    keep_largest(&s->most_bytes, scan.most.bytes);
    pthread_mutex_unlock(&s->read_lock);
    return r;
}

static void sqlite_most(struct store *store, struct store_read_counts *ret)
{
    const struct sqlite_store *s = sqlite_of(store);

    ret->rows = vat_u64_load(&s->most_rows, VAT_RLX);
    ret->bytes = vat_u64_load(&s->most_bytes, VAT_RLX);
}

static uint64_t sqlite_last_id(struct store *store)
{
    return sqlite_of(store)->last_id;
}

const struct store_reader_ops sqlite_reader = {
    .load = sqlite_load,
    .last_id = sqlite_last_id,
    .has = sqlite_has,
    .history = sqlite_history,
    .most = sqlite_most,
};

const struct store_blob_ops sqlite_blobs = {.output = sqlite_output};
