/* What one job costs in each part of voltd, one part after the other on one thread,
 * beside what the disk and the processor allow: the rates that bench/daemon/run takes for
 * possible.
 *
 *   stages DIR      prints one JSON object: microseconds per job by stage
 *
 * The parts are those of the daemon itself, linked, with the texts of load.c:
 *
 *   parse      the text of a call becomes a JSON value            (one call in 1000 jobs)
 *   validate   the value becomes a spec
 *   pack       the spec becomes the bytes of the store
 *   insert     SQLite's work, in groups of 1000 jobs, without the sync
 *   commit     the sync of such a group, per job; and of a group of one
 *   reply      the id as JSON
 *   claim      a slot, the job's task and the events STARTING, STARTED, EXITED in memory
 *   launch     argv, environment and paths become a block and are decoded
 *   record     an exit record made, its slots written, and removed
 *   fork_exec  a process by vfork that becomes /bin/true, until its exec
 *   reap       until it has ended and is reaped
 *   end        its record is looked at */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "daemon/config/config.h"
#include "daemon/admit/admission.h"
#include "daemon/job/job.h"
#include "daemon/job/spec_pack.h"
#include "daemon/keeper/protocol.h"
#include "daemon/link/record_make.h"
#include "daemon/method/spec_json.h"
#include "daemon/store/commit_log.h"
#include "daemon/store/fact.h"
#include "daemon/store/reader.h"
#include "daemon/store/sqlite.h"
#include "wire/json.h"
#include <volt/runtime.h>

enum { JOBS = 1000, ROUNDS = 9, SYNCS = 41 };

static struct config config;

static void must(long result, const char *what)
{
    if (result >= 0)
        return;
    (void)fprintf(stderr, "stages: %s: %s\n", what, strerror((int)-result));
    exit(1);
}

static double now_us(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *values, size_t n)
{
    qsort(values, n, sizeof(*values), by_value);
    return values[n / 2];
}

/* --- submission ------------------------------------------------------------------- */

struct submission {
    char *text;
    size_t len, begin; /* of the list */
    json_t *call, *entries[JOBS];
    struct job_spec *specs[JOBS];
    struct store_fact facts[JOBS];
    uint64_t submitted_usec;
};

static void make_text(struct submission *s)
{
    FILE *f = open_memstream(&s->text, &s->len);

    must(f ? 0 : -ENOMEM, "text");
    (void)fprintf(
        f, "{\"method\":\"org.voltd.jobs.SubmitBatch\",\"parameters\":{\"specs\":[");
    (void)fflush(f);
    s->begin = s->len;
    for (int i = 0; i < JOBS; i++)
        (void)fprintf(
            f,
            "%s{\"kind\":\"exec\",\"argv\":[\"/bin/true\",\"%d\"],\"cwd\":\"/\","
            "\"name\":\"job-%d\"}",
            i ? "," : "", i, i);
    (void)fprintf(f, "]}}");
    (void)fclose(f);
}

static void parse(struct submission *s)
{
    struct volt_error err;

    const char *end = "]}}";
    size_t list = s->begin, at = 0;
    struct wire_piece around[WIRE_PIECES] = {{s->text, list}, {end, strlen(end)}};

    must(wire_parse_pieces(around, 8u << 20, &s->call, &err), "parse");
    for (size_t i = 0; i < JOBS; i++)
        must(wire_parse_entry(s->text + list, s->len - strlen(end) - list, &at, 8u << 20,
                              &s->entries[i], &err),
             "parse");
}

static void validate(struct submission *s)
{
    struct field_error err;

    for (size_t i = 0; i < JOBS; i++)
        must(spec_from_json(s->entries[i], &config, NULL, &s->specs[i], &err),
             "validate");
}

static void pack_all(struct submission *s)
{
    for (size_t i = 0; i < JOBS; i++) {
        struct spec_pack p = {0};

        must(job_spec_pack(s->specs[i], &p), "pack");
        spec_pack_fini(&p);
    }
}

static void reply(struct submission *s)
{
    struct wire_buf out = {0};
    json_t *ids = json_array();

    (void)s;
    for (int i = 0; i < JOBS; i++) {
        char id[24];

        (void)snprintf(id, sizeof(id), "%d", 1000000 + i);
        wire_add(&ids, json_string(id));
    }
    must(wire_encode(&out, ids), "reply");
    json_decref(ids);
    wire_buf_fini(&out);
}

/* --- the store -------------------------------------------------------------------- */

struct committing {
    struct store_commit commit;
};

static enum volt_poll committing_poll(struct volt_cx *cx, void *state)
{
    struct committing *w = state;

    return store_commit_poll(cx, &w->commit);
}

static void committing_drop(void *state)
{
    struct committing *w = state;

    store_commit_fini(&w->commit);
}

static const struct volt_task_type committing_type = {
    "committing", sizeof(struct committing), committing_poll, committing_drop, NULL};

static int ignore(void *arg, const struct store_loaded *loaded)
{
    (void)arg;
    (void)loaded;
    return 0;
}

static struct store *open_store(const char *dir)
{
    struct store_sqlite_options o = {.dir = dir, .boot_id = {1}, .generation = {1}};
    struct volt_error err = {{0}};
    struct store *store = NULL;
    int r = store_sqlite_open(&o, &store, &err);

    if (r == 0)
        r = store_load(store, ignore, NULL, &err);
    if (r < 0)
        (void)fprintf(stderr, "stages: %s\n", err.text);
    must(r, dir);
    return store;
}

/* Appends n submissions with ids from `first` on and waits for their commit. */
static void keep(struct volt_runtime *rt, struct store *store, struct submission *s,
                 uint64_t first, size_t n)
{
    struct committing *w = volt_task_new(rt, &committing_type);
    struct volt_join join;

    for (size_t i = 0; i < n; i++)
        s->facts[i] = (struct store_fact){.type = STORE_SUBMIT,
                                          .submit = {.id = first + i,
                                                     .at_usec = s->submitted_usec,
                                                     .spec = s->specs[i]}};
    must(w ? 0 : -ENOMEM, "task");
    must(store_append(store, s->facts, n, &w->commit), "append");
    must(volt_task_spawn(w, &join), "spawn");
    store_kick(store, false);
    must(volt_join_wait(&join), "commit");
}

/* --- execution -------------------------------------------------------------------- */

static void claim(struct admission *a, struct waiter *waiters, struct job_status *status)
{
    const struct admission_ask ask = {.slot = true};

    for (int i = 0; i < JOBS; i++) {
        must(admission_assign(a, &waiters[i], &ask, (uint64_t)i + 1), "class");
        admission_enter(a, &waiters[i], 1);
    }
    for (int i = 0; i < JOBS; i++) {
        unsigned budget = 64;
        struct job_event ev[] = {
            {.type = JOB_EV_SUBMIT, .at_usec = 1},
            {.type = JOB_EV_STARTING, .at_usec = 2, .attempt = 1},
            {.type = JOB_EV_STARTED, .at_usec = 3, .attempt = 1, .pid = 4},
            {.type = JOB_EV_EXITED, .at_usec = 5, .result = JOB_RESULT_SUCCESS},
        };

        struct waiter *first = admission_next(a, 2, &budget);
        must(first ? 0 : -ENOENT, "admission");
        admission_take(a, first, false, 2);
        status[i] = (struct job_status){0};
        for (size_t e = 0; e < sizeof(ev) / sizeof(ev[0]); e++)
            must(job_update(&status[i], &ev[e]), "event");
        admission_ended(a, first, 1, 3, 5);
        admission_release_locks(a, first, 1, 5);
        admission_forget(a, first);
    }
}

static char *argv_true[] = {(char *)"/bin/true", NULL};

static void launch(void)
{
    char *env[] = {(char *)"VOLT_JOB_ID=1000000", (char *)"VOLT_ATTEMPT=1",
                   (char *)"VOLT_ADDRESS=unix:/run/voltd/voltd.sock",
                   (char *)"VOLT_JOB=1000000 /run/voltd/voltd.sock", NULL};
    struct launch l = {.cwd = "/", .argv = argv_true, .argc = 1, .env = env, .envc = 4};

    for (int i = 0; i < JOBS; i++) {
        _Alignas(8) char block[4096];
        struct launch out;
        long size = launch_encode(&l, block, sizeof(block));

        must(size, "launch");
        must(launch_decode(block, (size_t)size, &out), "launch");
    }
}

/* One record after the other; *ret_end: looking at it. */
static double records(int dir, double *ret_end)
{
    struct record_pool pool = {0};
    uint8_t boot[RECORD_ID_SIZE] = {1};
    double end = 0, begin = now_us();

    for (int i = 0; i < JOBS; i++) {
        struct job_key key = {(uint64_t)i + 1, JOB_NO_INDEX, 1};
        struct record_started started = {.pid = 1};
        struct record_exited exited = {.end = RECORD_END_EXIT};
        struct record rec;
        uint32_t seed;
        int fd = record_create(dir, &pool, &key, boot, KEEPER_KILL_TREE, &seed);

        must(fd, "record");
        must(record_write_started(fd, seed, &started), "record");
        must(record_write_exited(fd, seed, &exited), "record");
        (void)close(fd);
        double look = now_us();
        must(record_probe(dir, &key, boot, &rec), "record");
        end += now_us() - look;
        must(rec.verdict == RECORD_DONE ? 0 : -EIO, "record");
        must(record_remove(dir, &pool, &key, boot), "record");
    }
    record_sweep(dir);
    *ret_end = end / JOBS;
    return (now_us() - begin - end) / JOBS;
}

/* posix_spawn is a vfork here, too. */
static double spawn(double *ret_reap)
{
    enum { N = 200 };
    double born = 0, begin = now_us();

    for (int i = 0; i < N; i++) {
        double start = now_us();
        pid_t pid;

        must(-posix_spawn(&pid, argv_true[0], NULL, NULL, argv_true, environ), "spawn");
        born += now_us() - start;
        must(waitpid(pid, NULL, 0), "wait");
    }
    *ret_reap = (now_us() - begin - born) / N;
    return born / N;
}

/* --- all of it --------------------------------------------------------------------- */

#define TIMED(value, what)                                                               \
    do {                                                                                 \
        double timed_from = now_us();                                                    \
        what;                                                                            \
        (value) = (now_us() - timed_from) / JOBS;                                        \
    } while (0)

/* A sync of as many pages as one commit of n jobs writes, into a file written before. */
static double sync_us(int dir, size_t bytes)
{
    static char page[4096];
    double took[SYNCS];
    int fd = openat(dir, "sync", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    must(fd < 0 ? -errno : 0, "sync");
    for (int round = -1; round < SYNCS; round++) {
        double begin = now_us();

        for (size_t at = 0; at < bytes; at += sizeof(page))
            must(pwrite(fd, page, sizeof(page), (off_t)at), "write");
        must(fdatasync(fd) < 0 ? -errno : 0, "fdatasync");
        if (round >= 0)
            took[round] = now_us() - begin;
    }
    (void)close(fd);
    (void)unlinkat(dir, "sync", 0);
    return median(took, SYNCS);
}

int main(int argc, char **argv)
{
    static struct submission s;
    static struct waiter waiters[JOBS];
    static struct job_status status[JOBS];
    enum {
        PARSE,
        VALIDATE,
        PACK,
        KEEP,
        REPLY,
        CLAIM,
        LAUNCH,
        RECORD,
        EXEC,
        REAP,
        END,
        N
    };
    static double us[N][ROUNDS], single[SYNCS];
    struct volt_runtime *rt;
    uint64_t id = 1;

    if (argc != 2)
        return 2;
    int dir = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    must(dir < 0 ? -errno : 0, argv[1]);
    config_defaults(&config);
    make_text(&s);
    s.submitted_usec = 1;
    must(volt_runtime_new(&(struct volt_options){.workers = 1}, &rt), "runtime");
    struct store *store = open_store(argv[1]);
    struct admission *admission = admission_new(&(struct siphash_key){1, 2}, 1);
    must(admission ? 0 : -ENOMEM, "admission");
    for (int r = 0; r < ROUNDS; r++) {
        TIMED(us[PARSE][r], parse(&s));
        TIMED(us[VALIDATE][r], validate(&s));
        TIMED(us[PACK][r], pack_all(&s));
        TIMED(us[KEEP][r], keep(rt, store, &s, id, JOBS));
        id += JOBS;
        TIMED(us[REPLY][r], reply(&s));
        TIMED(us[CLAIM][r], claim(admission, waiters, status));
        TIMED(us[LAUNCH][r], launch());
        us[RECORD][r] = records(dir, &us[END][r]);
        us[EXEC][r] = spawn(&us[REAP][r]);
        if (r < ROUNDS - 1)
            for (int i = 0; i < JOBS; i++)
                job_spec_unref(s.specs[i]);
        json_decref(s.call);
        for (size_t i = 0; i < JOBS; i++)
            json_decref(s.entries[i]);
    }
    for (int i = 0; i < SYNCS; i++) {
        double begin = now_us();

        keep(rt, store, &s, id++, 1);
        single[i] = now_us() - begin;
    }
    double sync_group = sync_us(dir, 96 * JOBS), sync_one = sync_us(dir, 2 * 4096);
    double commit = sync_group / JOBS, kept = median(us[KEEP], ROUNDS);
    printf("{\"parse\": %.2f, \"validate\": %.2f, \"pack\": %.2f, \"insert\": %.2f, "
           "\"commit\": %.2f, \"reply\": %.2f, \"claim\": %.2f, \"launch\": %.2f, "
           "\"record\": %.1f, \"fork_exec\": %.1f, \"reap\": %.1f, \"end\": %.1f, ",
           median(us[PARSE], ROUNDS), median(us[VALIDATE], ROUNDS),
           median(us[PACK], ROUNDS), kept > commit ? kept - commit : kept, commit,
           median(us[REPLY], ROUNDS), median(us[CLAIM], ROUNDS),
           median(us[LAUNCH], ROUNDS), median(us[RECORD], ROUNDS),
           median(us[EXEC], ROUNDS), median(us[REAP], ROUNDS), median(us[END], ROUNDS));
    printf("\"commit_one\": %.1f, \"sync_one\": %.1f, \"sync_group\": %.1f}\n",
           median(single, SYNCS), sync_one, sync_group);
    admission_free(admission);
    store_free(store);
    volt_runtime_free(rt);
    (void)close(dir);
    return 0;
}
