/* Opens, loads and closes the store: see sqlite.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "daemon/store/reserve.h"
#include "daemon/store/sqlite_scan.h"
#include "daemon/store/sqlite_store.h"
#include "daemon/store/sqlite_wal.h"

/* --- errors --------------------------------------------------------------------- */

static int say_errno(struct volt_error *err, int r, const char *what)
{
    if (err)
        (void)snprintf(err->text, sizeof(err->text), "%.180s: %s", what, file_text(r));
    return r;
}

int sqlite_damaged(void *err, const char *text)
{
    if (err)
        (void)snprintf(((struct volt_error *)err)->text, sizeof(struct volt_error),
                       "the store is damaged: %.200s", text);
    return -EBADMSG;
}

/* --- load ----------------------------------------------------------------------- */

/* Writes the store's id, its starts and its life in one transaction. */
static int write_self(struct sqlite_store *s, struct volt_error *err)
{
    struct pack p = {0};

    db_life_pack(&s->life, &p);
    int rc = db_run(s->db.statement[DB_BEGIN]);
    if (rc == SQLITE_OK)
        rc = db_meta_put(&s->db, "life", &p);
    if (rc == SQLITE_OK)
        rc = db_self_put(&s->db, &s->self);
    if (rc == SQLITE_OK)
        rc = db_run(s->db.statement[DB_COMMIT]);
    pack_fini(&p);
    return rc == SQLITE_OK ? 0 : db_error(&s->db, rc, "the store", err);
}

/* Copies the journal into the file and syncs that, before the first commit. If an earlier
 * voltd ended by a failed fsync, the kernel calls pages clean that are not on disk. A
 * reader or a full disk may prevent the copy; the store starts without it. */
static int write_through(struct sqlite_store *s, struct volt_error *err)
{
    int rc = sqlite3_wal_checkpoint_v2(s->db.handle, NULL, SQLITE_CHECKPOINT_TRUNCATE,
                                       NULL, NULL);

    return db_needs_restart(rc) && !db_is_full(&s->db, rc)
               ? db_error(&s->db, rc, s->dir, err)
               : 0;
}

/* Reads everything but outputs, which are proved when they are read. */
static int read_all(struct sqlite_store *s, struct scan *scan, struct row_sums *ret_found)
{
    struct volt_error *err = scan->damage_arg;
    int r = scan_run(scan, ret_found);

    if (r == 0)
        ret_found->output = s->sums.output;
    if (r == 0)
        r = scan_prove_sums(scan, &s->sums, ret_found);
    /* fn sets err itself */
    return r < 0 && err && !err->text[0] ? say_errno(err, r, s->dir) : r;
}

/* Makes the first writes to a store that is proved: from now on it is in use. */
static int take_it(struct sqlite_store *s, struct volt_error *err)
{
    int r = write_through(s, err);

    if (r == 0)
        r = write_self(s, err);
    if (r == -ENOSPC) { /* others have filled the disk since: this needs some pages too */
        sqlite_become_full(s);
        r = write_self(s, err);
    }
    if (r == 0)
        (void)sqlite3_db_config(s->db.handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, NULL);
    if (r == 0)
        db_sweep(s->dir, s->number);
    return r;
}

int sqlite_load(struct store *store, store_load_fn *fn, void *arg, struct volt_error *err)
{
    struct sqlite_store *s = sqlite_of(store);
    struct row_sums found;
    struct scan scan = {.db = &s->db,
                        .fn = fn,
                        .arg = arg,
                        .life = s->life.number,
                        .contents = &s->contents,
                        .owners = &s->owners,
                        .damage = sqlite_damaged,
                        .damage_arg = err};

    int r = read_all(s, &scan, &found);
    owners_committed(&s->owners); /* rows that were read are committed */
    if (r != 0)
        return r;
    if (s->sums.last_id < found.last_id) /* from an earlier format */
        s->sums.last_id = found.last_id;
    s->last_id = s->sums.last_id;
    r = take_it(s, err);
    if (r < 0)
        return r;
    r = -pthread_create(&s->writer, NULL, sqlite_writer, s);
    s->running = r == 0;
    return r < 0 ? say_errno(err, r, "the writer of the store") : 0;
}

/* --- witness --------------------------------------------------------------------- */

static void tell_witness(struct sqlite_store *s, const struct volt_error *err)
{
    char text[sizeof(err->text) + 80];

    (void)snprintf(text, sizeof(text),
                   "%s: an older copy in the place of the store may go unnoticed",
                   err->text);
    if (s->tell)
        s->tell(text);
}

/* Syncs the journal, as no commit with no_sync has done so: the witness must not be ahead
 * of the disk. */
static int sync_journal(struct sqlite_store *s, struct volt_error *err)
{
    char path[PATH_MAX];
    int r = db_path(s->dir, s->number, "", path);

    if (r == 0)
        r = wal_sync(path);
    return r < 0 ? error_set(err, r, "%.180s-wal: %s", path, file_text(r)) : 0;
}

/* Writes the witness. Logs a failure once, until a write succeeds. */
static int write_witness(struct sqlite_store *s, bool lasting)
{
    struct volt_error err;

    pthread_mutex_lock(&s->witness_lock);
    pthread_mutex_lock(&s->self_lock);
    const struct witness self = s->self;
    s->witnessed = true;
    pthread_mutex_unlock(&s->self_lock);
    int r = s->store.durable ? 0 : sync_journal(s, &err);
    if (r == 0)
        r = witness_write(s->dir, &self, lasting, &err);
    pthread_mutex_lock(&s->self_lock);
    const bool news = r < 0 && !s->told_witness;
    s->told_witness = r < 0;
    pthread_mutex_unlock(&s->self_lock);
    pthread_mutex_unlock(&s->witness_lock);
    if (news)
        tell_witness(s, &err);
    return r;
}

static int sqlite_witness(struct store *s, bool lasting)
{
    return write_witness(sqlite_of(s), lasting);
}

/* --- open and close ------------------------------------------------------------- */

static void sqlite_free(struct store *store)
{
    struct sqlite_store *s = sqlite_of(store);

    if (s->running) {
        groups_stop(&s->groups);
        (void)pthread_join(s->writer, NULL);
    }
    if (s->witnessed)
        (void)write_witness(s, true); /* logged */
    db_close(&s->reader);             /* no reader is left */
    db_close(&s->db);
    groups_fini(&s->groups);
    contents_fini(&s->contents);
    owners_fini(&s->owners);
    pack_fini(&s->last_content);
    pack_fini(&s->scratch);
    free(s->news.news);
    pack_fini(&s->cleaned);
    free(s->undo);
    free(s->forgotten);
    free(s->expired);
    pthread_mutex_destroy(&s->read_lock);
    pthread_mutex_destroy(&s->read_turn);
    pthread_mutex_destroy(&s->self_lock);
    pthread_mutex_destroy(&s->witness_lock);
    free(s);
}

static const struct store_ops sqlite_ops = {
    .name = "sqlite",
    .witness = sqlite_witness,
    .free = sqlite_free,
};

static int read_meta(struct sqlite_store *s, struct volt_error *err)
{
    struct scan scan = {.db = &s->db, .damage = sqlite_damaged, .damage_arg = err};
    int r = scan_meta(&scan, &s->sums, &s->life, &s->self);

    return r < 0 && r != -EBADMSG ? say_errno(err, r, s->dir) : r;
}

static int new_id(struct witness *self)
{
    ssize_t n = getrandom(self->id, sizeof(self->id), 0);

    return n == (ssize_t)sizeof(self->id) ? 0 : n < 0 ? -errno : -EIO;
}

static bool has_id(const struct witness *self)
{
    static const uint8_t none[WITNESS_ID_SIZE];

    return memcmp(self->id, none, sizeof(none)) != 0;
}

/* Counts a start. A new boot or another record directory begins a new life. The load
 * writes both. */
static int begin(struct sqlite_store *s, const struct store_sqlite_options *o,
                 struct volt_error *err)
{
    static const uint8_t no_boot[STORE_ID_SIZE]; /* of a new store, or an accepted one */
    int r = has_id(&s->self) ? 0 : new_id(&s->self);

    if (r < 0)
        return say_errno(err, r, "the id of the store");
    s->self.starts++;
    s->store.rebooted = memcmp(s->life.boot_id, no_boot, STORE_ID_SIZE) != 0 &&
                        memcmp(s->life.boot_id, o->boot_id, STORE_ID_SIZE) != 0;
    if (!s->life.number || memcmp(s->life.boot_id, o->boot_id, STORE_ID_SIZE) != 0 ||
        memcmp(s->life.generation, o->generation, STORE_ID_SIZE) != 0)
        s->life.number++;
    memcpy(s->life.boot_id, o->boot_id, STORE_ID_SIZE);
    memcpy(s->life.generation, o->generation, STORE_ID_SIZE);
    return 0;
}

static int pass_over(void *arg, const struct store_loaded *loaded)
{
    (void)arg;
    (void)loaded;
    return 0;
}

/* Proves a store of an older format as a whole before it is migrated. */
static int prove_older(struct sqlite_store *s, struct volt_error *err)
{
    struct row_sums found;
    struct scan scan = {.db = &s->db,
                        .fn = pass_over,
                        .life = s->life.number,
                        .damage = sqlite_damaged,
                        .damage_arg = err};

    return s->db.version < DB_VERSION ? read_all(s, &scan, &found) : 0;
}

/* Judges the store before any of its files changes (journal, index, format): a copy in
 * its place, or a damaged store of an older format, is refused as it is. */
static int judge_untouched(struct sqlite_store *s, const char *path,
                           struct volt_error *err)
{
    int r = db_open(&s->db, path, DB_LOOK, err);

    if (r == 0)
        r = read_meta(s, err);
    if (r == 0)
        r = witness_judge(s->dir, &s->self, err);
    if (r == 0)
        r = prove_older(s, err);
    db_close(&s->db);
    return r;
}

/* Opens the newest store, or makes an empty one. accept: ignores the witness. */
static int open_newest(struct sqlite_store *s, bool accept, struct volt_error *err)
{
    char path[PATH_MAX];
    int r = db_newest(s->dir, &s->number);

    if (r < 0)
        return say_errno(err, r, s->dir);
    const bool empty = s->number == 0;
    if (empty)
        s->number = 1;
    r = db_path(s->dir, s->number, "", path);
    if (r < 0)
        return say_errno(err, r, s->dir);
    if (!accept)
        r = empty ? witness_judge(s->dir, NULL, err) : judge_untouched(s, path, err);
    if (r == 0 && empty)
        r = db_create(s->dir, s->number, err);
    return r < 0 ? r : db_open(&s->db, path, DB_WRITE, err);
}

static int open_store(struct sqlite_store *s, const struct store_sqlite_options *o,
                      struct volt_error *err)
{
    int r = open_newest(s, false, err);

    if (r == 0)
        r = read_meta(s, err);
    if (r == 0 && o->no_sync) /* only checkpoints wait for the disk, so the file stays
                               * valid */
        r = db_errno(&s->db, sqlite3_exec(s->db.handle, "PRAGMA synchronous=NORMAL", NULL,
                                          NULL, NULL));
    if (r == 0) /* until the store is proved: a refused start leaves it unchanged */
        (void)sqlite3_db_config(s->db.handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    return r < 0 ? r : begin(s, o, err);
}

/* Takes the reserve. Without it the ends of jobs have no room of their own, but voltd
 * starts all the same. */
static void take_reserve(struct sqlite_store *s)
{
    char text[256];
    int r = reserve_take(s->dir);

    if (r == -ENOSPC) {
        sqlite_become_full(s);
    } else if (r < 0 && s->tell) {
        (void)snprintf(text, sizeof(text), "%.150s/reserve: %s: no room is kept there",
                       s->dir, file_text(r));
        s->tell(text);
    }
}

static int alloc_store(const char *dir, struct sqlite_store **ret, struct volt_error *err)
{
    struct sqlite_store *s = calloc(1, sizeof(*s));

    if (!s)
        return say_errno(err, -ENOMEM, dir);
    s->forgotten = calloc(FORGET_SLICE, sizeof(*s->forgotten));
    s->expired = calloc(FORGET_SLICE, sizeof(*s->expired));
    int r = s->forgotten && s->expired ? groups_init(&s->groups) : -ENOMEM;
    if (r == 0 && (size_t)snprintf(s->dir, sizeof(s->dir), "%s", dir) >= sizeof(s->dir))
        r = -ENAMETOOLONG;
    if (r < 0) {
        free(s->forgotten);
        free(s->expired);
        free(s);
        return say_errno(err, r, dir);
    }
    pthread_mutex_init(&s->read_turn, NULL);
    pthread_mutex_init(&s->read_lock, NULL);
    pthread_mutex_init(&s->self_lock, NULL);
    pthread_mutex_init(&s->witness_lock, NULL);
    s->store = (struct store){.ops = &sqlite_ops,
                              .log = &sqlite_log,
                              .reader = &sqlite_reader,
                              .blobs = &sqlite_blobs,
                              .retention = &sqlite_retention};
    *ret = s;
    return 0;
}

int store_sqlite_open(const struct store_sqlite_options *o, struct store **ret,
                      struct volt_error *err)
{
    struct sqlite_store *s;
    int r = alloc_store(o->dir, &s, err);

    if (r < 0)
        return r;
    s->tell = o->tell;
    s->failed = o->failed;
    s->store.durable = !o->no_sync;
    r = open_store(s, o, err);
    if (r == -ENOSPC) { /* others have filled the disk since: opening needs some pages
                         * too */
        db_close(&s->db);
        reserve_release(s->dir);
        r = open_store(s, o, err);
    }
    if (r < 0) {
        sqlite_free(&s->store);
        return r;
    }
    sqlite_watch_journal(s);
    take_reserve(s);
    s->store.seed = s->owners.seed = s->life.seed;
    *ret = &s->store;
    return 0;
}

/* Gives the store a new id, so that earlier copies of it become other stores. The steps
 * that need room come first, the rename last. If the rename fails, the store gets its id
 * back. */
static int accept_it(struct sqlite_store *s, struct volt_error *err)
{
    const struct witness self = s->self;
    const struct db_life life = s->life;
    struct volt_error what;
    int r = new_id(&s->self);

    if (r < 0)
        return say_errno(err, r, "the id of the store");
    r = witness_prepare(s->dir, &s->self, &what);
    if (r < 0)
        return error_set(err, r, "%.230s: nothing has changed", what.text);
    memset(s->life.boot_id, 0, STORE_ID_SIZE); /* of no boot: the next start begins a new
                                                * life */
    r = write_self(s, err);
    if (r < 0)
        return r;
    r = witness_publish(s->dir, &what);
    if (r == 0)
        return 0;
    s->self = self;
    s->life = life;
    const bool back = write_self(s, NULL) == 0;
    return error_set(err, r, "%.200s: %s", what.text,
                     back ? "the store is as it was"
                          : "the store has a new id: accept it again");
}

static void describe(const struct sqlite_store *s, bool made, const struct witness *seen,
                     char text[256])
{
    const unsigned long long starts = s->self.starts, facts = s->self.facts;
    int n = snprintf(text, 256, "%s (start %llu, fact %llu)",
                     made ? "an empty store" : "the store", starts, facts);

    if (seen)
        (void)snprintf(text + n, 256 - (size_t)n,
                       " in the place of that which its witness has seen (start %llu, "
                       "fact %llu)",
                       (unsigned long long)seen->starts, (unsigned long long)seen->facts);
}

/* Accepts the store if its witness refuses it. Returns 1, 0 if it is not refused, or
 * -errno. */
static int accept_refused(struct sqlite_store *s, char text[256], struct volt_error *err)
{
    struct witness seen;
    const bool known = witness_read(s->dir, &seen) == 0;
    int r = open_newest(s, true, err);

    if (r == 0)
        r = read_meta(s, err);
    if (r < 0)
        return r;
    r = witness_judge(s->dir, &s->self, err);
    if (r != -STORE_NOT_WITNESSED)
        return r;
    describe(s, !has_id(&s->self) && s->self.facts == 0, known ? &seen : NULL, text);
    r = accept_it(s, err);
    return r < 0 ? r : 1;
}

/* Removes an empty store that was made to be accepted, but was not. */
static void remove_made(const char *dir, uint64_t number)
{
    static const char *const suffixes[] = {"", "-wal", "-shm"};
    char path[PATH_MAX];

    for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++)
        if (db_path(dir, number, suffixes[i], path) == 0)
            (void)unlink(path);
}

int store_sqlite_accept(const char *dir, char text[256], struct volt_error *err)
{
    struct sqlite_store *s;
    struct witness seen;
    uint64_t newest = 0;
    int r = witness_read(dir, &seen);

    if (r == -ENOENT)
        return 0;
    if (r < 0 && r != -EBADMSG)
        return witness_judge(dir, NULL, err);
    r = db_newest(dir, &newest);
    if (r < 0)
        return say_errno(err, r, dir);
    r = alloc_store(dir, &s, err);
    if (r < 0)
        return r;
    r = accept_refused(s, text, err);
    const uint64_t number = s->number;
    sqlite_free(&s->store);
    if (r <= 0 && newest == 0)
        remove_made(dir, number);
    return r;
}
