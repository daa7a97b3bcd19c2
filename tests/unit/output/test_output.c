/* Output files: spare ones are reused, but never one that somebody else has open; what is
 * little is offered to the store, what is forgotten goes. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include <sys/stat.h>
#include <unistd.h>
#include <volt/volt.h>

#include "daemon/output/output.h"
#include "tests/support/memory_store.h"
#include "tests/support/scratch.h"

int __real_fcntl(int fd, int op, ...);
int __wrap_fcntl(int fd, int op, ...);

#define FOLD 100

static char dir[SCRATCH_MAX];
static int state_fd;
static struct outputs o;
static struct store *store;
static struct volt_runtime *rt;

static int setup(void **state)
{
    (void)state;
    if (scratch_make(dir) < 0)
        return -1;
    state_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    o = (struct outputs){.dir_fd = -1, .spare_fd = -1};
    store = store_memory_new();
    return outputs_open(&o, state_fd, dir);
}

static int teardown(void **state)
{
    (void)state;
    outputs_close(&o);
    store_free(store);
    close(state_fd);
    return scratch_remove(dir);
}

static int start(void **state)
{
    (void)state;
    (void)signal(SIGIO, SIG_IGN); /* a file with a lease is opened */
    return volt_runtime_new(&(struct volt_options){.workers = 1}, &rt);
}

static int stop(void **state)
{
    (void)state;
    volt_runtime_free(rt);
    return 0;
}

/* Whether "output/<path>" is there. */
static bool is_there(const char *path)
{
    return faccessat(o.dir_fd, path, F_OK, 0) == 0;
}

static ino_t inode_of(int fd)
{
    struct stat st;

    assert_int_equal(fstat(fd, &st), 0);
    return st.st_ino;
}

static struct job_key job(uint64_t id)
{
    return (struct job_key){.id = id, .index = JOB_NO_INDEX, .attempt = 1};
}

/* A job that prints text; *ret_inode: of its file. Its own descriptor: the caller's. */
static int begin(const struct job_key *key, const char *text, ino_t *ret_inode)
{
    int fd = output_create(&o, key, JOB_STDOUT);

    if (fd < 0)
        fail_msg("%s", strerror(-fd));
    assert_true(fcntl(fd, F_GETFL) & O_APPEND);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    *ret_inode = inode_of(fd);
    return fd;
}

/* Its end. What was offered to the store, or NULL. */
static const char *end(const struct job_key *key, bool kept)
{
    static char text[FOLD + 1];
    struct output_end e = {0};
    struct store_piece piece[STORE_STREAMS];

    output_end_look(NULL, &o, key, false, FOLD, &e);
    memcpy(piece, e.piece, sizeof(piece));
    bool any = piece[0].n > 0;
    assert_int_equal(piece[1].n, 0);
    if (any)
        memcpy(text, piece[0].bytes, piece[0].n);
    text[piece[0].n] = '\0';
    output_end_finish(&o, key, &e, kept);
    return any ? text : NULL;
}

static void read_back(const struct job_key *key, bool ended, const char *expected)
{
    char text[1000];
    int fd = output_open(&o, store, key, JOB_STDOUT, ended);

    if (!expected) {
        assert_int_equal(fd, -ENODATA);
        return;
    }
    ssize_t n = pread(fd, text, sizeof(text), 0);
    assert_true(n >= 0);
    text[n] = '\0';
    assert_string_equal(text, expected);
    close(fd);
}

static void names(void **state)
{
    static const struct {
        struct job_key key;
        enum job_stream stream;
        const char *group, *folder, *file;
    } rows[] = {
        {{7, JOB_NO_INDEX, 1}, JOB_STDOUT, "0", "", "0/7.out"},
        {{1024, JOB_NO_INDEX, 9}, JOB_STDERR, "1", "", "1/1024.err"},
        {{2047, 0, 1}, JOB_STDOUT, "1", "1/2047", "1/2047/0.out"},
        {{UINT64_MAX, INT64_MAX, 1},
         JOB_STDERR,
         "18014398509481983",
         "18014398509481983/18446744073709551615",
         "18014398509481983/18446744073709551615/9223372036854775807.err"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct output_path p;

        output_path_of(&rows[i].key, rows[i].stream, &p);
        assert_string_equal(p.group, rows[i].group);
        assert_string_equal(p.folder, rows[i].folder);
        assert_string_equal(p.file, rows[i].file);
    }
}

static void a_file_goes_from_job_to_job(void **state)
{
    struct job_key a = job(1), b = job(2), c = {.id = 3000, .index = 7, .attempt = 1};
    ino_t first, second, third;

    (void)state;
    close(begin(&a, "", &first));
    assert_true(is_there("0/1.out"));
    assert_null(end(&a, true)); /* nothing printed, nothing to keep */
    assert_false(is_there("0/1.out"));
    close(begin(&b, "little", &second));
    assert_int_equal(second, first);
    read_back(&b, false, "little");
    assert_string_equal(end(&b, true), "little");
    close(begin(&c, "", &third)); /* in folders that are not there yet */
    assert_int_equal(third, first);
    assert_true(is_there("2/3000/7.out"));
    read_back(&c, false, "");
}

static void what_is_not_kept_stays(void **state)
{
    struct job_key a = job(1), b = job(2), large = job(3);
    char text[FOLD + 2];
    ino_t first, inode;

    (void)state;
    close(begin(&a, "little", &first));
    assert_string_equal(end(&a, false), "little"); /* the store has failed */
    read_back(&a, true, "little");
    close(begin(&b, "", &inode));
    assert_int_not_equal(inode, first);
    assert_null(end(&b, false));
    assert_true(is_there("0/2.out"));
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    close(begin(&large, text, &inode));
    assert_null(end(&large, true));
    read_back(&large, true, text);
}

static void a_file_that_somebody_has_open_stays_the_jobs(void **state)
{
    struct job_key a = job(1), b = job(2), c = job(3);
    ino_t first, inode;

    (void)state;
    /* A grandchild that prints after the end. */
    int fd = begin(&a, "one ", &first);
    assert_null(end(&a, true));
    assert_int_equal(write(fd, "two", 3), 3);
    read_back(&a, true, "one two");
    close(fd);
    /* Somebody who follows. */
    close(begin(&b, "seen", &first));
    int reader = output_open(&o, store, &b, JOB_STDOUT, false);
    assert_null(end(&b, true));
    read_back(&b, true, "seen");
    close(reader);
    /* Of an empty one only the second look tells. */
    fd = begin(&c, "", &inode);
    assert_null(end(&c, true));
    assert_true(is_there("0/3.out"));
    close(fd);
}

/* Somebody who opens, or prints, between the look and the commit. */
static void the_second_look_counts(void **state)
{
    struct job_key a = job(1), b = job(2);
    struct output_end e = {0};
    ino_t inode;

    (void)state;
    close(begin(&a, "text", &inode));
    output_end_look(NULL, &o, &a, false, FOLD, &e);
    int reader = output_open(&o, store, &a, JOB_STDOUT, false);
    output_end_finish(&o, &a, &e, true);
    read_back(&a, true, "text");
    close(reader);

    close(begin(&b, "text", &inode));
    output_end_look(NULL, &o, &b, false, FOLD, &e);
    int fd = output_append(&o, &b, JOB_STDOUT);
    assert_int_equal(write(fd, "more", 4), 4);
    close(fd);
    output_end_finish(&o, &b, &e, true);
    read_back(&b, true, "textmore");
}

/* A reader that opens the output of a job by name while there is a lease on its file. */
static struct {
    const struct job_key *key; /* NULL: none comes */
    pthread_t thread;
    bool came, waits;
    int r; /* of its open */
} reader;

static void *open_and_close(void *arg)
{
    reader.r = output_open(&o, store, reader.key, JOB_STDOUT, false);
    if (reader.r >= 0)
        close(reader.r);
    return arg;
}

/* Where nothing makes the reader wait, it opens before the lease ends. */
static void come_during_lease(void)
{
    reader.came = true;
    reader.waits = pthread_rwlock_trywrlock(&o.names) != 0;
    if (!reader.waits)
        pthread_rwlock_unlock(&o.names);
    assert_int_equal(pthread_create(&reader.thread, NULL, open_and_close, NULL), 0);
    if (!reader.waits)
        pthread_join(reader.thread, NULL);
}

int __wrap_fcntl(int fd, int op, ...)
{
    va_list rest;

    va_start(rest, op);
    void *arg = va_arg(rest, void *); /* as the C library takes it */
    va_end(rest);
    int r = __real_fcntl(fd, op, arg);
    if (r == 0 && reader.key && !reader.came && op == F_SETLEASE &&
        (int)(intptr_t)arg == F_WRLCK)
        come_during_lease();
    return r;
}

static void expect_reader(const struct job_key *key)
{
    reader.key = key;
    reader.came = false;
}

/* What its open returned. */
static int end_reader(void)
{
    assert_true(reader.came);
    if (reader.waits)
        pthread_join(reader.thread, NULL);
    reader.key = NULL;
    return reader.r;
}

/* The kernel refuses an open with O_NONBLOCK while there is a lease. */
static void no_open_meets_a_lease(void **state)
{
    struct job_key a = job(1);
    struct output_end e = {0};
    ino_t inode;

    (void)state;
    close(begin(&a, "text", &inode));
    expect_reader(&a);
    output_end_look(NULL, &o, &a, false, FOLD, &e);
    assert_true(end_reader() >= 0);
    expect_reader(&a);
    output_end_finish(&o, &a, &e, true);
    assert_int_equal(end_reader(), -ENODATA); /* given up: the store would have it */
}

static void both_streams(void **state)
{
    struct job_key a = job(5);
    struct output_end e = {0};
    struct store_piece piece[STORE_STREAMS];
    ino_t inode;

    (void)state;
    close(begin(&a, "out", &inode));
    int fd = output_create(&o, &a, JOB_STDERR);
    assert_int_equal(write(fd, "err!", 4), 4);
    close(fd);
    assert_int_equal(output_size(&o, &a, true), 7);
    output_end_look(NULL, &o, &a, true, FOLD, &e);
    memcpy(piece, e.piece, sizeof(piece));
    assert_int_equal(piece[0].n, 3);
    assert_int_equal(piece[1].n, 4);
    assert_memory_equal(piece[1].bytes, "err!", 4);
    output_end_finish(&o, &a, &e, true);
    assert_false(is_there("0/5.out") || is_there("0/5.err"));
    assert_int_equal(o.nspare, 2);
}

static void output_that_is_there_is_not_taken_over(void **state)
{
    struct job_key a = job(1), b = job(2);
    ino_t first, inode;

    (void)state;
    close(begin(&a, "of another store", &inode));
    close(begin(&b, "", &first));
    assert_null(end(&b, true)); /* there is a spare file */
    assert_int_equal(output_create(&o, &a, JOB_STDOUT), -EEXIST);
    read_back(&a, true, "of another store");
    close(begin(&b, "", &first));
    int fd = output_create(&o, &b, JOB_STDOUT); /* empty: it never began */
    assert_int_equal(inode_of(fd), first);
    close(fd);
}

/* What a daemon that was killed left: a file in use becomes nobody's, one with bytes in
 * it is emptied, what is no spare file goes. */
static void the_next_daemon_takes_spare_files_over(void **state)
{
    struct job_key a = job(1);
    ino_t first, inode;

    (void)state;
    close(begin(&a, "", &first));
    assert_null(end(&a, true));
    int bytes = openat(o.spare_fd, "41", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(write(bytes, "old", 3), 3);
    close(bytes);
    int held = openat(o.spare_fd, "42", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    close(openat(o.spare_fd, "007", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    outputs_close(&o);
    o = (struct outputs){.dir_fd = -1, .spare_fd = -1};
    assert_int_equal(outputs_open(&o, state_fd, dir), 0);
    assert_int_equal(o.nspare, 2);
    assert_int_equal(o.next, 43);
    assert_false(is_there("spare/42") || is_there("spare/007"));
    for (uint64_t id = 2; id < 5; id++) {
        struct job_key key = job(id);

        close(begin(&key, "new", &inode));
        read_back(&key, false, "new");
    }
    assert_int_equal(o.nspare, 0);
    close(held);
}

static void there_are_never_too_many(void **state)
{
    ino_t inode;

    (void)state;
    for (uint64_t id = 1; id <= OUTPUT_SPARE_MAX + 10; id++) {
        struct job_key key = job(id);

        close(begin(&key, "", &inode));
        assert_int_equal(o.nspare, 0);
    }
    for (uint64_t id = 1; id <= OUTPUT_SPARE_MAX + 10; id++) {
        struct job_key key = job(id);

        assert_null(end(&key, true));
    }
    assert_int_equal(o.nspare, OUTPUT_SPARE_MAX);
    assert_int_equal(o.coming, 0);
}

static bool is_even(void *arg, uint64_t id)
{
    ++*(unsigned *)arg;
    return id % 2 == 0;
}

static void what_is_forgotten_goes(void **state)
{
    struct job_key a = job(1023), b = job(1024), c = job(1025),
                   element = {.id = 1027, .index = 3, .attempt = 1};
    unsigned asked = 0;
    ino_t inode;

    (void)state;
    close(begin(&a, "a", &inode));
    output_forget(&o, rt, 1023);
    assert_false(is_there("0"));
    close(begin(&b, "b", &inode));
    close(output_create(&o, &b, JOB_STDERR));
    close(begin(&c, "c", &inode));
    close(output_create(&o, &c, JOB_STDERR));
    close(begin(&element, "d", &inode));
    close(openat(o.dir_fd, "1/1025.bak", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    outputs_tidy(&o, is_even, &asked);
    assert_true(is_there("1/1024.out") && is_there("spare"));
    assert_int_equal(unlinkat(o.dir_fd, "1/1025.bak", 0), 0); /* somebody's own */
    assert_false(is_there("1/1025.out") || is_there("1/1025.err") || is_there("1/1027"));
    assert_in_range(asked, 3, 4);
    output_forget(&o, rt, 1024);
    assert_false(is_there("1/1024.out") || is_there("1/1024.err"));
    outputs_tidy(&o, is_even, &asked);
    assert_false(is_there("1"));
}

/* Names in it are not ours, whatever they look like. */
static void a_link_is_no_folder_of_outputs(void **state)
{
    unsigned asked = 0;

    (void)state;
    assert_int_equal(mkdirat(state_fd, "own", 0700), 0);
    close(openat(state_fd, "own/1025.out", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    assert_int_equal(symlinkat("../own", o.dir_fd, "1"), 0);
    outputs_tidy(&o, is_even, &asked);
    assert_int_equal(asked, 0);
    outputs_close(&o);
    assert_int_equal(unlinkat(state_fd, "output/spare", AT_REMOVEDIR), 0);
    assert_int_equal(symlinkat("../own", state_fd, "output/spare"), 0);
    o = (struct outputs){.dir_fd = -1, .spare_fd = -1};
    assert_int_equal(outputs_open(&o, state_fd, dir), -ENOTDIR);
    assert_int_equal(faccessat(state_fd, "own/1025.out", F_OK, 0), 0);
}

static int no_output(struct store *s, const struct job_key *key, unsigned stream,
                     void **ret, size_t *ret_n)
{
    (void)s;
    (void)key;
    (void)stream;
    (void)ret;
    (void)ret_n;
    return -EBADMSG;
}

/* Its file was emptied when the store had it, which cannot be read: that is no silence. */
static void what_cannot_be_read_is_not_said_to_be_empty(void **state)
{
    static const struct store_blob_ops ops = {.output = no_output};
    struct store damaged = {.blobs = &ops};
    struct job_key a = job(1);
    ino_t inode;

    (void)state;
    close(begin(&a, "", &inode));
    int fd = output_open(&o, &damaged, &a, JOB_STDOUT, false);
    assert_true(fd >= 0); /* it may still print */
    close(fd);
    assert_int_equal(output_open(&o, &damaged, &a, JOB_STDOUT, true), -EBADMSG);
}

/* What comes behind the look, of a process that is left, stays where nothing is given back. */
static void nothing_printed_is_given_back(void **state)
{
    struct job_key a = job(1);
    struct stat st;
    ino_t inode;

    (void)state;
    int fd = begin(&a, "text", &inode);
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(write(fd, "more", 4), 4);
    output_give_back(fd, &st);
    read_back(&a, true, "textmore");
    close(fd);
}

static unsigned mode_of(const char *path)
{
    struct stat st;

    assert_int_equal(fstatat(o.dir_fd, path, &st, 0), 0);
    return st.st_mode & 0777;
}

/* Whatever the mask of voltd is: what is in them may be secret. */
static void nobody_else_may_read_them(void **state)
{
    const mode_t mask = umask(0);
    struct job_key a = job(1), element = {.id = 3000, .index = 7, .attempt = 1};
    char path[SCRATCH_MAX + 16];
    ino_t inode;

    (void)state;
    (void)snprintf(path, sizeof(path), "%s/output", dir);
    assert_int_equal(scratch_remove(path), 0); /* it is made again, as at the start */
    close(begin(&a, "", &inode));
    close(begin(&element, "", &inode));
    (void)umask(mask);
    assert_int_equal(mode_of("."), 0700);
    assert_int_equal(mode_of("spare"), 0700);
    assert_int_equal(mode_of("0"), 0700);
    assert_int_equal(mode_of("2/3000"), 0700);
    assert_int_equal(mode_of("0/1.out"), 0622);
    assert_int_equal(mode_of("2/3000/7.out"), 0622);
}

/* What an end says of where the output is. */
static unsigned kept_of(const struct job_key *key, bool began)
{
    struct output_end e = {.began = began};

    output_end_look(NULL, &o, key, false, FOLD, &e);
    unsigned kept = e.kept;
    output_end_finish(&o, key, &e, true);
    return kept;
}

static void an_end_says_where_the_output_is(void **state)
{
    struct job_key nothing = job(1), little = job(2), held = job(3), removed = job(4),
                   unborn = job(5);
    ino_t inode;

    (void)state;
    close(begin(&nothing, "", &inode));
    assert_int_equal(kept_of(&nothing, true), 0);
    close(begin(&little, "little", &inode));
    assert_int_equal(kept_of(&little, true), JOB_KEPT_STORE(JOB_STDOUT));
    int fd = begin(&held, "little", &inode);
    assert_int_equal(kept_of(&held, true), JOB_KEPT_FILE(JOB_STDOUT));
    close(fd);
    close(begin(&removed, "little", &inode));
    assert_int_equal(unlinkat(o.dir_fd, "0/4.out", 0), 0);
    assert_int_equal(kept_of(&removed, true), JOB_KEPT_FILE(JOB_STDOUT));
    assert_int_equal(kept_of(&unborn, false), 0);
}

static void folders_that_were_removed_come_back(void **state)
{
    struct job_key a = job(1), b = job(2), c = job(3), d = job(4);
    char path[SCRATCH_MAX + 16];
    ino_t inode;

    (void)state;
    close(begin(&a, "", &inode));
    (void)snprintf(path, sizeof(path), "%s/output/0", dir);
    assert_int_equal(scratch_remove(path), 0);
    close(begin(&b, "", &inode));
    (void)snprintf(path, sizeof(path), "%s/output/spare", dir);
    assert_int_equal(scratch_remove(path), 0);
    assert_null(end(&b, true));
    assert_false(is_there("0/2.out"));
    close(begin(&c, "c", &inode));
    (void)snprintf(path, sizeof(path), "%s/output", dir);
    assert_int_equal(scratch_remove(path), 0);
    close(begin(&d, "d", &inode));
    (void)snprintf(path, sizeof(path), "%s/output/0/4.out", dir);
    assert_int_equal(access(path, F_OK), 0);
    assert_string_equal(end(&d, true), "d");
    assert_true(is_there("spare/0") || is_there("spare/1") || is_there("spare/2"));
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),
        T(a_file_goes_from_job_to_job),
        T(what_is_not_kept_stays),
        T(a_file_that_somebody_has_open_stays_the_jobs),
        T(the_second_look_counts),
        T(no_open_meets_a_lease),
        T(both_streams),
        T(output_that_is_there_is_not_taken_over),
        T(the_next_daemon_takes_spare_files_over),
        T(there_are_never_too_many),
        T(what_is_forgotten_goes),
        T(a_link_is_no_folder_of_outputs),
        T(what_cannot_be_read_is_not_said_to_be_empty),
        T(nothing_printed_is_given_back),
        T(nobody_else_may_read_them),
        T(an_end_says_where_the_output_is),
        T(folders_that_were_removed_come_back),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
