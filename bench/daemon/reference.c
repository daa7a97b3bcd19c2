/* The least that a job needs which may not be lost: what voltd is measured against.
 *
 *   reference DIR JOBS CONCURRENCY record    as below
 *   reference DIR JOBS CONCURRENCY spawn     posix_spawn of /bin/true and nothing else
 *
 * Per job: a record with a header, locked, under the job's name; an output file; a fork
 * for a small process that outlives this one; a fork from it that waits until the record
 * says "started" and becomes /bin/true; the record's "exited" with status and usage. No
 * queue, no daemon, no client, nothing is checked or told to anybody. Prints jobs per
 * second. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { RECORD = 4096, SLOT = 512, MAX_AT_A_TIME = 64 };

extern char **environ;
static char *job_argv[] = {(char *)"/bin/true", NULL};

static void must(long result, const char *what)
{
    if (result < 0) {
        (void)fprintf(stderr, "reference: %s: %s\n", what, strerror(errno));
        _exit(1);
    }
}

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void write_slot(int fd, off_t at, const void *what, size_t len)
{
    char slot[SLOT] = {0};

    memcpy(slot, what, len);
    must(pwrite(fd, slot, 128, at), "record");
}

/* The job itself, once it may run. */
static void job(int go, int output)
{
    char byte;

    if (read(go, &byte, 1) != 1)
        _exit(1);
    must(setsid(), "setsid");
    must(dup2(open("/dev/null", O_RDONLY | O_CLOEXEC), 0), "standard input");
    must(dup2(output, 1), "standard output");
    must(dup2(output, 2), "standard error");
    must(execve(job_argv[0], job_argv, environ), "/bin/true");
}

/* The small process of one job: it holds the lock of the record to its end. */
static void keep(int record, int output)
{
    struct {
        int status;
        struct rusage usage;
        uint64_t ended;
    } exited;
    uint64_t started;
    pid_t child;
    int go[2];

    must(setsid(), "setsid");
    must(prctl(PR_SET_CHILD_SUBREAPER, 1), "subreaper");
    must(pipe2(go, O_CLOEXEC), "pipe");
    must(child = fork(), "fork");
    if (child == 0) {
        close(go[1]);
        job(go[0], output);
    }
    started = now_ns();
    write_slot(record, SLOT, &started, sizeof(started));
    must(write(go[1], "g", 1), "go");
    must(waitpid(child, &exited.status, 0), "wait");
    must(getrusage(RUSAGE_CHILDREN, &exited.usage), "usage");
    exited.ended = now_ns();
    write_slot(record, 2 * (off_t)SLOT, &exited, sizeof(exited));
    _exit(0);
}

/* Starts job n. Records are renamed from ended jobs, not made anew: an inode that has
 * just been freed costs ext4 a search. Returns the pid of its keeper. */
static pid_t start(int dir, int n, int place)
{
    static int used[MAX_AT_A_TIME];
    char name[32], old[32];
    int record, output;
    pid_t pid;

    (void)snprintf(old, sizeof(old), "record.%d", place);
    (void)snprintf(name, sizeof(name), "job.%d", n);
    record = openat(dir, old, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    must(record, "record");
    must(flock(record, LOCK_EX | LOCK_NB), "lock");
    if (!used[place])
        must(ftruncate(record, RECORD), "record");
    used[place] = 1;
    write_slot(record, 0, name, sizeof(name));
    must(renameat(dir, old, dir, name), "rename");
    (void)snprintf(old, sizeof(old), "output.%d", n);
    output = openat(dir, old, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    must(output, "output");
    must(pid = fork(), "fork");
    if (pid == 0)
        keep(record, output);
    close(record);
    close(output);
    return pid;
}

/* Reads what became of job n and gives its record back. */
static void finish(int dir, int n, int place)
{
    char name[32], old[32], content[3 * SLOT];
    int record;

    (void)snprintf(name, sizeof(name), "job.%d", n);
    (void)snprintf(old, sizeof(old), "record.%d", place);
    record = openat(dir, name, O_RDONLY | O_CLOEXEC);
    must(record, "record");
    must(pread(record, content, sizeof(content), 0), "record");
    if (flock(record, LOCK_SH | LOCK_NB) < 0)
        must(-1, "the record is still locked");
    close(record);
    must(renameat(dir, name, dir, old), "rename");
}

static pid_t start_plain(void)
{
    pid_t pid;

    errno = posix_spawn(&pid, job_argv[0], NULL, NULL, job_argv, environ);
    must(errno ? -1 : 0, "posix_spawn");
    return pid;
}

int main(int argc, char **argv)
{
    pid_t pids[MAX_AT_A_TIME] = {0};
    int jobs[MAX_AT_A_TIME], total, at_a_time, begun = 0, ended = 0, dir, record;
    uint64_t begin;

    if (argc != 5)
        return 2;
    must(dir = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC), argv[1]);
    total = atoi(argv[2]);
    at_a_time = atoi(argv[3]);
    record = strcmp(argv[4], "record") == 0;
    if (at_a_time < 1 || at_a_time > MAX_AT_A_TIME)
        return 2;
    begin = now_ns();
    while (ended < total) {
        for (int i = 0; i < at_a_time && begun < total; i++) {
            if (pids[i])
                continue;
            jobs[i] = begun++;
            pids[i] = record ? start(dir, jobs[i], i) : start_plain();
        }
        pid_t pid = waitpid(-1, NULL, 0);
        must(pid, "wait");
        for (int i = 0; i < at_a_time; i++) {
            if (pids[i] != pid)
                continue;
            if (record)
                finish(dir, jobs[i], i);
            pids[i] = 0;
            ended++;
        }
    }
    printf("%.0f\n", total * 1e9 / (double)(now_ns() - begin));
    return 0;
}
