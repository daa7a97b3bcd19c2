/* A store of any content: the loader refuses it, or loads what the rows say, and what it
 * refuses the check has a word for.
 *
 * First byte even: the rest are patches of a sound store (offset in two bytes, length,
 * bytes). Whatever they hit: refused, or the very state that it was. Odd: the rest are
 * rows (kind and keys, a byte each, length, payload), which get right checksums and right
 * sums, so that what lies behind these is met too: specs, events, their order, who refers
 * to whom. */
#include "daemon/job/event.h"
#include "daemon/job/spec_pack.h"
#include "daemon/store/contents.h"
#include "daemon/store/commit_log.h"
#include "daemon/store/reader.h"
#include "daemon/store/sqlite.h"
#include "tests/support/facts.h"
#include "daemon/store/sqlite_db.h"
#include "tests/fuzz/fuzz.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATCHED_JOBS 300

static char dir[] = "/dev/shm/volt-fuzz-store-XXXXXX";
static char path[64];

struct image {
    uint8_t *bytes;
    size_t n;
};
static struct image empty, sound;
static uint64_t sound_state;

/* --- loading ------------------------------------------------------------------------ */

static void pack_job(struct pack *p, struct spec_pack *spec,
                     const struct store_loaded_job *job)
{
    FUZZ_CHECK(job->spec && job_spec_validate(job->spec, &(const char *){0}, NULL) == 0);
    FUZZ_CHECK(job_spec_pack(job->spec, spec) == 0);
    pack_number(p, job->id);
    pack_number(p, job->submitted_usec);
    pack_number(p, job->uid);
    pack_number(p, job->gid);
    pack_number(p, job->ended);
}

static int note(void *arg, const struct store_loaded *loaded)
{
    struct spec_pack spec = {{0}, {0}, {0}};
    struct pack p = {0};
    uint64_t *state = arg;

    pack_number(&p, loaded->type);
    switch (loaded->type) {
    case STORE_LOADED_JOB:
        pack_job(&p, &spec, &loaded->job);
        break;
    case STORE_LOADED_EVENT:
        pack_number(&p, loaded->event.key.id);
        pack_signed(&p, loaded->event.key.index);
        job_event_pack(&p, loaded->event.event, 0);
        break;
    case STORE_LOADED_RESOURCE:
        pack_number(&p, loaded->resource.owner);
        pack_string(&p, loaded->resource.name);
        pack_number(&p, loaded->resource.capacity);
        pack_number(&p, loaded->resource.per_usec);
        pack_number(&p, loaded->resource.full_usec);
        break;
    case STORE_LOADED_QUEUE:
        pack_string(&p, loaded->queue.name);
        for (size_t i = 0; i < loaded->queue.n; i++)
            pack_number(&p, loaded->queue.numbers[i]);
        break;
    case STORE_LOADED_KEY:
        pack_number(&p, loaded->key.id);
        pack_number(&p, loaded->key.uid);
        pack_number(&p, loaded->key.at_usec);
        pack_raw(&p, &loaded->key.name, sizeof(loaded->key.name));
        pack_raw(&p, &loaded->key.body, sizeof(loaded->key.body));
        pack_number(&p, loaded->key.end.result);
        pack_number(&p, loaded->key.end.code_is);
        pack_number(&p, loaded->key.end.exit_code);
        pack_signed(&p, loaded->key.end.code);
        break;
    }
    *state = (uint64_t)contents_hash(*state, p.bytes, p.n);
    *state = (uint64_t)contents_hash(*state, spec.own.bytes, spec.own.n);
    *state = (uint64_t)contents_hash(*state, spec.env.bytes, spec.env.n);
    *state = (uint64_t)contents_hash(*state, spec.argv.bytes, spec.argv.n);
    spec_pack_fini(&spec);
    pack_fini(&p);
    return 0;
}

static struct store *open_store(uint64_t *ret_state, struct volt_error *err)
{
    struct store_sqlite_options o = {.dir = dir, .boot_id = {1}, .generation = {2}};
    struct store *s = NULL;

    *ret_state = 0;
    if (store_sqlite_open(&o, &s, err) < 0)
        return NULL;
    if (store_load(s, note, ret_state, err) == 0)
        return s;
    store_free(s);
    return NULL;
}

static bool load(uint64_t *ret_state)
{
    struct volt_error err = {{0}};
    struct store *s = open_store(ret_state, &err);

    FUZZ_CHECK(s || err.text[0]);
    store_free(s);
    return s;
}

static void count(void *arg, const char *text)
{
    FUZZ_CHECK(text[0]);
    ++*(int *)arg;
}

/* --- files -------------------------------------------------------------------------- */

static struct image image_read(void)
{
    struct image i;
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    FUZZ_CHECK(fd >= 0 && fstat(fd, &st) == 0);
    i.n = (size_t)st.st_size;
    i.bytes = malloc(i.n);
    FUZZ_CHECK(i.bytes && read(fd, i.bytes, i.n) == st.st_size);
    (void)close(fd);
    return i;
}

static int image_write(const struct image *i)
{
    char other[80];
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    FUZZ_CHECK(fd >= 0 && write(fd, i->bytes, i->n) == (ssize_t)i->n);
    (void)snprintf(other, sizeof(other), "%s-wal", path);
    (void)unlink(other);
    (void)snprintf(other, sizeof(other), "%s-shm", path);
    (void)unlink(other);
    return fd;
}

static void clean(void)
{
    DIR *d = opendir(dir);

    for (struct dirent *e; d && (e = readdir(d));)
        (void)unlinkat(dirfd(d), e->d_name, 0);
    if (d)
        closedir(d);
    (void)rmdir(dir);
    free(empty.bytes);
    free(sound.bytes);
}

static void submit(struct store *s, uint64_t id)
{
    const struct job_event end = {.type = JOB_EV_CANCEL, .at_usec = id};
    struct job_spec *spec = job_spec_new();
    const struct store_fact facts[] = {fact_submit(id, id, spec),
                                       fact_event(id, JOB_NO_INDEX, &end),
                                       fact_last(id, id, 0)};

    FUZZ_CHECK(spec);
    spec->kind = JOB_KIND_NOOP;
    spec->name = strdup("a job");
    FUZZ_CHECK(store_append(s, facts, id % 2 ? 1 : 3, NULL) == 0);
    job_spec_unref(spec);
}

static void prepare(void)
{
    struct volt_error err = {{0}};
    uint64_t state;

    (void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    (void)sqlite3_vfs_register(sqlite3_vfs_find("unix-excl"), 1);
    FUZZ_CHECK(mkdtemp(dir));
    (void)snprintf(path, sizeof(path), "%s/jobs.1.db", dir);
    store_free(open_store(&state, &err));
    empty = image_read();
    struct store *s = open_store(&state, &err);
    FUZZ_CHECK(s);
    for (uint64_t id = 1; id <= PATCHED_JOBS; id++)
        submit(s, id);
    store_free(s);
    sound = image_read();
    FUZZ_CHECK(load(&sound_state));
    (void)atexit(clean);
}

/* --- patches ------------------------------------------------------------------------ */

static void patch(const uint8_t *data, size_t size)
{
    int fd = image_write(&sound);
    uint64_t state;

    while (size > 3) {
        size_t at = ((size_t)data[0] << 8 | data[1]) % sound.n;
        size_t n = data[2] < size - 3 ? data[2] : size - 3;

        FUZZ_CHECK(pwrite(fd, data + 3, n, (off_t)at) == (ssize_t)n);
        data += 3 + n;
        size -= 3 + n;
    }
    (void)close(fd);
    if (load(&state))
        FUZZ_CHECK(state == sound_state);
}

/* --- rows --------------------------------------------------------------------------- */

struct reader {
    const uint8_t *at, *end;
};

static uint8_t take(struct reader *r)
{
    return r->at < r->end ? *r->at++ : 0;
}

/* False: the statement did not take it, as a key that is there. */
static bool put(struct db *db, enum db_statement st, const struct row_key *key, int keys,
                const struct pack *body)
{
    const int64_t words[] = {key->a, key->b, key->c};

    for (int i = 0; i < keys; i++)
        (void)sqlite3_bind_int64(db->statement[st], i + 1, words[i]);
    if (body)
        (void)sqlite3_bind_blob(db->statement[st], keys + 1, body->bytes, (int)body->n,
                                SQLITE_STATIC);
    return db_run(db->statement[st]) == SQLITE_OK;
}

static void add_row(struct db *db, struct row_sums *sums, struct reader *r)
{
    static const struct {
        enum row_table table;
        enum db_statement statement;
        int keys;
    } kinds[] = {{ROW_CONTENT, DB_CONTENT_PUT, 1},
                 {ROW_JOB, DB_JOB_PUT, 2},
                 {ROW_EVENT, DB_EVENT_PUT, 3},
                 {ROW_ENDED, DB_ENDED_PUT, 3}};
    struct row_sum *const sum[] = {&sums->content, &sums->job, &sums->event,
                                   &sums->ended};
    unsigned kind = take(r) % 4;
    struct row_key key = {.table = kinds[kind].table};
    struct pack p = {0};

    key.a = (int8_t)take(r);
    key.b = kinds[kind].keys > 1 ? (int8_t)take(r) : 0;
    key.c = kinds[kind].keys > 2 ? (int8_t)take(r) : 0;
    if (key.table != ROW_ENDED) {
        size_t n = take(r), left = (size_t)(r->end - r->at);

        n = n < left ? n : left;
        pack_raw(&p, r->at, n);
        r->at += n;
        row_seal(&p, 0, &key);
        FUZZ_CHECK(!p.failed);
    }
    if (put(db, kinds[kind].statement, &key, kinds[kind].keys, p.n ? &p : NULL))
        row_sum_add(sum[kind], row_digest(p.bytes, p.n, &key));
    pack_fini(&p);
}

static void rows(const uint8_t *data, size_t size)
{
    struct reader r = {data, data + size};
    struct row_sums sums = {.seq = 128};
    struct volt_error err;
    struct pack p = {0};
    struct db db;
    uint64_t state, again;
    int found = 0;

    (void)close(image_write(&empty));
    FUZZ_CHECK(db_open(&db, path, DB_WRITE, &err) == 0);
    FUZZ_CHECK(db_run(db.statement[DB_BEGIN]) == SQLITE_OK);
    while (r.at < r.end)
        add_row(&db, &sums, &r);
    row_sums_pack(&sums, &p);
    FUZZ_CHECK(db_meta_put(&db, "sums", &p) == SQLITE_OK);
    FUZZ_CHECK(db_run(db.statement[DB_COMMIT]) == SQLITE_OK);
    pack_fini(&p);
    db_close(&db);

    bool loaded = load(&state);
    FUZZ_CHECK(store_sqlite_check(dir, count, &found) == found);
    FUZZ_CHECK(loaded || found > 0);
    if (loaded)
        FUZZ_CHECK(load(&again) && again == state);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!empty.n)
        prepare();
    if (size == 0)
        return 0;
    if (data[0] % 2)
        rows(data + 1, size - 1);
    else
        patch(data + 1, size - 1);
    return 0;
}
