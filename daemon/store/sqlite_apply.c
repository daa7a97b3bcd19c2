/* Turns the entries of facts into rows: equal contents stored once, bodies sealed, sums
 * updated. */
#include <stdlib.h>
#include <string.h>

#include "daemon/job/event.h"
#include "daemon/store/sqlite_store.h"

/* --- contents ------------------------------------------------------------------- */

/* Makes room to note one undo, before anything changes. If a change were not noted, a
 * rollback would leave it in memory, which would then name a row that does not exist. */
static bool undo_room(struct sqlite_store *s)
{
    if (s->nundo == s->undo_capacity) {
        size_t capacity = s->undo_capacity ? s->undo_capacity * 2 : 256;
        struct undo *grown = reallocarray(s->undo, capacity, sizeof(*grown));

        if (!grown)
            return false;
        s->undo = grown;
        s->undo_capacity = capacity;
    }
    return true;
}

static void note_undo(struct sqlite_store *s, int64_t id, int uses, bool row)
{
    s->undo[s->nundo++] = (struct undo){id, uses, row};
}

static struct row_key content_key(int64_t id)
{
    return (struct row_key){.table = ROW_CONTENT, .a = id};
}

/* Returns whether these are the bytes of the content that was used last. */
static bool is_last(const struct sqlite_store *s, const void *bytes, size_t n)
{
    return s->last_content_id && s->last_content.n == n &&
           memcmp(s->last_content.bytes, bytes, n) == 0;
}

/* Sets *ret to whether content id has these bytes. Returns SQLITE_OK or the error. */
static int content_is(struct sqlite_store *s, int64_t id, const void *bytes, size_t n,
                      bool *ret)
{
    sqlite3_stmt *st = s->db.statement[DB_CONTENT_GET];

    if (id == s->last_content_id) {
        *ret = is_last(s, bytes, n);
        return SQLITE_OK;
    }
    (void)sqlite3_bind_int64(st, 1, id);
    int rc = sqlite3_step(st);
    if (rc == SQLITE_ROW) {
        const void *body = sqlite3_column_blob(st, 0);

        *ret =
            (size_t)sqlite3_column_bytes(st, 0) == n + 4 && memcmp(body, bytes, n) == 0;
        rc = SQLITE_OK;
    } else if (rc == SQLITE_DONE) {
        rc = SQLITE_CORRUPT; /* but memory has its slot */
    }
    (void)sqlite3_reset(st);
    return rc;
}

static int content_insert(struct sqlite_store *s, int64_t id, const void *bytes, size_t n)
{
    sqlite3_stmt *st = s->db.statement[DB_CONTENT_PUT];
    const struct row_key key = content_key(id);
    struct pack *p = &s->scratch;

    pack_clear(p);
    pack_raw(p, bytes, n);
    row_seal(p, 0, &key);
    if (p->failed)
        return SQLITE_NOMEM;
    (void)sqlite3_bind_int64(st, 1, id);
    (void)sqlite3_bind_blob(st, 2, p->bytes, (int)p->n, SQLITE_STATIC);
    int rc = db_run(st);
    if (rc == SQLITE_OK)
        row_sum_add(&s->sums.content, row_digest(p->bytes, p->n, &key));
    return rc;
}

static void remember(struct sqlite_store *s, int64_t id, const void *bytes, size_t n)
{
    if (id == s->last_content_id)
        return;
    pack_clear(&s->last_content);
    pack_raw(&s->last_content, bytes, n);
    s->last_content_id = s->last_content.failed ? 0 : id;
}

static struct contents_slot *add_fresh(struct sqlite_store *s, int64_t id)
{
    struct contents_slot *slot = contents_add(&s->contents, id);

    if (slot)
        slot->fresh = true;
    return slot;
}

/* Counts one use more of the content with these bytes, and inserts it at first use.
 * *ret_id: its id, 0 for n 0. Returns SQLITE_OK or the error. */
static int content_use(struct sqlite_store *s, const void *bytes, size_t n,
                       int64_t *ret_id)
{
    struct contents_slot *slot;
    int rc = SQLITE_OK;

    *ret_id = 0;
    if (n == 0)
        return SQLITE_OK;
    if (!undo_room(s))
        return SQLITE_NOMEM;
    bool same = is_last(s, bytes, n);
    int64_t id = same ? s->last_content_id : contents_hash(s->life.seed, bytes, n);
    while ((slot = contents_find(&s->contents, id)) && !slot->gone && !same) {
        rc = content_is(s, id, bytes, n, &same);
        if (rc != SQLITE_OK || same)
            break;
        id = id == INT64_MAX ? 1 : id + 1;
    }
    bool row = !slot || slot->gone;
    if (rc == SQLITE_OK && row)
        rc = content_insert(s, id, bytes, n);
    if (rc == SQLITE_OK && !slot)
        rc = (slot = add_fresh(s, id)) ? SQLITE_OK : SQLITE_NOMEM;
    if (rc != SQLITE_OK)
        return rc;
    slot->gone = false;
    slot->uses++;
    note_undo(s, id, 1, row);
    remember(s, id, bytes, n);
    *ret_id = id;
    return SQLITE_OK;
}

int sqlite_content_unuse(struct sqlite_store *s, int64_t id)
{
    struct contents_slot *slot = id ? contents_find(&s->contents, id) : NULL;
    sqlite3_stmt *get = s->db.statement[DB_CONTENT_GET];
    sqlite3_stmt *drop = s->db.statement[DB_CONTENT_DROP];
    const struct row_key key = content_key(id);

    if (!slot || slot->gone)
        return SQLITE_OK;
    if (!undo_room(s))
        return SQLITE_NOMEM;
    slot->gone = --slot->uses == 0;
    note_undo(s, id, -1, slot->gone);
    if (!slot->gone)
        return SQLITE_OK;
    if (s->last_content_id == id)
        s->last_content_id = 0;
    (void)sqlite3_bind_int64(get, 1, id);
    int rc = sqlite3_step(get);
    uint64_t digest = 0;
    if (rc == SQLITE_ROW)
        digest = row_digest(sqlite3_column_blob(get, 0),
                            (size_t)sqlite3_column_bytes(get, 0), &key);
    (void)sqlite3_reset(get);
    if (rc != SQLITE_ROW)
        return rc == SQLITE_DONE ? SQLITE_CORRUPT : rc;
    (void)sqlite3_bind_int64(drop, 1, id);
    rc = db_run(drop);
    if (rc == SQLITE_OK)
        row_sum_remove(&s->sums.content, digest);
    return rc;
}

/* Settles a content whose row the transaction inserted or deleted: its slot stays if the
 * row exists now. The content may be noted several times; the first call settles it. */
static void settle_content(struct sqlite_store *s, int64_t id, bool committed)
{
    struct contents_slot *slot = contents_find(&s->contents, id);

    if (!slot)
        return;
    if (committed ? slot->gone : slot->fresh)
        contents_remove(&s->contents, id);
    else
        slot->fresh = slot->gone = false;
}

static void settle_contents(struct sqlite_store *s, bool committed)
{
    for (size_t i = 0; i < s->nundo; i++)
        if (s->undo[i].row)
            settle_content(s, s->undo[i].id, committed);
    s->nundo = 0;
}

void sqlite_committed(struct sqlite_store *s)
{
    settle_contents(s, true);
    owners_committed(&s->owners);
    pthread_mutex_lock(&s->self_lock);
    s->self.facts = s->sums.seq - s->sums.first - 1;
    pthread_mutex_unlock(&s->self_lock);
}

void sqlite_rolled_back(struct sqlite_store *s, const struct row_sums *before)
{
    s->news.n = 0;
    pack_clear(&s->cleaned);
    s->last_content_id = 0;
    for (size_t i = 0; i < s->nundo; i++)
        contents_find(&s->contents, s->undo[i].id)->uses -= (uint64_t)s->undo[i].uses;
    settle_contents(s, false);
    owners_rolled_back(&s->owners);
    s->sums = *before;
}

/* --- news ----------------------------------------------------------------------- */

/* Gives the news the next number. They are delivered after the commit. */
static int give_news(struct sqlite_store *s, struct job_news news)
{
    struct news_list *l = &s->news;

    if (l->n == l->capacity && l->capacity < NEWS_MAX) {
        size_t capacity = l->capacity ? l->capacity * 2 : 256;
        struct job_news *grown = reallocarray(l->news, capacity, sizeof(*grown));

        if (!grown)
            return SQLITE_NOMEM;
        l->news = grown;
        l->capacity = capacity;
    }
    news.seq = s->sums.seq++;
    l->news[l->n++ % l->capacity] = news;
    return SQLITE_OK;
}

static int put_news(struct sqlite_store *s, struct unpack *u)
{
    struct job_news news;

    memcpy(&news, unpack_raw(u, sizeof(news)), sizeof(news));
    return give_news(s, news);
}

static void tell_cleaned(struct sqlite_store *s)
{
    const struct store_retention keep = groups_retention(&s->groups);
    struct unpack u = unpack_of(s->cleaned.bytes, s->cleaned.n);

    while (keep.gone && u.at < u.end)
        keep.gone(keep.gone_arg, unpack_number(&u));
    pack_clear(&s->cleaned);
}

void sqlite_tell(struct sqlite_store *s)
{
    struct news_list *l = &s->news;

    if (s->cleaned.n)
        tell_cleaned(s);
    size_t kept = l->n < l->capacity ? (size_t)l->n : l->capacity;
    size_t first = kept ? (size_t)(l->n % l->capacity) : 0;

    if (s->told && kept) {
        if (l->n > l->capacity) /* the ring has wrapped */
            s->told(s->told_arg, l->news + first, kept - first);
        s->told(s->told_arg, l->news, l->n > l->capacity ? first : kept);
        s->told(s->told_arg, NULL, 0);
    }
    l->n = 0;
    if (l->capacity < NEWS_MAX)
        return;
    free(l->news); /* after a large batch, which is rare */
    l->news = NULL;
    l->capacity = 0;
}

/* --- rows ----------------------------------------------------------------------- */

static int put_job(struct sqlite_store *s, struct unpack *u)
{
    sqlite3_stmt *st = s->db.statement[DB_JOB_PUT];
    const struct row_key key = {
        .table = ROW_JOB, .a = (int64_t)unpack_number(u), .b = (int64_t)s->sums.seq};
    uint64_t uid = unpack_number(u), gid = unpack_number(u), at = unpack_number(u);
    int64_t env_id = 0, argv_id = 0;
    size_t own_n = unpack_number(u);
    const uint8_t *own = unpack_raw(u, own_n);
    size_t env_n = unpack_number(u);
    const uint8_t *env = unpack_raw(u, env_n);
    size_t argv_n = unpack_number(u);
    const uint8_t *argv = unpack_raw(u, argv_n);
    struct pack *p = &s->scratch;

    int rc = content_use(s, env, env_n, &env_id);
    if (rc == SQLITE_OK)
        rc = content_use(s, argv, argv_n, &argv_id);
    if (rc != SQLITE_OK)
        return rc;
    pack_clear(p);
    pack_number(p, uid);
    pack_number(p, gid);
    pack_number(p, at);
    pack_number(p, (uint64_t)env_id);
    pack_number(p, (uint64_t)argv_id);
    pack_raw(p, own, own_n);
    row_seal(p, 0, &key);
    if (p->failed)
        return SQLITE_NOMEM;
    (void)sqlite3_bind_int64(st, 1, key.a);
    (void)sqlite3_bind_int64(st, 2, key.b);
    (void)sqlite3_bind_blob(st, 3, p->bytes, (int)p->n, SQLITE_STATIC);
    rc = db_run(st);
    if (rc != SQLITE_OK)
        return rc;
    row_sum_add(&s->sums.job, row_digest(p->bytes, p->n, &key));
    if ((uint64_t)key.a > s->sums.last_id)
        s->sums.last_id = (uint64_t)key.a;
    return give_news(
        s, (struct job_news){.key = {.id = (uint64_t)key.a, .index = JOB_NO_INDEX},
                             .at_usec = at,
                             .type = JOB_EV_SUBMIT,
                             .owner = (uid_t)uid});
}

/* Inserts a row with a key of three columns; its sealed body is the next bytes of the
 * entry. */
static int put_sealed(struct sqlite_store *s, enum db_statement put, struct row_sum *sum,
                      const struct row_key *key, struct unpack *u)
{
    sqlite3_stmt *st = s->db.statement[put];
    struct pack *p = &s->scratch;
    size_t n = unpack_number(u);

    pack_clear(p);
    pack_raw(p, unpack_raw(u, n), n);
    row_seal(p, 0, key);
    if (p->failed)
        return SQLITE_NOMEM;
    (void)sqlite3_bind_int64(st, 1, key->a);
    (void)sqlite3_bind_int64(st, 2, key->b);
    (void)sqlite3_bind_int64(st, 3, key->c);
    (void)sqlite3_bind_blob(st, 4, p->bytes, (int)p->n, SQLITE_STATIC);
    int rc = db_run(st);
    if (rc == SQLITE_OK)
        row_sum_add(sum, row_digest(p->bytes, p->n, key));
    return rc;
}

static sqlite3_stmt *over_events(struct sqlite_store *s, enum db_statement which,
                                 const struct row_key *key)
{
    sqlite3_stmt *st = s->db.statement[which];

    (void)sqlite3_bind_int64(st, 1, key->a);
    (void)sqlite3_bind_int64(st, 2, key->b);
    (void)sqlite3_bind_int64(st, 3, key->c);
    return st;
}

/* A portion of the event rows to be deleted. Its size holds all rows of JOB_ATTEMPTS_KEPT
 * attempts, at 8 each; a job that is paused often has more. */
#define PASSED_MAX (8 * JOB_ATTEMPTS_KEPT)
struct passed {
    int64_t seq[PASSED_MAX];
    uint64_t digest[PASSED_MAX];
    int n;
};

/* Finds a portion of the rows that leave with their attempt (not MET or EDIT): those
 * before the latest base that is below `attempt`, counted back from the row at *key. */
static int find_passed(struct sqlite_store *s, const struct row_key *key,
                       uint32_t attempt, struct passed *ret)
{
    sqlite3_stmt *st = over_events(s, DB_EVENT_BACK, key);
    bool passed = false;
    int rc;

    ret->n = 0;
    while ((rc = sqlite3_step(st)) == SQLITE_ROW && ret->n < PASSED_MAX) {
        const void *body = sqlite3_column_blob(st, 1);
        const size_t n = (size_t)sqlite3_column_bytes(st, 1);
        const struct job_event_glance is = job_event_glance(body, n);
        const struct row_key at = {.table = ROW_EVENT,
                                   .a = key->a,
                                   .b = key->b,
                                   .c = sqlite3_column_int64(st, 0)};

        if (passed && is.passes) {
            ret->seq[ret->n] = at.c;
            ret->digest[ret->n++] = row_digest(body, n, &at);
        }
        passed |= is.base && is.base < attempt;
    }
    (void)sqlite3_reset(st);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int forget_portion(struct sqlite_store *s, const struct row_key *key,
                          const struct passed *passed)
{
    int rc = SQLITE_OK;

    for (int i = 0; i < passed->n && rc == SQLITE_OK; i++) {
        const struct row_key at = {.a = key->a, .b = key->b, .c = passed->seq[i]};

        rc = db_run(over_events(s, DB_EVENT_DROP_ONE, &at));
        if (rc == SQLITE_OK)
            row_sum_remove(&s->sums.event, passed->digest[i]);
    }
    return rc;
}

/* Deletes all of these rows: a replay that began in the middle of an attempt would be
 * refused. */
static int forget_passed(struct sqlite_store *s, const struct row_key *key,
                         uint32_t attempt)
{
    struct passed passed;
    int rc;

    do {
        rc = find_passed(s, key, attempt, &passed);
        if (rc == SQLITE_OK)
            rc = forget_portion(s, key, &passed);
    } while (rc == SQLITE_OK && passed.n == PASSED_MAX);
    return rc;
}

static int put_event(struct sqlite_store *s, struct unpack *u)
{
    struct row_key key = {.table = ROW_EVENT, .a = (int64_t)unpack_number(u)};

    key.b = unpack_signed(u);
    key.c = (int64_t)s->sums.seq; /* of the first event; the news of the events follow */
    int rc = put_sealed(s, DB_EVENT_PUT, &s->sums.event, &key, u);
    const uint32_t base = job_event_glance(s->scratch.bytes, s->scratch.n).base;
    return rc == SQLITE_OK && base ? forget_passed(s, &key, base) : rc;
}

static struct row_key ended_key(int64_t id, int64_t at, int64_t seq)
{
    return (struct row_key){.table = ROW_ENDED, .a = id, .b = at, .c = seq};
}

static int put_last(struct sqlite_store *s, struct unpack *u)
{
    sqlite3_stmt *st = s->db.statement[DB_ENDED_PUT];
    int64_t id = (int64_t)unpack_number(u), at = (int64_t)unpack_number(u);
    const uid_t uid = (uid_t)unpack_number(u);
    const struct owner_change more = {
        .uid = uid, .jobs = 1, .elements = (int64_t)unpack_number(u)};
    int64_t seq = unpack_number(u) ? (int64_t)s->sums.seq : 0;
    const struct row_key key = ended_key(id, at, seq);

    (void)sqlite3_bind_int64(st, 1, id);
    (void)sqlite3_bind_int64(st, 2, at);
    (void)sqlite3_bind_int64(st, 3, seq);
    (void)sqlite3_bind_int64(st, 4, uid);
    int rc = db_run(st);
    if (rc != SQLITE_OK)
        return rc;
    row_sum_add(&s->sums.ended, row_digest(NULL, 0, &key));
    return owners_change(&s->owners, &more) < 0 ? SQLITE_NOMEM : rc;
}

static int put_output(struct sqlite_store *s, struct unpack *u)
{
    struct row_key key = {.table = ROW_OUTPUT, .a = (int64_t)unpack_number(u)};

    key.b = unpack_signed(u);
    key.c = (int64_t)unpack_number(u);
    return put_sealed(s, DB_OUTPUT_PUT, &s->sums.output, &key, u);
}

static void bind_resource(sqlite3_stmt *st, int64_t owner, const void *name, size_t n)
{
    (void)sqlite3_bind_int64(st, 1, owner);
    (void)sqlite3_bind_text(st, 2, name, (int)n, SQLITE_STATIC);
}

/* Removes the row of this name from the sums, if there is one. The row itself stays. */
static int forget_resource(struct sqlite_store *s, const struct row_key *key,
                           const void *name, size_t n)
{
    sqlite3_stmt *st = s->db.statement[DB_RESOURCE_GET];

    bind_resource(st, key->a, name, n);
    int rc = sqlite3_step(st);
    if (rc == SQLITE_ROW)
        row_sum_remove(&s->sums.resource,
                       row_digest(sqlite3_column_blob(st, 0),
                                  (size_t)sqlite3_column_bytes(st, 0), key));
    (void)sqlite3_reset(st);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* Replaces the row of this name with s->scratch; if that is empty, deletes the row. */
static int put_named(struct sqlite_store *s, const struct row_key *key, const void *name,
                     size_t n)
{
    struct pack *p = &s->scratch;
    const bool kept = p->n > 0 || p->failed;
    sqlite3_stmt *st = s->db.statement[kept ? DB_RESOURCE_PUT : DB_RESOURCE_DROP];

    int rc = forget_resource(s, key, name, n);
    if (rc != SQLITE_OK)
        return rc;
    bind_resource(st, key->a, name, n);
    if (kept) {
        row_seal(p, 0, key);
        (void)sqlite3_bind_blob(st, 3, p->bytes, (int)p->n, SQLITE_STATIC);
    }
    if (p->failed)
        return SQLITE_NOMEM;
    rc = db_run(st);
    if (rc == SQLITE_OK && kept)
        row_sum_add(&s->sums.resource, row_digest(p->bytes, p->n, key));
    return rc;
}

static int put_resource(struct sqlite_store *s, struct unpack *u)
{
    const struct row_key key = {.table = ROW_RESOURCE, .a = (int64_t)unpack_number(u)};
    const size_t n = unpack_number(u);
    const uint8_t *name = unpack_raw(u, n);
    const uint64_t capacity = unpack_number(u), per = unpack_number(u);
    const uint64_t full = unpack_number(u);
    struct pack *p = &s->scratch;

    pack_clear(p);
    if (capacity) {
        pack_number(p, n);
        pack_raw(p, name, n);
        pack_number(p, capacity);
        if (per) {
            pack_number(p, per);
            pack_number(p, full);
        }
    }
    return put_named(s, &key, name, n);
}

static int put_queue(struct sqlite_store *s, struct unpack *u)
{
    const struct row_key key = {.table = ROW_RESOURCE, .a = ROW_OF_QUEUES};
    const size_t n = unpack_number(u);
    const uint8_t *name = unpack_raw(u, n);
    const uint64_t numbers = unpack_number(u);
    struct pack *p = &s->scratch;

    pack_clear(p);
    if (numbers) {
        pack_number(p, n);
        pack_raw(p, name, n);
    }
    for (uint64_t i = 0; i < numbers; i++)
        pack_number(p, unpack_number(u));
    return put_named(s, &key, name, n);
}

static int put_key(struct sqlite_store *s, struct unpack *u)
{
    struct store_key key;

    memcpy(&key, unpack_raw(u, sizeof(key)), sizeof(key));
    return sqlite_put_key(s, &key);
}

int sqlite_apply(struct sqlite_store *s, const struct entry *e)
{
    struct unpack u = unpack_of(e + 1, e->size);
    int rc = SQLITE_OK;

    while (rc == SQLITE_OK && u.at < u.end && !u.failed) {
        switch ((enum entry_row)unpack_number(&u)) {
        case ENTRY_JOB:
            rc = put_job(s, &u);
            break;
        case ENTRY_EVENT:
            rc = put_event(s, &u);
            break;
        case ENTRY_LAST:
            rc = put_last(s, &u);
            break;
        case ENTRY_OUTPUT:
            rc = put_output(s, &u);
            break;
        case ENTRY_FORGET:
            rc = sqlite_forget_one(s, (int64_t)unpack_number(&u));
            break;
        case ENTRY_NEWS:
            rc = put_news(s, &u);
            break;
        case ENTRY_RESOURCE:
            rc = put_resource(s, &u);
            break;
        case ENTRY_QUEUE:
            rc = put_queue(s, &u);
            break;
        case ENTRY_KEY:
            rc = put_key(s, &u);
            break;
        }
    }
    return rc;
}

int sqlite_save_sums(struct sqlite_store *s)
{
    pack_clear(&s->scratch);
    row_sums_pack(&s->sums, &s->scratch);
    return db_meta_put(&s->db, "sums", &s->scratch);
}
