/* beanstalkd as a batch system: what the peer needs around it.
 *
 *   beanstalk SOCKET put JOBS       puts so many jobs
 *   beanstalk SOCKET work JOBS      reserves, runs /bin/true by posix_spawn, waits, deletes:
 *                                   so many times */
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

extern char **environ;

static void die(const char *what)
{
    (void)fprintf(stderr, "beanstalk: %s: %s\n", what, strerror(errno));
    exit(1);
}

static FILE *dial(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    FILE *f;

    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
        !(f = fdopen(fd, "r+")))
        die(path);
    return f;
}

/* One command; the first line of the answer, which must begin with `want`. */
static void ask(FILE *f, const char *command, const char *want, char line[256])
{
    if (fputs(command, f) < 0 || fflush(f) < 0 || !fgets(line, 256, f))
        die("server");
    if (strncmp(line, want, strlen(want)) != 0) {
        (void)fprintf(stderr, "beanstalk: %s", line);
        exit(1);
    }
}

static void work(FILE *f)
{
    char *argv[] = {(char *)"/bin/true", NULL}, line[256], body[256], command[64];
    pid_t pid;

    ask(f, "reserve\r\n", "RESERVED ", line);
    if (!fgets(body, sizeof(body), f))
        die("body");
    errno = posix_spawn(&pid, argv[0], NULL, NULL, argv, environ);
    if (errno || waitpid(pid, NULL, 0) < 0)
        die(argv[0]);
    (void)snprintf(command, sizeof(command), "delete %ld\r\n",
                   strtol(line + 9, NULL, 10));
    ask(f, command, "DELETED", line);
}

int main(int argc, char **argv)
{
    char line[256];

    if (argc != 4)
        return 2;
    FILE *f = dial(argv[1]);
    for (long i = atol(argv[3]); i > 0; i--) {
        if (strcmp(argv[2], "put") == 0)
            ask(f, "put 0 0 600 9\r\n/bin/true\r\n", "INSERTED ", line);
        else
            work(f);
    }
    return fclose(f) != 0;
}
