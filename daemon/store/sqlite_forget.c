/* Retention: purges the oldest ended jobs of each owner (owners.h), and other jobs on
 * demand.
 *
 * Jobs with neighbouring ids mostly end, and leave, together. A run of them costs one
 * pass over its rows for the sums, and one deletion per table, instead of some statements
 * per job. */
#include <errno.h>

#include "daemon/job/spec_pack.h"
#include "daemon/store/sqlite_store.h"

/* Binds a run of ids to a statement. */
static sqlite3_stmt *over(struct sqlite_store *s, enum db_statement which, int64_t first,
                          int64_t last)
{
    sqlite3_stmt *st = s->db.statement[which];

    (void)sqlite3_bind_int64(st, 1, first);
    (void)sqlite3_bind_int64(st, 2, last);
    return st;
}

static int drop(struct sqlite_store *s, enum db_statement which, int64_t first,
                int64_t last)
{
    return db_run(over(s, which, first, last));
}

/* Deletes the events or outputs of a run of jobs. The columns are the key (job, b, c),
 * then the body. */
static int drop_rows(struct sqlite_store *s, enum row_table table, int64_t first,
                     int64_t last)
{
    const bool events = table == ROW_EVENT;
    struct row_sum *sum = events ? &s->sums.event : &s->sums.output;
    sqlite3_stmt *st = over(s, events ? DB_EVENT_RUN : DB_OUTPUT_RUN, first, last);
    int rc = sqlite3_step(st), rows = 0;

    for (; rc == SQLITE_ROW; rc = sqlite3_step(st), rows++) {
        const struct row_key key = {.table = table,
                                    .a = sqlite3_column_int64(st, 0),
                                    .b = sqlite3_column_int64(st, 1),
                                    .c = sqlite3_column_int64(st, 2)};

        row_sum_remove(sum, row_digest(sqlite3_column_blob(st, 3),
                                       (size_t)sqlite3_column_bytes(st, 3), &key));
    }
    (void)sqlite3_reset(st);
    if (rc != SQLITE_DONE || !rows)
        return rc == SQLITE_DONE ? SQLITE_OK : rc;
    return drop(s, events ? DB_EVENT_DROP : DB_OUTPUT_DROP, first, last);
}

/* Counts one use less of each content that a job's body names. *ret_exec: the job is of
 * kind exec. */
static int unuse_contents(struct sqlite_store *s, const void *body, size_t n,
                          bool *ret_exec)
{
    struct unpack u = unpack_of(body, n);
    int rc = SQLITE_OK;

    for (int i = 0; i < 3; i++)
        (void)unpack_number(&u);
    for (int i = 0; i < 2 && rc == SQLITE_OK; i++)
        rc = sqlite_content_unuse(s, (int64_t)unpack_number(&u));
    *ret_exec = spec_pack_is_exec(u.at, unpack_left(&u));
    return rc;
}

/* Deletes the rows of a run of jobs. `ids` has an entry for each job, which becomes 0
 * unless the job is of kind exec. */
static int drop_jobs(struct sqlite_store *s, int64_t first, int64_t last, uint64_t *ids)
{
    sqlite3_stmt *st = over(s, DB_JOB_RUN, first, last);
    int rc = sqlite3_step(st);
    int64_t rows = 0;

    for (; rc == SQLITE_ROW; rows++) {
        const struct row_key key = {.table = ROW_JOB,
                                    .a = sqlite3_column_int64(st, 0),
                                    .b = sqlite3_column_int64(st, 1)};
        const void *body = sqlite3_column_blob(st, 2);
        size_t n = (size_t)sqlite3_column_bytes(st, 2);

        row_sum_remove(&s->sums.job, row_digest(body, n, &key));
        bool exec = true;

        rc = unuse_contents(s, body, n, &exec);
        if (!exec && key.a >= first && key.a <= last)
            ids[key.a - first] = 0;
        if (rc == SQLITE_OK)
            rc = sqlite3_step(st);
    }
    (void)sqlite3_reset(st);
    if (rc == SQLITE_DONE && rows != last - first + 1)
        return SQLITE_CORRUPT;
    return rc == SQLITE_DONE ? drop(s, DB_JOB_DROP, first, last) : rc;
}

/* Deletes n ended jobs with consecutive ids. */
static int drop_run(struct sqlite_store *s, uint64_t *ids, int n)
{
    const int64_t first = (int64_t)ids[0], last = (int64_t)ids[n - 1];
    int rc = drop_rows(s, ROW_EVENT, first, last);

    if (rc == SQLITE_OK)
        rc = drop_rows(s, ROW_OUTPUT, first, last);
    if (rc == SQLITE_OK)
        rc = drop_jobs(s, first, last, ids);
    return rc == SQLITE_OK ? drop(s, DB_ENDED_DROP, first, last) : rc;
}

/* Reads from a job's body its number of elements; 1: no array. Returns SQLITE_OK or the
 * error. */
static int count_of(const void *body, size_t n, uint64_t *ret)
{
    struct unpack u = unpack_of(body, n);

    for (int i = 0; i < 5; i++)
        (void)unpack_number(&u);
    int r = u.failed ? -EBADMSG : spec_pack_count(u.at, unpack_left(&u), ret);
    return r == 0 ? SQLITE_OK : r == -ENOMEM ? SQLITE_NOMEM : SQLITE_CORRUPT;
}

/* Removes the ended job at which the statement stands from the sums. Returns SQLITE_OK or
 * the error. */
static int take_out(struct sqlite_store *s, sqlite3_stmt *st)
{
    const struct row_key key = {.table = ROW_ENDED,
                                .a = sqlite3_column_int64(st, 0),
                                .b = sqlite3_column_int64(st, 1),
                                .c = sqlite3_column_int64(st, 2)};
    struct owner_change less = {.uid = (uid_t)sqlite3_column_int64(st, 3), .jobs = -1};
    const void *body = sqlite3_column_blob(st, 4);
    uint64_t count = 0;
    int rc = count_of(body, (size_t)sqlite3_column_bytes(st, 4), &count);

    if (rc != SQLITE_OK)
        return rc;
    row_sum_remove(&s->sums.ended, row_digest(NULL, 0, &key));
    less.elements = -(int64_t)count;
    int r = owners_change(&s->owners, &less);
    return r == 0 ? SQLITE_OK : r == -ENOMEM ? SQLITE_NOMEM : SQLITE_CORRUPT;
}

static sqlite3_stmt *oldest(struct sqlite_store *s, const struct owner *owner, int most)
{
    sqlite3_stmt *st = s->db.statement[DB_ENDED_OLDEST];

    (void)sqlite3_bind_int64(st, 1, most);
    (void)sqlite3_bind_int64(st, 2, owner->uid);
    return st;
}

int sqlite_choose_leaving(struct sqlite_store *s, const struct store_retention *keep,
                          uint64_t before_usec, struct owner *owner)
{
    const uint64_t beyond = owner_beyond(owner, owners_share(&s->owners, keep->jobs));
    sqlite3_stmt *st = oldest(s, owner, FORGET_SLICE);
    int rc, n = 0;

    s->leaver = owner;
    while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
        const uint64_t id = (uint64_t)sqlite3_column_int64(st, 0);

        if ((uint64_t)n >= beyond && (uint64_t)sqlite3_column_int64(st, 1) >= before_usec)
            break;
        s->leaving[n++] = id;
    }
    (void)sqlite3_reset(st);
    if (keep->unneeded && n > 0)
        n = (int)keep->unneeded(keep->unneeded_arg, s->leaving, (size_t)n);
    s->nleaving = n;
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* Notes in `forgotten` the leaving jobs that are still beyond retention, and removes them
 * from the sums. Returns SQLITE_OK or the error. */
static int choose(struct sqlite_store *s, uint64_t keep, uint64_t before_usec, int *ret_n)
{
    const uint64_t share = owners_share(&s->owners, keep);
    sqlite3_stmt *st = oldest(s, s->leaver, s->nleaving);
    int rc = SQLITE_OK;

    *ret_n = 0;
    while (rc == SQLITE_OK && (rc = sqlite3_step(st)) == SQLITE_ROW) {
        const uint64_t id = (uint64_t)sqlite3_column_int64(st, 0);

        if (id != s->leaving[*ret_n]) /* another is the oldest now */
            break;
        if (!owner_beyond(s->leaver, share) &&
            (uint64_t)sqlite3_column_int64(st, 1) >= before_usec)
            break;
        s->forgotten[(*ret_n)++] = id;
        rc = take_out(s, st);
    }
    (void)sqlite3_reset(st);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

int sqlite_forget(struct sqlite_store *s, uint64_t keep, uint64_t before_usec, int *ret_n)
{
    int end, rc = choose(s, keep, before_usec, ret_n);

    for (int i = 0; i < *ret_n && rc == SQLITE_OK; i = end) {
        for (end = i + 1; end < *ret_n && s->forgotten[end] == s->forgotten[end - 1] + 1;)
            end++;
        rc = drop_run(s, s->forgotten + i, end - i);
    }
    return rc;
}

int sqlite_forget_one(struct sqlite_store *s, int64_t id)
{
    sqlite3_stmt *get = s->db.statement[DB_ENDED_GET];
    const struct store_key none = {.id = (uint64_t)id};
    uint64_t ids[] = {(uint64_t)id};

    int rc = sqlite_put_key(s, &none);
    if (rc != SQLITE_OK)
        return rc;
    (void)sqlite3_bind_int64(get, 1, id);
    rc = sqlite3_step(get);
    const bool there = rc == SQLITE_ROW;
    if (there)
        rc = take_out(s, get);
    (void)sqlite3_reset(get);
    if (!there) /* purged before, or not ended */
        return rc == SQLITE_DONE ? SQLITE_OK : rc;
    if (rc == SQLITE_OK)
        rc = drop_run(s, ids, 1);
    if (rc == SQLITE_OK && ids[0])
        pack_number(&s->cleaned, ids[0]);
    return s->cleaned.failed ? SQLITE_NOMEM : rc;
}

/* --- the interface ------------------------------------------------------------------ */

static void sqlite_retain(struct store *store, const struct store_retention *retention)
{
    groups_retain(&sqlite_of(store)->groups, retention);
}

const struct store_retention_ops sqlite_retention = {
    .retain = sqlite_retain,
    .forget = sqlite_append_forget,
};
