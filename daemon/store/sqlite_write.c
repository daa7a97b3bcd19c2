/* The writer: turns groups into transactions, checkpoints the journal, and handles errors
 * of the disk.
 *
 *   disk full      submissions of the group and further ones are refused. The reserve is
 *                  released for the other facts, which are tried until they are durable.
 *                  Every FULL_RETRY the writer tries to take the reserve again; once it
 *                  has its room, submissions are accepted again.
 *   disk failing   any other error of a file, or the file was removed. Nothing of the
 *                  group is acknowledged. After a failed fsync the kernel calls pages
 *                  clean that are not on disk, so a retry would lie. The writer logs the
 *                  error and voltd ends at once. The next start copies the journal into
 *                  the file and syncs that before it begins; jobs run on.
 *   anything else  no memory, a lock of another process, rows that SQLite rejects: the
 *                  group is tried again. If that does not help soon, its submissions and
 *                  further ones are refused. The other facts are tried until they are
 *                  durable, at growing intervals. When a transaction succeeds,
 *                  submissions are accepted again. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/crash.h"
#include "daemon/store/reserve.h"
#include "daemon/store/sqlite_store.h"
#include "daemon/store/sqlite_wal.h"

#define CHECKPOINT_PAGES 4096  /* 16 MiB of journal */
#define CHECKPOINT_FULL  256   /* so that the reserve lasts */
#define TRUNCATE_PAGES   16384 /* 64 MiB, if readers hold it up: truncate when possible */
#define AHEAD_LEAST      64    /* frames; the journal is extended to twice its use, */
#define AHEAD_MOST       (CHECKPOINT_PAGES + 256)
#define AHEAD_LOW        16 /* when fewer than these are left */
#define FULL_RETRY       UINT64_C(250000)
#define FAILING_RETRY    UINT64_C(500000)
#define RETRY_DOUBLES    3     /* up to 4 s */
#define PASSING_TRIES    3     /* FULL_RETRY apart, for errors that may pass */
#define FORGET_BEHIND    20000 /* ended jobs beyond retention, under load */
#define FORGET_EVERY     UINT64_C(60000000) /* between checks of ages */
#define LAST_TRIES       8                  /* while voltd ends */

__attribute__((format(printf, 2, 3))) static void say(struct sqlite_store *s,
                                                      const char *format, ...)
{
    char text[256];
    va_list ap;

    if (!s->tell)
        return;
    va_start(ap, format);
    (void)vsnprintf(text, sizeof(text), format, ap);
    va_end(ap);
    s->tell(text);
}

/* --- one transaction ------------------------------------------------------------ */

static void take_back(struct sqlite_store *s, const struct row_sums *before)
{
    if (!sqlite3_get_autocommit(s->db.handle))
        (void)db_run(s->db.statement[DB_ROLLBACK]);
    sqlite_rolled_back(s, before);
}

static bool has_others(const struct group_entry *e)
{
    while (e && e->submits)
        e = e->next;
    return e;
}

/* Commits, unless the file was removed or moved away: then nothing would be durable. */
static int commit(struct sqlite_store *s)
{
    int moved = 0;
    int rc = sqlite3_file_control(s->db.handle, "main", SQLITE_FCNTL_HAS_MOVED, &moved);

    if (rc == SQLITE_OK && moved)
        return SQLITE_READONLY_DBMOVED;
    groups_step(&s->groups, true);
    rc = db_run(s->db.statement[DB_COMMIT]);
    groups_step(&s->groups, false);
    return rc;
}

/* Writes the group in one transaction, with or without its submissions. Returns SQLITE_OK
 * if it is durable; otherwise nothing has changed. */
static int write_once(struct sqlite_store *s, const struct group_entry *first,
                      bool with_submits)
{
    const struct row_sums before = s->sums;

    if (!with_submits && !has_others(first))
        return SQLITE_OK;
    int rc = db_run(s->db.statement[DB_BEGIN]);
    CRASH_POINT("store-begun");
    for (const struct group_entry *e = first; rc == SQLITE_OK && e; e = e->next) {
        groups_step(&s->groups, false);
        if (with_submits || !e->submits)
            rc = sqlite_apply(s, (const struct entry *)e);
    }
    if (rc == SQLITE_OK)
        rc = sqlite_save_sums(s);
    CRASH_POINT("store-written");
    if (rc == SQLITE_OK)
        rc = commit(s);
    CRASH_POINT("store-committed");
    if (rc == SQLITE_OK) {
        sqlite_committed(s);
        sqlite_tell(s);
        return rc;
    }
    take_back(s, &before);
    return rc;
}

/* Sets why submissions are refused: `failing` before `full`. */
static void set_refusal(struct sqlite_store *s)
{
    groups_refuse(&s->groups, s->failing ? -EIO : s->full ? -ENOSPC : 0);
}

/* --- full ----------------------------------------------------------------------- */

void sqlite_become_full(struct sqlite_store *s)
{
    if (!s->full)
        say(s,
            "the disk of %.150s is full: no jobs are taken until %d MiB are free there",
            s->dir, RESERVE_BYTES >> 20);
    s->full = true;
    set_refusal(s);
    reserve_release(s->dir);
}

static void look_for_room(struct sqlite_store *s)
{
    if (!s->full || reserve_take(s->dir) < 0)
        return;
    s->full = false;
    set_refusal(s);
    say(s, "there is room on the disk again: jobs are taken");
}

/* --- failing -------------------------------------------------------------------- */

static void become_failing(struct sqlite_store *s, int rc)
{
    if (!s->failing)
        say(s, "cannot write %.100s: %s: no jobs are taken until it can be written",
            s->dir, db_text(&s->db, rc));
    s->failing = true;
    set_refusal(s);
}

static void become_sound(struct sqlite_store *s)
{
    if (!s->failing)
        return;
    s->failing = false;
    set_refusal(s);
    say(s, "the store can be written again");
}

/* Returns whether the disk failed: its cache is then not to be trusted. */
static bool is_of_disk(struct sqlite_store *s, int rc)
{
    return db_needs_restart(rc) && !db_is_full(&s->db, rc);
}

/* Gives up: voltd ends. In a test, which goes on, nothing is written any more. */
static void give_up(struct sqlite_store *s, int rc)
{
    say(s, "cannot write %.100s: %s: voltd ends, to go on with what is on disk", s->dir,
        db_text(&s->db, rc));
    s->given_up = s->failing = true;
    set_refusal(s);
    if (s->failed)
        s->failed();
}

/* Tries whether a store that failed can be written, by a transaction without changes. */
static void look_for_health(struct sqlite_store *s)
{
    const struct row_sums before = s->sums;

    if (!s->failing || s->given_up)
        return;
    int rc = db_run(s->db.statement[DB_BEGIN]);
    if (rc == SQLITE_OK)
        rc = sqlite_save_sums(s);
    if (rc == SQLITE_OK)
        rc = commit(s);
    if (rc == SQLITE_OK) {
        become_sound(s);
        return;
    }
    take_back(s, &before);
    if (is_of_disk(s, rc))
        give_up(s, rc);
}

/* --- groups --------------------------------------------------------------------- */

/* State of the group that is being written. */
struct attempt {
    int refused; /* 0, or the -errno with which its submissions have ended */
    unsigned failures, pauses;
};

/* Handles an error that does not pass: the submissions of the group are refused, and each
 * retry of the other facts waits longer. */
static void persist(struct sqlite_store *s, struct attempt *a, int rc)
{
    become_failing(s, rc);
    if (!a->refused) {
        groups_refuse_taken(&s->groups, -EIO);
        a->refused = -EIO;
        return;
    }
    groups_pause(&s->groups, FAILING_RETRY << a->pauses);
    a->pauses += a->pauses < RETRY_DOUBLES;
}

/* Handles an error that is neither a full nor a failing disk. */
static void bear(struct sqlite_store *s, struct attempt *a, int rc)
{
    if ((rc == SQLITE_NOMEM || rc == SQLITE_BUSY) && a->failures++ < PASSING_TRIES)
        groups_pause(&s->groups, FULL_RETRY);
    else
        persist(s, a, rc); /* next without its submissions, as one may be the cause */
}

/* Writes a group until it is durable. *ret_submits: the status of its submissions.
 * Returns 0; -EIO: voltd ends before the group is durable. */
static int write_group(struct sqlite_store *s, const struct group_entry *first,
                       int *ret_submits)
{
    struct attempt a = {0};

    while (!s->given_up) {
        int rc = write_once(s, first, !a.refused);

        *ret_submits = a.refused;
        if (rc == SQLITE_OK) {
            if (!a.refused || has_others(first))
                become_sound(s);
            return 0;
        }
        if (groups_stopping(&s->groups) && s->last_tries++ == LAST_TRIES)
            break;
        if (db_is_full(&s->db, rc)) {
            if (a.refused)
                groups_pause(&s->groups, FULL_RETRY);
            sqlite_become_full(s);
            if (!a.refused)
                a.refused = -ENOSPC;
        } else if (is_of_disk(s, rc)) {
            give_up(s, rc);
        } else {
            bear(s, &a, rc);
        }
    }
    return *ret_submits = -EIO;
}

static void free_entries(struct group_entry *e)
{
    while (e) {
        struct group_entry *next = e->next;
        free(e);
        e = next;
    }
}

static int note_pages(void *store, sqlite3 *handle, const char *name, int pages)
{
    struct sqlite_store *s = store;

    (void)handle;
    (void)name;
    s->wal_pages = pages;
    return SQLITE_OK;
}

void sqlite_watch_journal(struct sqlite_store *s)
{
    (void)sqlite3_wal_hook(s->db.handle, note_pages, s);
}

/* Extends the journal, so that the next commits find blocks to write into:
 * sqlite_wal.h. */
static void write_ahead(struct sqlite_store *s)
{
    char path[PATH_MAX];
    int room = s->wal_pages * 2;

    if (!s->store.durable || s->full || s->wal_pages == 0 ||
        s->wal_pages + AHEAD_LOW <= s->wal_room || s->wal_room >= AHEAD_MOST)
        return;
    room = room < AHEAD_LEAST ? AHEAD_LEAST : room > AHEAD_MOST ? AHEAD_MOST : room;
    /* Without room SQLite extends the journal itself. The next extension is tried when
     * this one is used up. */
    if (db_path(s->dir, s->number, "", path) == 0)
        (void)wal_extend(path, wal_bytes((uint64_t)room));
    s->wal_room = room;
}

static void checkpoint(struct sqlite_store *s)
{
    if (s->wal_pages < (s->full ? CHECKPOINT_FULL : CHECKPOINT_PAGES))
        return;
    int mode = s->wal_pages < TRUNCATE_PAGES ? SQLITE_CHECKPOINT_PASSIVE
                                             : SQLITE_CHECKPOINT_TRUNCATE;
    int rc = sqlite3_wal_checkpoint_v2(s->db.handle, NULL, mode, NULL, NULL);

    s->wal_pages = 0; /* the next commit sets it */
    if (mode == SQLITE_CHECKPOINT_TRUNCATE)
        s->wal_room = 0;
    if (db_is_full(&s->db, rc))
        sqlite_become_full(s);
    else if (is_of_disk(s, rc))
        give_up(s, rc);
}

static uint64_t now_usec(clockid_t clock)
{
    struct timespec ts;

    (void)clock_gettime(clock, &ts);
    return (uint64_t)ts.tv_sec * 1000000;
}

/* Times before which jobs and keys must have ended to be old enough. */
struct ages {
    uint64_t jobs, keys;
};

static struct ages oldest_to_keep(struct sqlite_store *s,
                                  const struct store_retention *keep)
{
    const uint64_t wall = now_usec(CLOCK_REALTIME), elapsed = now_usec(CLOCK_BOOTTIME);
    bool jumped, keys_jumped;
    const struct ages ages = {
        .jobs = age_limit(&s->age, wall, elapsed, keep->usec, &jumped),
        .keys = age_limit(&s->key_age, wall, elapsed, keep->key_usec, &keys_jumped)};

    if (jumped || keys_jumped)
        say(s, "the clock has gone far ahead: no ended job and no key is forgotten for "
               "its age within a day, should it go back");
    s->aged = elapsed;
    return ages;
}

/* Handles an error of purging. A damaged row is met again and again, so it is logged
 * once. A disk error at the commit is handled as for a group; an earlier one has changed
 * nothing. */
static void bear_forgetting(struct sqlite_store *s, int rc, bool at_commit)
{
    if (rc == SQLITE_CORRUPT && !s->told_forgetting)
        say(s, "ended jobs cannot be forgotten: the store is damaged (voltd "
               "--check-store, run as this voltd is, says where)");
    s->told_forgetting |= rc == SQLITE_CORRUPT;
    if (at_commit && is_of_disk(s, rc))
        give_up(s, rc);
}

/* Limits of the jobs or keys that one transaction deletes. */
struct slice {
    const struct store_retention *keep;
    struct owner *owner;
    uint64_t before_usec;
};
/* Deletes at most FORGET_SLICE jobs or keys; *ret_n: their number. Returns SQLITE_OK or
 * the error. */
typedef int slice_fn(struct sqlite_store *s, const struct slice *slice, int *ret_n);

static int forget_jobs(struct sqlite_store *s, const struct slice *slice, int *ret_n)
{
    return sqlite_forget(s, slice->keep->jobs, slice->before_usec, ret_n);
}

static int expire_keys(struct sqlite_store *s, const struct slice *slice, int *ret_n)
{
    return sqlite_expire_keys(s, slice->owner, slice->before_usec, ret_n);
}

/* Deletes one slice in a transaction. Returns the number of jobs or keys; -1: the slice
 * failed, and the next group will meet the error if it lasts. */
static int delete_slice(struct sqlite_store *s, slice_fn *fn, const struct slice *slice)
{
    const struct row_sums before = s->sums;
    int n = 0, rc = db_run(s->db.statement[DB_BEGIN]);

    groups_step(&s->groups, false);
    if (rc == SQLITE_OK)
        rc = fn(s, slice, &n);
    if (rc == SQLITE_OK)
        rc = sqlite_save_sums(s);
    const bool at_commit = rc == SQLITE_OK;
    if (at_commit)
        rc = commit(s);
    if (rc == SQLITE_OK) {
        sqlite_committed(s);
        return n;
    }
    take_back(s, &before);
    bear_forgetting(s, rc, at_commit);
    return -1;
}

/* Returns whether a group waits for the writer, or voltd ends. */
static bool is_wanted(struct sqlite_store *s)
{
    return groups_busy(&s->groups) || groups_stopping(&s->groups);
}

/* Deletes the owner's keys that are too old. Returns false if a group waits for the
 * writer, or if a slice failed. */
static bool expire_of(struct sqlite_store *s, const struct slice *slice)
{
    const struct store_retention *keep = slice->keep;
    int n = FORGET_SLICE;

    while (slice->owner->keys && n == FORGET_SLICE) {
        n = delete_slice(s, expire_keys, slice);
        for (int i = 0; keep->key_gone && i < n; i++)
            keep->key_gone(keep->key_gone_arg, &s->expired[i]);
        if (n < 0 || is_wanted(s))
            return false;
    }
    return true;
}

/* Chooses the owner's jobs to purge next. Returns whether some may be purged now. If
 * facts were appended before it asked which jobs are needed, these facts must be written
 * first. */
static bool choose_leaving(struct sqlite_store *s, const struct slice *slice)
{
    int rc = sqlite_choose_leaving(s, slice->keep, slice->before_usec, slice->owner);

    if (rc != SQLITE_OK)
        bear_forgetting(s, rc, false);
    return rc == SQLITE_OK && s->nleaving > 0 && !groups_busy(&s->groups);
}

/* Purges the owner's jobs beyond retention. Returns false if a group waits for the
 * writer. */
static bool forget_of(struct sqlite_store *s, const struct slice *slice)
{
    const struct store_retention *keep = slice->keep;
    int n = FORGET_SLICE;

    while (n == FORGET_SLICE) {
        if (s->nleaving == 0 && !choose_leaving(s, slice))
            return s->nleaving == 0;
        n = delete_slice(s, forget_jobs, slice);
        s->nleaving = 0;
        for (int i = 0; keep->gone && i < n; i++)
            if (s->forgotten[i])
                keep->gone(keep->gone_arg, s->forgotten[i]);
        if (is_wanted(s))
            return false;
    }
    return true;
}

/* Purges ended jobs and keys beyond retention, after a group or when idle. Slices keep
 * the cost at a commit per FORGET_SLICE jobs. Under load it waits until many jobs have
 * come together. By age it purges when the writer is idle, and every FORGET_EVERY; if a
 * group interrupts it, it goes on after that group. */
static void forget(struct sqlite_store *s, bool idle)
{
    struct store_retention keep = groups_retention(&s->groups);
    const uint64_t share = owners_share(&s->owners, keep.jobs);
    const uint64_t beyond = owners_beyond(&s->owners, share);
    const uint64_t least = idle                      ? 1
                           : groups_busy(&s->groups) ? FORGET_BEHIND
                                                     : FORGET_SLICE;
    const bool by_age =
        idle || s->aging || now_usec(CLOCK_BOOTTIME) - s->aged >= FORGET_EVERY;
    struct hash_cursor c = {0};
    struct owner *owner = s->nleaving ? s->leaver : owners_each(&s->owners, &c);

    if (s->full || s->failing || (beyond < least && !by_age))
        return;
    const struct ages limit =
        by_age ? oldest_to_keep(s, &keep) : (struct ages){.jobs = 0};
    s->aging = false;
    for (; owner; owner = owners_each(&s->owners, &c)) {
        const struct slice jobs = {&keep, owner, limit.jobs},
                           keys = {&keep, owner, limit.keys};

        if (((by_age ? owner->jobs : owner_beyond(owner, share)) &&
             !forget_of(s, &jobs)) ||
            (by_age && !expire_of(s, &keys))) {
            s->aging = by_age && is_wanted(s);
            return;
        }
    }
}

/* Returns how long the writer may sleep without a group. Ages need a check only every
 * FORGET_EVERY. */
static uint64_t patience(struct sqlite_store *s)
{
    if (s->full)
        return FULL_RETRY;
    if (s->failing)
        return FAILING_RETRY;
    return s->sums.ended.rows || s->sums.key.rows ? FORGET_EVERY : UINT64_MAX;
}

void *sqlite_writer(void *store)
{
    struct sqlite_store *s = store;

    s->aged = now_usec(CLOCK_BOOTTIME);
    age_start(&s->age, s->aged);
    age_start(&s->key_age, s->aged);
    for (;;) {
        struct group_entry *first = groups_take(&s->groups, patience(s));
        int submits;

        look_for_room(s);
        look_for_health(s);
        if (!first) {
            if (groups_stopping(&s->groups))
                return NULL;
            forget(s, true);
            continue;
        }
        int r = write_group(s, first, &submits);
        free_entries(first);
        groups_done(&s->groups, submits, r);
        CRASH_POINT("store-told");
        groups_step(&s->groups, true);
        checkpoint(s);
        write_ahead(s);
        groups_step(&s->groups, false);
        forget(s, false);
    }
}
