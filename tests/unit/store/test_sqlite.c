/* The SQLite store: what is committed is loaded again, contents are kept once, a damaged
 * file is refused wherever the damage is, and newer formats are refused. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>
#include <volt/volt.h>

#include "base/atomic.h"
#include "base/file.h"
#include "daemon/store/sqlite.h"
#include "tests/support/facts.h"
#include "daemon/store/sqlite_store.h"
#include "tests/support/stored.h"

static void what_was_committed_is_loaded(void **state)
{
    struct store *s = stored_fresh();
    struct volt_error err = {{0}};
    struct found found;

    (void)state;
    assert_true(store_durable(s));
    stored_fill(s);
    assert_int_equal(stored_keep(s, NULL, 0), 0); /* a barrier */
    store_free(s);
    assert_int_equal(stored_reload(1, &found, &err), 0);
    assert_string_equal(found.text, stored_expected);
}

static void a_copy_of_the_files_at_any_moment_has_what_was_committed(void **state)
{
    char command[PATH_MAX * 2];
    struct store *s = stored_fresh();
    struct volt_error err = {{0}};
    struct found found;

    (void)state;
    stored_fill(s);
    (void)snprintf(command, sizeof(command), "mkdir %s.copy && cp %s/jobs.* %s.copy",
                   stored_dir, stored_dir, stored_dir);
    assert_int_equal(system(command), 0); /* as after kill -9 */
    store_free(s);
    (void)snprintf(command, sizeof(command),
                   "rm %s/* && mv %s.copy/* %s && rmdir %s.copy", stored_dir, stored_dir,
                   stored_dir, stored_dir);
    assert_int_equal(system(command), 0);
    assert_int_equal(stored_reload(1, &found, &err), 0);
    assert_string_equal(found.text, stored_expected);
}

static void another_boot_is_another_life(void **state)
{
    struct store *s = stored_fresh();
    struct volt_error err = {{0}};
    struct found found;

    (void)state;
    stored_fill(s);
    store_free(s);
    assert_int_equal(stored_reload(2, &found, &err), 0);
    assert_non_null(strstr(found.text, "2_-1:starting!0"));
    assert_int_equal(stored_reload(2, &found, &err), 0); /* and stays one */
    assert_non_null(strstr(found.text, "2_-1:starting!0"));
}

static void equal_contents_are_kept_once(void **state)
{
    struct store *s = stored_fresh();
    char text[600];

    (void)state;
    memset(text, 'y', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    assert_int_equal(stored_submit(s, 1, text, "E=1"), 0);
    assert_int_equal(stored_submit(s, 2, text, "E=1"), 0);
    assert_int_equal(stored_submit(s, 3, text, "E=2"), 0);
    store_free(s);
    assert_int_equal(stored_query("SELECT count(*) FROM content"), 3);
    s = stored_fresh(); /* also by one that found them there */
    assert_int_equal(stored_submit(s, 4, text, "E=2"), 0);
    store_free(s);
    assert_int_equal(stored_query("SELECT count(*) FROM content"), 3);
}

/* Not with the first that has it: the others would be damaged at the next start. */
static void a_content_goes_with_its_last_job(void **state)
{
    struct store *s = stored_fresh();
    struct volt_error err = {{0}};
    struct found found;

    (void)state;
    for (uint64_t id = 1; id <= 2; id++) {
        assert_int_equal(stored_submit(s, id, "x", "E=1"), 0);
        assert_int_equal(stored_starting(s, id), 0);
        assert_int_equal(stored_end(s, id, 0), 0);
    }
    for (uint64_t id = 1; id <= 2; id++) {
        assert_int_equal(stored_forget(s, id), 0);
        store_free(s);
        assert_int_equal(stored_query("SELECT count(*) FROM content"), 2 - (int)id);
        assert_int_equal(stored_reload(1, &found, &err), 0);
        s = stored_fresh();
    }
    store_free(s);
}

static void what_has_ended_goes_when_it_is_too_much(void **state)
{
    struct store *s = stored_fresh();
    struct volt_error err = {{0}};
    struct found found;
    char env[16];

    (void)state;
    store_retain(s, &(struct store_retention){.jobs = 10, .usec = UINT64_MAX});
    assert_int_equal(stored_submit(s, 1, "stays", "E=1"), 0); /* it has not ended */
    for (uint64_t id = 2; id < 602; id++) {
        (void)snprintf(env, sizeof(env), "E=%d", (int)id);
        assert_int_equal(stored_submit(s, id, "x", env), 0);
        assert_int_equal(stored_starting(s, id), 0);
        if (id % 50) /* some between the others stay, too */
            assert_int_equal(stored_end(s, id, 0), 0);
    }
    store_free(s);
    int64_t ended = stored_query("SELECT count(*) FROM ended");
    assert_in_range(ended, 10, 10 + 2 * 256);
    assert_int_equal(stored_query("SELECT count(*) FROM job"), ended + 1 + 12);
    assert_int_equal(stored_query("SELECT count(*) FROM event"), ended * 2 + 12);
    assert_int_equal(stored_query("SELECT count(*) FROM content"), ended + 1 + 12);
    assert_int_equal(stored_query("SELECT max(id) FROM job"), 601);
    assert_int_equal(stored_reload(1, &found, &err), 0);
}

/* All of them have ended in 1970; the first hour spares them, but not their number. */
static void nothing_goes_for_its_age_at_once(void **state)
{
    struct store *s = stored_fresh();

    (void)state;
    store_retain(s, &(struct store_retention){.jobs = 10, .usec = UINT64_C(86400000000)});
    for (uint64_t id = 1; id <= 266; id++) {
        assert_int_equal(stored_submit(s, id, "x", NULL), 0);
        assert_int_equal(stored_starting(s, id), 0);
        assert_int_equal(stored_end(s, id, 0), 0);
    }
    store_free(s);
    assert_in_range(stored_query("SELECT count(*) FROM ended"), 10, 266);
}

static void the_last_id_is_remembered(void **state)
{
    struct store *s = stored_fresh();

    (void)state;
    assert_int_equal(stored_submit(s, 70, "x", NULL), 0);
    assert_int_equal(stored_starting(s, 70), 0);
    assert_int_equal(stored_end(s, 70, 0), 0);
    assert_int_equal(stored_forget(s, 70), 0);
    for (int life = 0; life < 2; life++) {
        store_free(s);
        s = stored_fresh();
        assert_int_equal(store_has(s, 70), 0);
        assert_int_equal(store_last_id(s), 70);
        assert_int_equal(stored_submit(s, 68U - (unsigned)life, "x", NULL), 0);
    }
    store_free(s);
}

/* --- output --------------------------------------------------------------------- */

/* The output of a job: text, or "-" for none, "!" for damage. */
static const char *output_of(struct store *s, uint64_t id, unsigned stream)
{
    static char text[8192];
    struct job_key key = {.id = id, .index = JOB_NO_INDEX};
    void *bytes;
    size_t n;
    int r = store_output(s, &key, stream, &bytes, &n);

    if (r < 0)
        return r == -ENODATA ? "-" : r == -EBADMSG ? "!" : strerror(-r);
    assert_true(n < sizeof(text));
    memcpy(text, bytes, n);
    text[n] = '\0';
    free(bytes);
    return text;
}

static void output_is_kept_with_the_end(void **state)
{
    struct store *s = stored_fresh();
    char large[5000];

    (void)state;
    memset(large, 'o', sizeof(large) - 1);
    large[sizeof(large) - 1] = '\0';
    stored_fill(s); /* job 1 has ended and printed nothing */
    assert_string_equal(output_of(s, 1, 0), "-");
    assert_int_equal(stored_end_with(s, 2, 0, "out\n", "err\n"), 0);
    assert_int_equal(stored_starting(s, 3), 0);
    assert_int_equal(stored_end_with(s, 3, 1, NULL, large), 0);
    for (int life = 0; life < 2; life++) {
        assert_string_equal(output_of(s, 2, 0), "out\n");
        assert_string_equal(output_of(s, 2, 1), "err\n");
        assert_string_equal(output_of(s, 3, 0), "-");
        assert_string_equal(output_of(s, 3, 1), large);
        assert_int_equal(store_has(s, 3), 1);
        assert_int_equal(store_has(s, 4), 0);
        store_free(s);
        s = life ? NULL : stored_fresh();
    }
}

static void write_nothing(void *arg, const char *text)
{
    char *found = arg;

    (void)snprintf(found + strlen(found), 1000 - strlen(found), "%s\n", text);
}

static void damaged_output_is_named_and_not_handed_out(void **state)
{
    struct store *s = stored_fresh();
    char found[1000] = "";

    (void)state;
    stored_fill(s);
    assert_int_equal(stored_end_with(s, 2, 0, "out\n", "err\n"), 0);
    store_free(s);
    assert_int_equal(store_sqlite_check(stored_dir, write_nothing, found), 0);
    stored_query("UPDATE output SET body=replace(body,'out','oux') WHERE stream=0");
    s = stored_fresh(); /* the rest is sound */
    assert_string_equal(output_of(s, 2, 0), "!");
    assert_string_equal(output_of(s, 2, 1), "err\n");
    store_free(s);
    assert_true(store_sqlite_check(stored_dir, write_nothing, found) > 0);
    assert_non_null(strstr(found, "job 2: element -1: output 0: checksum"));
    stored_query("DELETE FROM output WHERE stream=0");
    found[0] = '\0';
    assert_true(store_sqlite_check(stored_dir, write_nothing, found) > 0);
    assert_non_null(strstr(found, "table output: 1 rows instead of 2"));
}

static uint64_t gone[700];
static unsigned ngone;

static void note_gone(void *arg, uint64_t id)
{
    assert_ptr_equal(arg, gone);
    gone[ngone++] = id;
}

static void output_goes_with_its_job(void **state)
{
    struct store *s = stored_fresh();

    (void)state;
    ngone = 0;
    store_retain(
        s, &(struct store_retention){
               .jobs = 10, .usec = UINT64_MAX, .gone = note_gone, .gone_arg = gone});
    for (uint64_t id = 1; id < 601; id++) {
        assert_int_equal(stored_submit(s, id, "x", "E=1"), 0);
        assert_int_equal(stored_starting(s, id), 0);
        assert_int_equal(stored_end_with(s, id, 0, "text", "text"), 0);
    }
    store_free(s);
    assert_true(ngone > 0);
    for (unsigned i = 0; i < ngone; i++)
        assert_int_equal(gone[i], i + 1);
    assert_int_equal(stored_query("SELECT count(*) FROM output"), 2 * (600 - ngone));
    assert_int_equal(stored_query("SELECT min(job) FROM output"), ngone + 1);
    assert_int_equal(store_sqlite_check(stored_dir, write_nothing, (char[1000]){""}), 0);
}

/* --- jobs that others wait for ------------------------------------------------------- */

#define NEEDED 3

static struct awaited {
    struct store *s;
    vat_u32 over; /* nobody waits any more */
    struct store_commit told;
    sem_t answered, left;
    bool told_first, too_early; /* read behind `left` */
} awaited;

static size_t unneeded(void *arg, const uint64_t *ids, size_t n)
{
    struct awaited *a = arg;
    size_t i = 0;

    while (i < n && ids[i] != NEEDED)
        i++;
    if (i == n)
        return n;
    if (!vat_u32_load(&a->over, VAT_ACQ)) {
        sem_post(&a->answered);
        return i;
    }
    if (!a->told.store) { /* told while it is asked */
        const struct job_event met = {.type = JOB_EV_MET, .antecedent = NEEDED};
        const struct store_fact f = fact_event(600, JOB_NO_INDEX, &met);

        assert_int_equal(store_append(a->s, &f, 1, &a->told), 0);
    }
    return n;
}

static void note_leaving(void *arg, uint64_t id)
{
    struct awaited *a = arg;

    if (id >= NEEDED && !vat_u32_load(&a->over, VAT_ACQ))
        a->too_early = true; /* never behind `left`, which others may come after */
    if (id != NEEDED)
        return;
    a->told_first = a->told.store && a->told.group == 0;
    sem_post(&a->left);
}

/* A job leaves when nobody waits for how it ended, and then behind the facts that say it to
 * those who did. */
static void a_job_that_others_wait_for_stays(void **state)
{
    struct store *s = stored_fresh();

    (void)state;
    awaited = (struct awaited){.s = s};
    sem_init(&awaited.answered, 0, 0);
    sem_init(&awaited.left, 0, 0);
    store_retain(s, &(struct store_retention){.jobs = 1,
                                              .usec = UINT64_MAX,
                                              .gone = note_leaving,
                                              .gone_arg = &awaited,
                                              .unneeded = unneeded,
                                              .unneeded_arg = &awaited});
    for (uint64_t id = 1; id < 601; id++) {
        assert_int_equal(stored_submit(s, id, "x", "E=1"), 0);
        assert_int_equal(stored_starting(s, id), 0);
        if (id < 600)
            assert_int_equal(stored_end_with(s, id, 0, "text", "text"), 0);
    }
    sem_wait(&awaited.answered);
    vat_u32_store(&awaited.over, 1, VAT_REL);
    assert_int_equal(stored_end_with(s, 600, 0, "text", "text"), 0);
    sem_wait(&awaited.left);
    assert_true(awaited.told_first && !awaited.too_early);
    store_commit_fini(&awaited.told);
    store_free(s);
}

/* SQLite would wait for the other end of a FIFO, and follow a link. */
static void only_regular_files_are_opened(void **state)
{
    static const char *const suffixes[] = {"", "-wal", "-shm", "-journal"};
    struct volt_error err = {{0}};
    struct found found;
    char name[32], path[PATH_MAX];

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        store_free(stored_fresh());
        (void)snprintf(name, sizeof(name), "jobs.1.db%s", suffixes[i]);
        stored_path(name, path);
        (void)unlink(path);
        assert_int_equal(mkdir(path, 0700), 0);
        assert_int_equal(stored_reload(1, &found, &err), -EISDIR);
        assert_non_null(strstr(err.text, name));
        assert_int_equal(rmdir(path), 0);
        assert_int_equal(symlink("elsewhere", path), 0);
        assert_int_equal(stored_reload(1, &found, &err), -ELOOP);
        assert_int_equal(unlink(path), 0);
        assert_int_equal(mkfifo(path, 0600), 0);
        assert_int_equal(stored_reload(1, &found, &err), -FILE_NOT_REGULAR);
        assert_int_equal(unlink(path), 0);
        stored_path("witness", path);
        (void)unlink(path);
    }
}

static sem_t refused_to_forget;

static void note_refusal(const char *text)
{
    if (strstr(text, "cannot be forgotten"))
        sem_post(&refused_to_forget);
}

/* A job that has lost its row: all that was to go with it stays, whole. */
static void what_cannot_be_forgotten_stays_whole(void **state)
{
    struct store *s = stored_fresh();

    (void)state;
    ngone = 0;
    store_retain(
        s, &(struct store_retention){
               .jobs = 600, .usec = UINT64_MAX, .gone = note_gone, .gone_arg = gone});
    for (uint64_t id = 1; id < 601; id++) {
        assert_int_equal(stored_submit(s, id, "x", "E=1"), 0);
        assert_int_equal(stored_starting(s, id), 0);
        assert_int_equal(stored_end_with(s, id, 0, "text", "text"), 0);
    }
    stored_query("DELETE FROM job WHERE id=7");
    assert_int_equal(sem_init(&refused_to_forget, 0, 0), 0);
    sqlite_of(s)->tell = note_refusal;
    store_retain(
        s, &(struct store_retention){
               .jobs = 10, .usec = UINT64_MAX, .gone = note_gone, .gone_arg = gone});
    assert_int_equal(stored_submit(s, 601, "x", "E=1"), 0);
    assert_int_equal(sem_wait(&refused_to_forget), 0);
    store_free(s);
    sem_destroy(&refused_to_forget);
    assert_int_equal(ngone, 0);
    assert_int_equal(stored_query("SELECT count(*) FROM output"), 2 * 600);
    assert_int_equal(stored_query("SELECT count(*) FROM ended"), 600);
}

static void a_newer_format_is_refused(void **state)
{
    struct volt_error err = {{0}};
    struct found found;

    (void)state;
    store_free(stored_fresh());
    stored_query("PRAGMA user_version=99");
    assert_int_equal(stored_reload(1, &found, &err), -EPROTO);
    assert_non_null(strstr(err.text, "newer voltd"));
}

static void fail_on_finding(void *arg, const char *text)
{
    (void)arg;
    fail_msg("%s", text);
}

/* The file as the first format had it: no table of outputs, no numbers in jobs and ends,
 * nor under their checksums; the sums end earlier. */
static void make_first_format(void)
{
    struct pack sums = {0}, body = {0};
    struct volt_error err = {{0}};
    struct row_sums want;
    struct db db;
    char path[PATH_MAX];

    stored_path("jobs.1.db", path);
    assert_int_equal(db_open(&db, path, DB_WRITE, &err), 0);
    assert_int_equal(db_meta_get(&db, "sums", &sums), 0);
    assert_true(row_sums_unpack(&want, sums.bytes, sums.n));
    want.job = want.ended = (struct row_sum){0};
    sqlite3_stmt *get, *put;
    assert_int_equal(
        sqlite3_prepare_v2(db.handle, "SELECT id,body FROM job", -1, &get, NULL),
        SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db.handle, "UPDATE job SET body=?1 WHERE id=?2",
                                        -1, &put, NULL),
                     SQLITE_OK);
    while (sqlite3_step(get) == SQLITE_ROW) {
        const struct row_key key = {.table = ROW_JOB, .a = sqlite3_column_int64(get, 0)};

        pack_clear(&body);
        pack_raw(&body, sqlite3_column_blob(get, 1),
                 (size_t)sqlite3_column_bytes(get, 1) - 4);
        row_seal(&body, 0, &key);
        row_sum_add(&want.job, row_digest(body.bytes, body.n, &key));
        (void)sqlite3_bind_blob(put, 1, body.bytes, (int)body.n, SQLITE_STATIC);
        (void)sqlite3_bind_int64(put, 2, key.a);
        assert_int_equal(db_run(put), SQLITE_OK);
    }
    (void)sqlite3_finalize(get);
    (void)sqlite3_finalize(put);
    assert_int_equal(
        sqlite3_prepare_v2(db.handle, "SELECT id,at FROM ended", -1, &get, NULL),
        SQLITE_OK);
    while (sqlite3_step(get) == SQLITE_ROW)
        row_sum_add(&want.ended,
                    row_digest(NULL, 0,
                               &(struct row_key){.table = ROW_ENDED,
                                                 .a = sqlite3_column_int64(get, 0),
                                                 .b = sqlite3_column_int64(get, 1)}));
    (void)sqlite3_finalize(get);
    pack_clear(&sums);
    want.first = want.last_id = 0;
    row_sums_pack(&want, &sums);
    sums.n -= 8; /* zeros: the sum of outputs, the number before the first, the last id,
                  * the sums of resources and of keys */
    assert_int_equal(db_meta_put(&db, "sums", &sums), SQLITE_OK);
    db_close(&db);
    pack_fini(&sums);
    pack_fini(&body);
    stored_query("DROP TABLE output");
    stored_query("DROP TABLE resource");
    stored_query("DROP TABLE key");
    stored_query("DROP INDEX ended_of");
    stored_query("ALTER TABLE ended DROP COLUMN uid");
    stored_query("ALTER TABLE job DROP COLUMN seq");
    stored_query("ALTER TABLE ended DROP COLUMN seq");
    stored_query("PRAGMA user_version=1");
}

static void an_older_format_is_brought_up(void **state)
{
    struct volt_error err = {{0}};
    struct store *s = stored_fresh();
    struct found found;

    (void)state;
    stored_fill(s);
    store_free(s);
    make_first_format();
    assert_int_equal(store_sqlite_check(stored_dir, fail_on_finding, NULL), 0);
    assert_int_equal(stored_query("PRAGMA user_version"),
                     1); /* a check changes nothing */
    assert_int_equal(stored_reload(1, &found, &err), 0);
    assert_string_equal(found.text, stored_expected);
    assert_int_equal(stored_query("PRAGMA user_version"), DB_VERSION);
    s = stored_fresh();
    assert_int_equal(store_last_id(s), 3);
    assert_int_equal(stored_submit(s, 4, "d", NULL), 0);
    assert_int_equal(stored_end_with(s, 2, 0, "out\n", NULL), 0);
    store_free(s);
    assert_int_equal(stored_reload(1, &found, &err), 0);
    assert_non_null(strstr(found.text, "4:submit:d: "));
    assert_int_equal(store_sqlite_check(stored_dir, fail_on_finding, NULL), 0);
}

static void an_older_format_is_brought_up_whole_or_not_at_all(void **state)
{
    struct volt_error err = {{0}};
    struct store *s = stored_fresh();
    struct found found;

    (void)state;
    stored_fill(s);
    store_free(s);
    make_first_format();
    stored_query("CREATE TABLE resource(in_the_way INTEGER)"); /* of version 14 */
    assert_int_equal(stored_reload(1, &found, &err), -EBADMSG);
    assert_non_null(strstr(err.text, "table resource already exists"));
    assert_int_equal(stored_query("PRAGMA user_version"), 1);
    assert_int_equal(stored_query("SELECT count(*) FROM sqlite_master"
                                  " WHERE name='output'"),
                     0); /* of version 3 */
    stored_query("DROP TABLE resource");
    assert_int_equal(stored_reload(1, &found, &err), 0);
    assert_string_equal(found.text, stored_expected);
}

/* --- damage --------------------------------------------------------------------- */

/* Refused, or exactly what was there. */
static void never_silently_wrong(size_t at)
{
    struct volt_error err = {{0}};
    struct found found;
    int r = stored_reload(1, &found, &err);

    if (r == 0 && strcmp(found.text, stored_expected) != 0)
        fail_msg("damage at %zu: accepted as %s", at, found.text);
    if (r < 0 && !err.text[0])
        fail_msg("damage at %zu: refused without a word", at);
}

static void no_flipped_byte_is_silently_wrong(void **state)
{
    struct store *s = stored_fresh();
    uint8_t *bytes;

    (void)state;
    stored_fill(s);
    store_free(s);
    size_t n = stored_read("jobs.1.db", &bytes);
    for (size_t i = 0; i < n; i += 29) { /* all of them: tests/damage */
        bytes[i] ^= 0xff;
        stored_remove_journal();
        stored_write("jobs.1.db", bytes, n);
        never_silently_wrong(i);
        bytes[i] ^= 0xff;
    }
    for (size_t i = 0; i < n; i += 211) {
        stored_remove_journal();
        stored_write("jobs.1.db", bytes, i);
        never_silently_wrong(i);
    }
    stored_remove_journal();
    stored_write("jobs.1.db", bytes, n);
    free(bytes);
}

static int resource(struct store *s, uid_t owner, const char *name, uint64_t capacity)
{
    const bool is_rate = capacity == 4;
    const struct store_fact fact = {
        .type = STORE_RESOURCE,
        .resource = {owner, name, capacity, is_rate ? 1000 : 0, is_rate ? 77 : 0}};

    return stored_keep(s, &fact, 1);
}

/* The latest of each name, in front of all jobs; a size of none is kept no longer. */
static void the_latest_size_of_a_resource_is_kept(void **state)
{
    struct volt_error err = {{0}};
    struct store *s = stored_fresh();
    struct found found;

    (void)state;
    assert_int_equal(resource(s, 7, "tape", 2), 0);
    assert_int_equal(resource(s, 7, "other", 5), 0);
    assert_int_equal(stored_submit(s, 1, "a", NULL), 0);
    assert_int_equal(resource(s, 8, "tape", 1000000000), 0);
    assert_int_equal(resource(s, 7, "tape", 3), 0);
    assert_int_equal(resource(s, 7, "other", 0), 0);
    assert_int_equal(resource(s, 7, "none", 0), 0);
    assert_int_equal(resource(s, 7, "a rate", 4), 0);
    store_free(s);
    assert_int_equal(stored_reload(1, &found, &err), 0);
    assert_string_equal(found.text, "a rate of 7:4:1000:77 tape of 7:3:0:0 "
                                    "tape of 8:1000000000:0:0 1:submit:a: ");
    store_sqlite_check(stored_dir, fail_on_finding, NULL);
    stored_query("UPDATE resource SET owner=9 WHERE owner=8");
    assert_int_equal(stored_reload(1, &found, &err), -EBADMSG);
    stored_query("UPDATE resource SET owner=8 WHERE owner=9");
    assert_int_equal(stored_reload(1, &found, &err), 0);
    stored_query("UPDATE resource SET name='tap' WHERE owner=8");
    assert_int_equal(stored_reload(1, &found, &err), -EBADMSG);
    stored_query("DELETE FROM resource WHERE owner=8");
    assert_int_equal(stored_reload(1, &found, &err), -EBADMSG);
}

/* It was true once, and its checksum is right: only the sum knows of another one. */
static void an_old_row_is_damage(void **state)
{
    struct volt_error err = {{0}};
    struct store *s = stored_fresh();
    struct found found;

    (void)state;
    assert_int_equal(resource(s, 7, "tape", 2), 0);
    store_free(s);
    stored_query("CREATE TABLE old AS SELECT body FROM resource");
    s = stored_fresh();
    assert_int_equal(resource(s, 7, "tape", 3), 0);
    store_free(s);
    stored_query("UPDATE resource SET body=(SELECT body FROM old)");
    assert_int_equal(stored_reload(1, &found, &err), -EBADMSG);
    assert_non_null(strstr(err.text, "1 rows instead of 1, but not the same"));
}

static int queue(struct store *s, const char *name, const uint64_t *numbers, size_t n)
{
    const struct store_fact fact = {.type = STORE_QUEUE, .queue = {name, numbers, n}};

    return stored_keep(s, &fact, 1);
}

static void what_was_set_of_a_queue_is_kept(void **state)
{
    static const uint64_t first[] = {0, 9}, latest[] = {3, UINT64_MAX, 1};
    struct volt_error err = {{0}};
    struct store *s = stored_fresh();
    struct found found;

    (void)state;
    assert_int_equal(queue(s, "night", first, 2), 0);
    assert_int_equal(queue(s, "gone", first, 2), 0);
    assert_int_equal(resource(s, 7, "night", 2), 0);
    assert_int_equal(queue(s, "night", latest, 3), 0);
    assert_int_equal(queue(s, "gone", NULL, 0), 0);
    store_free(s);
    assert_int_equal(stored_reload(1, &found, &err), 0);
    assert_string_equal(found.text, "queue night:3:18446744073709551615:1 "
                                    "night of 7:2:0:0 ");
    store_sqlite_check(stored_dir, fail_on_finding, NULL);
    stored_query("UPDATE resource SET name='nigh' WHERE owner=-1");
    assert_int_equal(stored_reload(1, &found, &err), -EBADMSG);
    stored_query("DELETE FROM resource WHERE owner=-1");
    assert_int_equal(stored_reload(1, &found, &err), -EBADMSG);
}

static void a_queue_has_so_many_numbers_at_most(void **state)
{
    static const uint64_t many[STORE_QUEUE_NUMBERS + 1];
    struct volt_error err = {{0}};
    struct store *s = stored_fresh();
    struct found found;

    (void)state;
    assert_int_equal(queue(s, "most", many, STORE_QUEUE_NUMBERS), 0);
    store_free(s);
    assert_int_equal(stored_reload(1, &found, &err), 0);
    s = stored_fresh();
    assert_int_equal(queue(s, "more", many, STORE_QUEUE_NUMBERS + 1), 0);
    store_free(s);
    assert_int_equal(stored_reload(1, &found, &err), -EBADMSG);
}

/* A row that somebody deletes leaves a file that is perfectly sound to SQLite. */
static void a_missing_row_is_damage(void **state)
{
    static const char *const statements[] = {
        "DELETE FROM job WHERE id=3", "DELETE FROM event WHERE job=2",
        "DELETE FROM ended", "DELETE FROM content", "DELETE FROM meta WHERE name='sums'"};
    struct store *s = stored_fresh();
    struct volt_error err = {{0}};
    struct found found;
    uint8_t *bytes;

    (void)state;
    stored_fill(s);
    store_free(s);
    size_t n = stored_read("jobs.1.db", &bytes);
    for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]); i++) {
        stored_query(statements[i]);
        assert_int_equal(stored_reload(1, &found, &err), -EBADMSG);
        stored_remove_journal();
        stored_write("jobs.1.db", bytes, n);
    }
    assert_int_equal(stored_reload(1, &found, &err), 0);
    free(bytes);
}

static void assert_unchanged(const char *name, uint8_t *before, size_t n)
{
    uint8_t *now;

    assert_int_equal(stored_read(name, &now), n);
    assert_memory_equal(now, before, n);
    free(now);
    free(before);
}

static void a_refused_start_changes_nothing(void **state)
{
    struct store *s = stored_fresh();
    struct volt_error err = {{0}};
    struct found found;
    uint8_t *file, *journal;

    (void)state;
    stored_fill(s);
    stored_query("UPDATE job SET body=x'00' WHERE id=2");
    size_t n = stored_read("jobs.1.db", &file);
    size_t journal_n = stored_read("jobs.1.db-wal", &journal);
    store_free(s);
    stored_remove_journal();
    stored_write("jobs.1.db", file, n);
    stored_write("jobs.1.db-wal", journal, journal_n);
    assert_int_equal(stored_reload(2, &found, &err), -EBADMSG);
    assert_unchanged("jobs.1.db", file, n);
    assert_unchanged("jobs.1.db-wal", journal, journal_n);
}

static void nor_does_one_of_an_older_format(void **state)
{
    struct store *s = stored_fresh();
    struct volt_error err = {{0}};
    struct found found;
    uint8_t *file;

    (void)state;
    stored_fill(s);
    store_free(s);
    make_first_format();
    stored_query("UPDATE job SET body=x'00' WHERE id=2");
    size_t n = stored_read("jobs.1.db", &file);
    assert_int_equal(stored_reload(2, &found, &err), -EBADMSG);
    assert_unchanged("jobs.1.db", file, n);
    assert_int_equal(stored_query("PRAGMA user_version"), 1);
}

/* --- reading beside each other ------------------------------------------------------ */

#define ELEMENTS 2600

struct asking {
    struct store *store;
    vat_u32 answers, over;
};

static void *ask_on(void *arg)
{
    struct asking *a = arg;

    while (!vat_u32_load(&a->over, VAT_ACQ)) {
        (void)vat_u32_add(&a->answers, store_has(a->store, 1) == 1, VAT_RLX);
    }
    return NULL;
}

struct counted {
    struct asking *asking;
    uint32_t facts, first; /* answers that the other had at the first fact ... */
    uint32_t last;         /* ... and at the last */
};

static int count_fact(void *arg, const struct store_loaded *loaded)
{
    struct counted *c = arg;

    if (loaded->type == STORE_LOADED_EVENT)
        assert_int_equal(loaded->event.key.index + 1, c->facts);
    c->last = vat_u32_load(&c->asking->answers, VAT_RLX);
    if (c->facts++ == 0)
        c->first = c->last;
    return 0;
}

/* An array with so many elements that have ended. */
static void store_elements(struct store *s, uint64_t id)
{
    struct job_event ev = {.type = JOB_EV_STARTING, .at_usec = 5, .attempt = 1};
    struct store_fact facts[ELEMENTS + 1];

    assert_int_equal(stored_submit(s, id, "x", NULL), 0);
    for (int64_t i = 0; i < ELEMENTS; i++)
        facts[i] = fact_event(id, i, &ev);
    facts[ELEMENTS] = fact_last(id, 5, stored_owner);
    assert_int_equal(stored_keep(s, facts, ELEMENTS + 1), 0);
}

/* What a thread asks for while another reads a job with many events is answered before
 * that has them all: one that was read before may count, a second one not. It may just
 * not ask in time: then again. */
static void reading_much_lets_others_read(void **state)
{
    struct store *s = stored_fresh();
    struct asking asking = {.store = s};
    struct counted c;
    pthread_t thread;

    (void)state;
    store_elements(s, 1);
    assert_int_equal(pthread_create(&thread, NULL, ask_on, &asking), 0);
    int tries = 0;
    do {
        const struct store_range range = {.first = 1, .last = 1, .max = 1};
        uint64_t at;

        c = (struct counted){.asking = &asking};
        assert_int_equal(store_history(s, &range, count_fact, &c, &at, NULL), 1);
        assert_int_equal(c.facts, 1 + ELEMENTS);
    } while (c.last < c.first + 2 && ++tries < 1000);
    vat_u32_store(&asking.over, 1, VAT_REL);
    (void)pthread_join(thread, NULL);
    assert_true(c.last >= c.first + 2);
    store_free(s);
}

#define T(f) cmocka_unit_test_setup_teardown(f, stored_setup, stored_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(what_was_committed_is_loaded),
        T(a_copy_of_the_files_at_any_moment_has_what_was_committed),
        T(another_boot_is_another_life),
        T(equal_contents_are_kept_once),
        T(a_content_goes_with_its_last_job),
        T(what_has_ended_goes_when_it_is_too_much),
        T(nothing_goes_for_its_age_at_once),
        T(the_last_id_is_remembered),
        T(output_is_kept_with_the_end),
        T(damaged_output_is_named_and_not_handed_out),
        T(output_goes_with_its_job),
        T(a_job_that_others_wait_for_stays),
        T(what_cannot_be_forgotten_stays_whole),
        T(only_regular_files_are_opened),
        T(an_older_format_is_brought_up),
        T(an_older_format_is_brought_up_whole_or_not_at_all),
        T(a_refused_start_changes_nothing),
        T(nor_does_one_of_an_older_format),
        T(a_newer_format_is_refused),
        T(no_flipped_byte_is_silently_wrong),
        T(the_latest_size_of_a_resource_is_kept),
        T(an_old_row_is_damage),
        T(what_was_set_of_a_queue_is_kept),
        T(a_queue_has_so_many_numbers_at_most),
        T(a_missing_row_is_damage),
        T(reading_much_lets_others_read),
    };
    return cmocka_run_group_tests(tests, stored_start, stored_stop);
}
