/* Rows of keys: key_row.h. */
#include <errno.h>
#include <string.h>

#include "daemon/store/sqlite_scan.h"
#include "daemon/store/sqlite_store.h"

static void pack_key(struct pack *p, const struct store_key *key)
{
    pack_raw(p, &key->name, sizeof(key->name));
    pack_raw(p, &key->body, sizeof(key->body));
    pack_number(p, key->end.result);
    pack_number(p, key->end.code_is);
    pack_number(p, key->end.exit_code);
    pack_signed(p, key->end.code);
}

static bool unpack_key(const void *body, size_t n, struct store_key *ret)
{
    struct unpack u = unpack_of(body, n);
    const uint8_t *name = unpack_raw(&u, sizeof(ret->name));
    const uint8_t *hash = unpack_raw(&u, sizeof(ret->body));

    ret->end.result = (uint8_t)unpack_number_max(&u, JOB_RESULT_COUNT - 1);
    ret->end.code_is = (uint8_t)unpack_number_max(&u, UINT8_MAX);
    ret->end.exit_code = (uint8_t)unpack_number_max(&u, UINT8_MAX);
    ret->end.code = (int32_t)unpack_signed(&u);
    if (u.failed || u.at != u.end)
        return false;
    memcpy(&ret->name, name, sizeof(ret->name));
    memcpy(&ret->body, hash, sizeof(ret->body));
    return true;
}

static struct row_key row_of(const struct store_key *key)
{
    return (struct row_key){.table = ROW_KEY,
                            .a = (int64_t)key->id,
                            .b = (int64_t)key->uid,
                            .c = (int64_t)key->at_usec};
}

bool sqlite_key_row(sqlite3_stmt *st, struct store_key *ret, struct row_key *ret_at)
{
    const void *body = sqlite3_column_blob(st, 3);
    const size_t n = (size_t)sqlite3_column_bytes(st, 3);
    size_t payload;

    *ret_at = (struct row_key){.table = ROW_KEY,
                               .a = sqlite3_column_int64(st, 0),
                               .b = sqlite3_column_int64(st, 1),
                               .c = sqlite3_column_int64(st, 2)};
    *ret = (struct store_key){.id = (uint64_t)ret_at->a,
                              .uid = (uid_t)ret_at->b,
                              .at_usec = (uint64_t)ret_at->c};
    return sqlite3_column_type(st, 3) == SQLITE_BLOB &&
           row_open(body, n, ret_at, &payload) && unpack_key(body, payload, ret);
}

/* Removes the row at which the statement stands from the sums and from its owner's
 * count. */
static int take_out(struct sqlite_store *s, sqlite3_stmt *st, struct store_key *ret)
{
    struct row_key at;

    if (!sqlite_key_row(st, ret, &at))
        return SQLITE_CORRUPT;
    const struct owner_change less = {.uid = ret->uid, .keys = -1};
    const int r = owners_change(&s->owners, &less);
    if (r < 0)
        return r == -ENOMEM ? SQLITE_NOMEM : SQLITE_CORRUPT;
    row_sum_remove(&s->sums.key, row_digest(sqlite3_column_blob(st, 3),
                                            (size_t)sqlite3_column_bytes(st, 3), &at));
    return SQLITE_OK;
}

static int drop(struct sqlite_store *s, uint64_t id)
{
    sqlite3_stmt *st = s->db.statement[DB_KEY_DROP];

    (void)sqlite3_bind_int64(st, 1, (int64_t)id);
    return db_run(st);
}

static int drop_if_there(struct sqlite_store *s, uint64_t id)
{
    sqlite3_stmt *st = s->db.statement[DB_KEY_GET];
    struct store_key key;

    (void)sqlite3_bind_int64(st, 1, (int64_t)id);
    int rc = sqlite3_step(st);
    const bool there = rc == SQLITE_ROW;
    if (there)
        rc = take_out(s, st, &key);
    (void)sqlite3_reset(st);
    if (!there)
        return rc == SQLITE_DONE ? SQLITE_OK : rc;
    return rc == SQLITE_OK ? drop(s, id) : rc;
}

static int insert(struct sqlite_store *s, const struct store_key *key)
{
    const struct owner_change more = {.uid = key->uid, .keys = 1};
    sqlite3_stmt *st = s->db.statement[DB_KEY_PUT];
    const struct row_key at = row_of(key);
    struct pack *p = &s->scratch;

    pack_clear(p);
    pack_key(p, key);
    row_seal(p, 0, &at);
    if (p->failed || owners_change(&s->owners, &more) < 0)
        return SQLITE_NOMEM;
    (void)sqlite3_bind_int64(st, 1, at.a);
    (void)sqlite3_bind_int64(st, 2, at.b);
    (void)sqlite3_bind_int64(st, 3, at.c);
    (void)sqlite3_bind_blob(st, 4, p->bytes, (int)p->n, SQLITE_STATIC);
    int rc = db_run(st);
    if (rc == SQLITE_OK)
        row_sum_add(&s->sums.key, row_digest(p->bytes, p->n, &at));
    return rc;
}

int sqlite_put_key(struct sqlite_store *s, const struct store_key *key)
{
    int rc = drop_if_there(s, key->id);

    return rc == SQLITE_OK && key->at_usec ? insert(s, key) : rc;
}

/* Notes the keys to be deleted in `expired`, and removes them from the sums. Returns
 * SQLITE_OK or the error. */
static int choose(struct sqlite_store *s, const struct owner *owner, uint64_t before_usec,
                  int *ret_n)
{
    sqlite3_stmt *st = s->db.statement[DB_KEY_OLDEST];
    int rc = SQLITE_OK;

    *ret_n = 0;
    (void)sqlite3_bind_int64(st, 1, owner->uid);
    (void)sqlite3_bind_int64(st, 2, FORGET_SLICE);
    while (rc == SQLITE_OK && (rc = sqlite3_step(st)) == SQLITE_ROW &&
           (uint64_t)sqlite3_column_int64(st, 2) < before_usec)
        rc = take_out(s, st, &s->expired[(*ret_n)++]);
    (void)sqlite3_reset(st);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

int sqlite_expire_keys(struct sqlite_store *s, const struct owner *owner,
                       uint64_t before_usec, int *ret_n)
{
    int rc = choose(s, owner, before_usec, ret_n);

    for (int i = 0; i < *ret_n && rc == SQLITE_OK; i++)
        rc = drop(s, s->expired[i].id);
    return rc;
}
