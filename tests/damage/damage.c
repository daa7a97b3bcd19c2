/* A damaged store is refused, and the place named, or it is what it was: never something
 * else.
 *
 *     damage [STRIDE [SEED]]
 *
 * A store of 64 KiB, with every kind of row and of event in it, is damaged in one place
 * at a time and loaded as the daemon loads it:
 *
 *   flip      each byte inverted
 *   cut       the file cut short at each length
 *   journal   each byte of a journal that was not copied back yet inverted. SQLite takes the place
 *             for its end: the store has what it had after one of its transactions
 *   witness   an older store beside its witness, of which each byte is inverted, or which is
 *             cut short at each length: it must be refused, and so must it beside the sound one
 *
 * STRIDE > 1 takes one place in so many, from SEED on. Files in /dev/shm; two threads,
 * each with a copy of its own. The last line counts kinds of damage as passed or failed,
 * then places. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <volt/volt.h>

#include "daemon/job/env.h"
#include "daemon/job/event.h"
#include "daemon/job/spec_pack.h"
#include "daemon/store/contents.h"
#include "daemon/store/commit_log.h"
#include "daemon/store/reader.h"
#include "daemon/store/sqlite.h"
#include "tests/support/facts.h"
#include "daemon/store/witness.h"

#define STORE_BYTES  65536
#define THREADS      2
#define TRANSACTIONS 3 /* in the journal */
#define NAME         "jobs.1.db"

static char base[] = "/dev/shm/volt-damage-XXXXXX";
static size_t stride = 1, first;

static void die(const char *what)
{
    (void)fprintf(stderr, "damage: %s: %s\n", what, strerror(errno));
    exit(2);
}

struct bytes {
    uint8_t *at;
    size_t n;
};

/* What is damaged; never changes once it is prepared. */
static struct {
    struct bytes file, journal, behind; /* behind: the file that the journal belongs to */
    uint64_t state;
    uint64_t after[TRANSACTIONS + 1]; /* the state after so many of the journal's */
    uint64_t jobs;                    /* their ids are below */
    struct bytes witness;             /* of the store with its journal; `file` is older */
} sound;

/* --- what a load finds -------------------------------------------------------------- */

#define JOBS_MAX 1024

/* What one load is told. */
struct told {
    uint64_t hash;
    uint8_t kept[JOBS_MAX]; /* what the ends say of the output of each job */
};

static void hash(uint64_t *h, const void *bytes, size_t n)
{
    *h = (uint64_t)contents_hash(*h, bytes, n);
}

static void pack_job(struct pack *p, const struct store_loaded_job *job)
{
    pack_number(p, job->id);
    pack_number(p, job->submitted_usec);
    pack_number(p, job->uid);
    pack_number(p, job->gid);
    pack_number(p, job->ended);
}

static void pack_event(struct pack *p, const struct store_loaded_event *e)
{
    pack_number(p, e->key.id);
    pack_signed(p, e->key.index);
    pack_number(p, e->event->other_life);
    job_event_pack(p, e->event, 0);
}

/* Of everything that the daemon is told. */
static int note(void *arg, const struct store_loaded *loaded)
{
    struct spec_pack spec = {{0}, {0}, {0}};
    struct told *told = arg;
    struct pack p = {0};

    pack_number(&p, loaded->type);
    switch (loaded->type) {
    case STORE_LOADED_JOB:
        pack_job(&p, &loaded->job);
        if (job_spec_pack(loaded->job.spec, &spec) < 0)
            return -ENOMEM;
        break;
    case STORE_LOADED_EVENT:
        pack_event(&p, &loaded->event);
        if (loaded->event.key.id < JOBS_MAX)
            told->kept[loaded->event.key.id] |= loaded->event.event->kept;
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
    hash(&told->hash, p.bytes, p.n);
    hash(&told->hash, spec.own.bytes, spec.own.n);
    hash(&told->hash, spec.env.bytes, spec.env.n);
    hash(&told->hash, spec.argv.bytes, spec.argv.n);
    spec_pack_fini(&spec);
    pack_fini(&p);
    return 0;
}

static int open_store(const char *dir, struct store **ret, struct told *ret_told,
                      struct volt_error *err)
{
    struct store_sqlite_options o = {.dir = dir, .boot_id = {1}, .generation = {7}};
    int r = store_sqlite_open(&o, ret, err);

    *ret_told = (struct told){0};
    if (r < 0)
        return r;
    r = store_load(*ret, note, ret_told, err);
    if (r < 0)
        store_free(*ret);
    return r;
}

/* What every job has printed, as somebody who asks is told: also that it is nothing,
 * unless its end says otherwise. */
static int note_output(struct store *s, struct told *told, struct volt_error *err)
{
    for (unsigned i = 0; i < sound.jobs * STORE_STREAMS; i++) {
        const unsigned stream = i % STORE_STREAMS;
        const struct job_key key = {.id = i / STORE_STREAMS, .index = JOB_NO_INDEX};
        void *bytes = NULL;
        size_t n = 0;
        int r = store_output(s, &key, stream, &bytes, &n);

        if (r == -ENODATA && told->kept[key.id] & 1u << stream)
            r = -EBADMSG;
        if (r < 0 && r != -ENODATA) {
            (void)snprintf(err->text, sizeof(err->text), "output: %s", strerror(-r));
            return r;
        }
        hash(&told->hash, &n, sizeof(n));
        if (n > 0)
            hash(&told->hash, bytes, n);
        free(bytes);
    }
    return 0;
}

static int load(const char *dir, uint64_t *ret_hash, struct volt_error *err)
{
    struct told told;
    struct store *s;
    int r = open_store(dir, &s, &told, err);

    if (r < 0)
        return r;
    r = note_output(s, &told, err);
    *ret_hash = told.hash;
    store_free(s);
    return r;
}

/* --- a store with everything in it -------------------------------------------------- */

static uid_t owner_of(uint64_t id)
{
    return 1000 + (uid_t)(id % 2);
}

/* output: of a job that has ended with that; NULL: it has not, or is an element. */
static void append(struct store *s, uint64_t id, int64_t index,
                   const struct job_event *events, size_t n,
                   const struct store_piece *output)
{
    struct store_fact facts[6];

    for (size_t i = 0; i < n; i++)
        facts[i] = fact_event(id, index, &events[i]);
    if (output) {
        facts[n] = fact_output(id, output);
        facts[n + 1] = fact_last(id, events[n - 1].at_usec, owner_of(id));
        facts[n + 2] = (struct store_fact){
            .type = STORE_KEY,
            .key = {.id = id,
                    .uid = owner_of(id),
                    .at_usec = events[n - 1].at_usec,
                    .name = {id * 77, id * 78},
                    .body = {id * 79, id * 80},
                    .end = {.code = 3, .result = JOB_RESULT_EXIT, .exit_code = 3}}};
        n += 3;
    }
    if (store_append(s, facts, n, NULL) < 0)
        die("append");
}

/* A text of n characters that differs from job to job. */
static char *text(uint64_t id, size_t n)
{
    char *s = malloc(n + 1);

    if (!s)
        die("memory");
    for (size_t i = 0; i < n; i++)
        s[i] = (char)('a' + (id * 7 + i * (id % 5 + 1)) % 26);
    s[n] = '\0';
    return s;
}

static struct job_env *env_of(uint64_t id)
{
    char *second = text(id % 3, 9 + id % 3);

    second[1] = '=';
    struct job_env *env = job_env_new((char *const[]){"PATH=/bin", second, NULL});
    if (!env)
        die("memory");
    free(second);
    return env;
}

static struct job_spec *spec_of(uint64_t id)
{
    struct job_spec *s = job_spec_new();

    if (!s)
        die("memory");
    s->argv = calloc(3, sizeof(*s->argv));
    s->labels = calloc(1, sizeof(*s->labels));
    if (!s->argv || !s->labels)
        die("memory");
    s->argv[0] = text(id, 8);
    s->argv[1] = text(id, id % 4 ? 60 : 600); /* some in a content of their own */
    s->env = env_of(id);
    s->name = text(id, 20);
    s->key = text(id, 24);
    s->cwd = strdup("/tmp");
    s->labels[0] = (struct job_label){text(1, 5), text(id, 9)};
    s->nlabels = 1;
    s->timeout_usec = id * 1000003;
    s->priority = (int32_t)(id % 7) - 3;
    s->is_array = id % 10 == 9;
    s->array_first = 1;
    s->array_last = s->is_array ? 50 : 0;
    return s;
}

static void add_job(struct store *s, uint64_t id)
{
    const struct job_event run[] = {
        {.type = JOB_EV_STARTING, .at_usec = 2000 + id, .attempt = 1},
        {.type = JOB_EV_STARTED, .at_usec = 3000 + id, .pid = (int32_t)(400 + id)},
        {.type = JOB_EV_EXITED,
         .at_usec = 4000 + id,
         .result = id % 2 ? JOB_RESULT_EXIT : JOB_RESULT_LOST,
         .code = id % 2 ? 3 : 0,
         .step = id % 2 ? NULL : "the machine was restarted",
         .kept = id % 3 != 1 || id % 10 == 9 ? 0
                 : id % 5                    ? 1
                                             : 3,
         .usage = {id, 2, 3}}};
    struct job_spec *spec = spec_of(id);
    struct store_fact fact = fact_submit(id, 1000 + id, spec);

    fact.submit.uid = owner_of(id);
    fact.submit.gid = 100;
    if (store_append(s, &fact, 1, NULL) < 0)
        die("append");
    for (int64_t i = 1; spec->is_array && i <= 20; i++)
        append(s, id, i, run, 3, NULL);
    char *printed = text(id, 100 + id % 200);
    const struct store_piece output[STORE_STREAMS] = {{printed, 100 + id % 200},
                                                      {printed, id % 5 ? 0 : 50}};
    if (!spec->is_array && id % 3)
        append(s, id, JOB_NO_INDEX, run, id % 3 == 1 ? 3 : 2,
               id % 3 == 1 ? output : NULL);
    free(printed);
    job_spec_unref(spec);
}

/* --- transactions, one after the other ---------------------------------------------- */

struct barrier {
    struct store_commit commit;
};

static enum volt_poll barrier_poll(struct volt_cx *cx, void *state)
{
    return store_commit_poll(cx, &((struct barrier *)state)->commit);
}

static void barrier_drop(void *state)
{
    store_commit_fini(&((struct barrier *)state)->commit);
}

static const struct volt_task_type barrier_type = {"barrier", sizeof(struct barrier),
                                                   barrier_poll, barrier_drop, NULL};

/* Everything that was appended is kept when this returns. */
static void commit(struct volt_runtime *rt, struct store *s)
{
    struct barrier *b = volt_task_new(rt, &barrier_type);
    struct volt_join join;

    if (!b || store_append(s, NULL, 0, &b->commit) < 0 || volt_task_spawn(b, &join) < 0 ||
        volt_join_wait(&join) < 0)
        die("commit");
    volt_join_fini(&join);
}

/* --- files -------------------------------------------------------------------------- */

static void path_of(const char *dir, const char *suffix, char path[PATH_MAX])
{
    (void)snprintf(path, PATH_MAX, "%s/" NAME "%s", dir, suffix);
}

static struct bytes read_path(const char *path)
{
    struct bytes b = {0};
    struct stat st;

    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0)
        die(path);
    b.n = (size_t)st.st_size;
    b.at = malloc(b.n + 1);
    if (!b.at || read(fd, b.at, b.n) != st.st_size)
        die(path);
    close(fd);
    return b;
}

static struct bytes read_file(const char *dir, const char *suffix)
{
    char path[PATH_MAX];

    path_of(dir, suffix, path);
    return read_path(path);
}

/* Which is gone then. */
static struct bytes take_witness(const char *dir)
{
    char path[PATH_MAX];

    (void)snprintf(path, sizeof(path), "%s/witness", dir);
    struct bytes b = read_path(path);
    (void)unlink(path);
    return b;
}

/* Where a thread does its damage: the file is opened once and changed in place. */
struct place {
    char dir[64];
    int fd;
};

static void place_init(struct place *p, unsigned number)
{
    (void)snprintf(p->dir, sizeof(p->dir), "%s/%u", base, number);
    if (mkdir(p->dir, 0700) < 0)
        die(p->dir);
    p->fd = -1;
}

static void place_fini(struct place *p)
{
    DIR *d = opendir(p->dir);

    for (struct dirent *e; d && (e = readdir(d));)
        (void)unlinkat(dirfd(d), e->d_name, 0);
    if (d)
        closedir(d);
    (void)rmdir(p->dir);
    if (p->fd >= 0)
        close(p->fd);
}

/* The whole file is written only when a load has changed more than the byte that was
 * bad. */
static void put(int fd, const struct bytes *b, size_t n)
{
    if (pwrite(fd, b->at, n, 0) != (ssize_t)n || ftruncate(fd, (off_t)n) < 0)
        die("write");
}

/* Only the file, in its first n bytes, and the journal if there is one. */
static void place_fill(struct place *p, const struct bytes *file, size_t n,
                       const struct bytes *journal)
{
    char path[PATH_MAX];

    path_of(p->dir, "", path);
    if (p->fd < 0)
        p->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (p->fd < 0)
        die(path);
    put(p->fd, file, n);
    path_of(p->dir, "-shm", path);
    (void)unlink(path);
    path_of(p->dir, "-wal", path);
    if (!journal) {
        (void)unlink(path);
        return;
    }
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        die(path);
    put(fd, journal, journal->n);
    close(fd);
}

/* --- damage ------------------------------------------------------------------------- */

enum kind { FLIP, CUT, JOURNAL, WITNESS, KINDS };
static const char *const kind_names[KINDS] = {"flip", "cut", "journal", "witness"};

struct worker {
    pthread_t thread;
    unsigned number;
    struct place place;
    struct bytes journal; /* a copy of its own */
    uint64_t done[KINDS], wrong[KINDS], refused, same;
};

static bool right(enum kind kind, uint64_t state)
{
    if (kind == WITNESS) /* whatever it is: an older store was taken */
        return false;
    if (kind != JOURNAL)
        return state == sound.state;
    for (int i = 0; i <= TRANSACTIONS; i++)
        if (state == sound.after[i])
            return true;
    return false;
}

static void judge(struct worker *w, enum kind kind, size_t at)
{
    struct volt_error err = {{0}};
    uint64_t state;
    int r = load(w->place.dir, &state, &err);

    w->done[kind]++;
    if (r < 0 && err.text[0]) {
        w->refused++;
    } else if (r == 0 && right(kind, state)) {
        w->same++;
    } else {
        w->wrong[kind]++;
        printf("%s at %zu: %s\n", kind_names[kind], at,
               r < 0 ? "refused without a word" : "loaded as something else");
    }
}

static void flip(struct worker *w, size_t at)
{
    uint8_t bad = (uint8_t)~sound.file.at[at];

    place_fill(&w->place, &sound.file, sound.file.n, NULL);
    if (pwrite(w->place.fd, &bad, 1, (off_t)at) != 1)
        die("write");
    judge(w, FLIP, at);
}

static void cut(struct worker *w, size_t at)
{
    place_fill(&w->place, &sound.file, at, NULL);
    judge(w, CUT, at);
}

static void flip_journal(struct worker *w, size_t at)
{
    w->journal.at[at] ^= 0xff;
    place_fill(&w->place, &sound.behind, sound.behind.n, &w->journal);
    w->journal.at[at] ^= 0xff;
    judge(w, JOURNAL, at);
}

static void put_witness(const struct place *p, const uint8_t *bytes, size_t n)
{
    char path[PATH_MAX];

    (void)snprintf(path, sizeof(path), "%s/witness", p->dir);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, bytes, n) != (ssize_t)n)
        die(path);
    close(fd);
}

static void damage_witness(struct worker *w)
{
    uint8_t bad[WITNESS_SIZE];

    place_fill(&w->place, &sound.file, sound.file.n, NULL);
    for (size_t at = w->number; at < WITNESS_SIZE; at += THREADS) {
        memcpy(bad, sound.witness.at, WITNESS_SIZE);
        put_witness(&w->place, bad, WITNESS_SIZE);
        judge(w, WITNESS, at);
        bad[at] = (uint8_t)~bad[at];
        put_witness(&w->place, bad, WITNESS_SIZE);
        judge(w, WITNESS, at);
        put_witness(&w->place, bad, at);
        judge(w, WITNESS, at);
    }
}

static void *damage(void *arg)
{
    struct worker *w = arg;
    const size_t step = stride * THREADS, from = first * THREADS + w->number;

    for (size_t at = from; at < sound.file.n; at += step) {
        flip(w, at);
        cut(w, at);
    }
    for (size_t at = from; at < w->journal.n; at += step)
        flip_journal(w, at);
    damage_witness(w);
    return NULL;
}

/* --- the whole ---------------------------------------------------------------------- */

static void must(int r, const struct volt_error *err)
{
    if (r == 0)
        return;
    (void)fprintf(stderr, "damage: %s\n", err->text);
    exit(2);
}

static struct store *must_open(const char *dir)
{
    struct volt_error err = {{0}};
    struct store *s = NULL;
    struct told told;

    must(open_store(dir, &s, &told, &err), &err);
    return s;
}

static uint64_t state_of(struct place *p, const struct bytes *file,
                         const struct bytes *journal)
{
    struct volt_error err = {{0}};
    uint64_t state;

    place_fill(p, file, file->n, journal);
    must(load(p->dir, &state, &err), &err);
    return state;
}

/* Without the zeros behind its last frame, and some of these. */
static struct bytes read_journal(const char *dir)
{
    struct bytes b = read_file(dir, "-wal");
    size_t n = b.n;

    while (n > 0 && b.at[n - 1] == 0)
        n--;
    if (n + 64 < b.n)
        b.n = n + 64;
    return b;
}

/* A transaction each on job 2, which runs; the journal as it was after each. */
static void journal_of(const char *dir, struct bytes after[TRANSACTIONS])
{
    const struct job_event events[TRANSACTIONS] = {
        {.type = JOB_EV_TIMEOUT, .at_usec = 5000},
        {.type = JOB_EV_CANCEL, .at_usec = 5001},
        {.type = JOB_EV_EXITED,
         .at_usec = 5002,
         .result = JOB_RESULT_SIGNAL,
         .code = 15,
         .kept = 1}};
    const struct store_piece said[STORE_STREAMS] = {{"the end\n", 8}, {NULL, 0}};
    struct volt_runtime *rt;

    if (volt_runtime_new(&(struct volt_options){.workers = 1}, &rt) < 0)
        die("runtime");
    struct store *s = must_open(dir);
    for (int i = 0; i < TRANSACTIONS; i++) {
        append(s, 2, JOB_NO_INDEX, &events[i], 1, i == TRANSACTIONS - 1 ? said : NULL);
        commit(rt, s);
        after[i] = read_journal(dir);
    }
    sound.behind = read_file(dir, "");
    if (store_witness(s, true) < 0)
        die("witness");
    store_free(s);
    sound.witness = take_witness(dir);
    if (sound.witness.n != WITNESS_SIZE)
        die("witness");
    volt_runtime_free(rt);
}

static void prepare(struct place *p)
{
    uint64_t id = 1;

    do {
        struct store *s = must_open(p->dir);

        for (int i = 0; i < 4; i++)
            add_job(s, id++);
        store_free(s);
        free(sound.file.at);
        sound.file = read_file(p->dir, "");
    } while (sound.file.n < STORE_BYTES);
    sound.jobs = id;
    if (id > JOBS_MAX)
        die("jobs");
    struct bytes after[TRANSACTIONS];

    journal_of(p->dir, after);
    sound.state = state_of(p, &sound.file, NULL);
    sound.after[0] = state_of(p, &sound.behind, NULL);
    for (int i = 0; i < TRANSACTIONS; i++)
        sound.after[i + 1] = state_of(p, &sound.behind, &after[i]);
    sound.journal = after[TRANSACTIONS - 1];
    for (int i = 0; i < TRANSACTIONS - 1; i++)
        free(after[i].at);
}

static void add(struct worker *sum, const struct worker *w)
{
    for (int k = 0; k < KINDS; k++) {
        sum->done[k] += w->done[k];
        sum->wrong[k] += w->wrong[k];
    }
    sum->refused += w->refused;
    sum->same += w->same;
}

static void run(struct worker *sum)
{
    struct worker all[THREADS] = {{0}};

    for (unsigned i = 0; i < THREADS; i++) {
        struct worker *w = &all[i];

        w->number = i;
        place_init(&w->place, i + 1);
        w->journal = sound.journal;
        w->journal.at = malloc(sound.journal.n);
        if (!w->journal.at)
            die("memory");
        memcpy(w->journal.at, sound.journal.at, sound.journal.n);
        if (pthread_create(&w->thread, NULL, damage, w) != 0)
            die("thread");
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(all[i].thread, NULL);
        add(sum, &all[i]);
        place_fini(&all[i].place);
        free(all[i].journal.at);
    }
}

/* Not 0: a damage was not seen, or the test sees nothing. */
static int report(const struct worker *sum)
{
    const bool blind = sum->same == 0 || sum->refused == 0;
    uint64_t wrong = 0;
    int failed = 0;

    for (int k = 0; k < KINDS; k++) {
        wrong += sum->wrong[k];
        failed += sum->wrong[k] > 0 || sum->done[k] == 0 || blind;
    }
    printf("store of %zu bytes, journal of %zu, stride %zu from %zu\n", sound.file.n,
           sound.journal.n, stride, first);
    printf("damage passed=%d failed=%d flips=%llu cuts=%llu journal=%llu witness=%llu "
           "refused=%llu same=%llu wrong=%llu\n",
           KINDS - failed, failed, (unsigned long long)sum->done[FLIP],
           (unsigned long long)sum->done[CUT], (unsigned long long)sum->done[JOURNAL],
           (unsigned long long)sum->done[WITNESS], (unsigned long long)sum->refused,
           (unsigned long long)sum->same, (unsigned long long)wrong);
    return failed;
}

int main(int argc, char **argv)
{
    struct worker sum = {0};
    struct place p;

    if (argc > 1)
        stride = strtoul(argv[1], NULL, 10);
    if (argc > 2 && stride)
        first = strtoul(argv[2], NULL, 10) % stride;
    if (!stride || !mkdtemp(base))
        die("usage: damage [STRIDE [SEED]]");
    (void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); /* a lock that both would want */
    (void)sqlite3_vfs_register(sqlite3_vfs_find("unix-excl"), 1); /* fewer system calls */
    place_init(&p, 0);
    prepare(&p);
    run(&sum);
    place_fini(&p);
    (void)rmdir(base);
    free(sound.file.at);
    free(sound.behind.at);
    free(sound.journal.at);
    free(sound.witness.at);
    return report(&sum);
}
