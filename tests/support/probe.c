/* The clean-room probe: what a job gets from whoever started it. The list grows with what
 * the keeper dresses; a test compares it with what it expects, in a polluted daemon. */
#include "tests/support/probe.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static int by_number(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static void print_fds(void)
{
    int fds[1024], n = 0;
    DIR *dir = opendir("/proc/self/fd");
    struct dirent *e;
    while (dir != NULL && (e = readdir(dir)) != NULL && n < 1024)
        if (e->d_name[0] != '.' && atoi(e->d_name) != dirfd(dir))
            fds[n++] = atoi(e->d_name);
    if (dir != NULL)
        closedir(dir);
    qsort(fds, (size_t)n, sizeof(fds[0]), by_number);
    printf("fds:");
    for (int i = 0; i < n; i++)
        printf(" %d", fds[i]);
    printf("\n");
}

/* As the kernel has them: the library hides 32 and 33. */
static void print_signal_set(const char *name, const char *field)
{
    char line[256];
    unsigned long long set = 0;
    FILE *f = fopen("/proc/self/status", "re");
    while (f != NULL && fgets(line, sizeof(line), f) != NULL)
        if (strncmp(line, field, strlen(field)) == 0)
            set = strtoull(line + strlen(field), NULL, 16);
    if (f != NULL)
        fclose(f);
    printf("%s:", name);
    for (int sig = 1; sig <= SIGRTMAX; sig++)
        if (set >> (sig - 1) & 1)
            printf(" %d", sig);
    printf("\n");
}

static void print_signals(void)
{
    print_signal_set("ignored", "SigIgn:");
    print_signal_set("blocked", "SigBlk:");
}

static void print_file(const char *name, const char *path)
{
    char buf[512] = "";
    FILE *f = fopen(path, "re");
    if (f != NULL) {
        (void)!fgets(buf, sizeof(buf), f);
        fclose(f);
    }
    buf[strcspn(buf, "\n")] = '\0';
    printf("%s: %s\n", name, buf);
}

static void print_target(const char *name, int fd)
{
    char path[32], target[256] = "";
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    (void)!readlink(path, target, sizeof(target) - 1);
    printf("%s: %s flags %o\n", name, target,
           (unsigned)fcntl(fd, F_GETFL) & (O_ACCMODE | O_APPEND | O_NONBLOCK));
}

int probe_main(void)
{
    char cwd[512], line[64];
    int parent_death = -1;
    mode_t mask = umask(0);
    print_fds();
    print_signals();
    printf("umask: %o\n", (unsigned)mask);
    printf("cwd: %s\n", getcwd(cwd, sizeof(cwd)) != NULL ? cwd : "?");
    printf("session leader: %d\n", getsid(0) == getpid() && getpgrp() == getpid());
    printf("ids: %u %u %u %u\n", getuid(), geteuid(), getgid(), getegid());
    printf("nice: %d\n", getpriority(PRIO_PROCESS, 0));
    printf("scheduler: %d\n", sched_getscheduler(0));
    (void)prctl(PR_GET_PDEATHSIG, &parent_death);
    printf("parent death: %d\n", parent_death);
    printf("no_new_privs: %d\n", prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
    printf("subreaper: %d\n",
           prctl(PR_GET_CHILD_SUBREAPER, &parent_death) == 0 ? parent_death : -1);
    print_file("oom", "/proc/self/oom_score_adj");
    print_target("stdin", 0);
    print_target("stdout", 1);
    print_target("stderr", 2);
    printf("input: %s\n", fgets(line, sizeof(line), stdin) != NULL ? line : "");
    for (char **e = environ; *e != NULL; e++)
        printf("env: %s\n", *e);
    return fflush(stdout) == 0 ? 0 : 1;
}
