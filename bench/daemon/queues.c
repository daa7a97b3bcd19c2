/* Queue servers as batch systems: what these peers need around them.
 *
 *   queues SERVER ADDRESS init                  makes what it needs there
 *   queues SERVER ADDRESS submit JOBS CLIENTS   puts so many jobs one at a time, each
 *                                               acknowledged: prints what `load submit` does
 *   queues SERVER ADDRESS batch JOBS SIZE       the same, SIZE in a call, by one client
 *   queues SERVER ADDRESS work JOBS             takes a job, runs /bin/true by posix_spawn,
 *                                               waits, removes it: so many times
 *
 * SERVER: beanstalkd or redis, ADDRESS: the path of its socket; postgresql, ADDRESS: a
 * connection string. A job that a worker took and did not remove is in the server still:
 * beanstalkd reserves it, redis moves it to another list, PostgreSQL marks its row. */
#include <errno.h>
#include <libpq-fe.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "bench/daemon/sampling.h"

enum { LINE = 512 };

extern char **environ;

/* A peer: each call ends the program when the server refuses. */
struct server {
    const char *name;
    void *(*dial)(const char *address);
    void (*init)(void *link);
    void (*put)(void *link, long jobs); /* in one call, as far as it can */
    void (*take)(void *link, char id[LINE]);
    void (*done)(void *link, const char *id);
};

static const struct server *server;
static const char *address;

/* --- what speaks in lines */

static void *dial_socket(const char *path)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    FILE *f;

    (void)snprintf(to.sun_path, sizeof(to.sun_path), "%s", path);
    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0 ||
        !(f = fdopen(fd, "r+")))
        die(path);
    return f;
}

static void send_line(FILE *f, const char *text)
{
    if (fputs(text, f) < 0 || fflush(f) < 0)
        die("server");
}

/* One line, which must begin with `want`. */
static void expect(FILE *f, const char *want, char line[LINE])
{
    if (!fgets(line, LINE, f))
        die("server");
    if (strncmp(line, want, strlen(want)) != 0) {
        (void)fprintf(stderr, "queues: %s", line);
        exit(1);
    }
}

static void nothing(void *link)
{
    (void)link;
}

/* beanstalkd has no call for several jobs: their commands are sent together. */
static void beanstalk_put(void *link, long jobs)
{
    char line[LINE];

    for (long i = 0; i < jobs; i++)
        if (fputs("put 0 0 600 9\r\n/bin/true\r\n", link) < 0)
            die("server");
    if (fflush(link) < 0)
        die("server");
    for (long i = 0; i < jobs; i++)
        expect(link, "INSERTED ", line);
}

static void beanstalk_take(void *link, char id[LINE])
{
    char body[LINE];

    send_line(link, "reserve\r\n");
    expect(link, "RESERVED ", id);
    expect(link, "/bin/true", body);
    (void)memmove(id, id + 9, strcspn(id + 9, " ") + 1);
    id[strcspn(id, " ")] = '\0';
}

static void beanstalk_done(void *link, const char *id)
{
    char text[LINE], line[LINE];

    (void)snprintf(text, sizeof(text), "delete %.32s\r\n", id);
    send_line(link, text);
    expect(link, "DELETED", line);
}

/* --- redis: a list of jobs, and one of those that are worked on */

static void redis_put(void *link, long jobs)
{
    char line[LINE];

    if (fprintf(link, "*%ld\r\n$5\r\nLPUSH\r\n$4\r\njobs\r\n", jobs + 2) < 0)
        die("server");
    for (long i = 0; i < jobs; i++)
        if (fputs("$9\r\n/bin/true\r\n", link) < 0)
            die("server");
    if (fflush(link) < 0)
        die("server");
    expect(link, ":", line);
}

static void redis_take(void *link, char id[LINE])
{
    char line[LINE];

    send_line(link, "*6\r\n$6\r\nBLMOVE\r\n$4\r\njobs\r\n$7\r\nworking\r\n$5\r\nRIGHT\r\n"
                    "$4\r\nLEFT\r\n$1\r\n0\r\n");
    expect(link, "$9", line);
    expect(link, "/bin/true", id);
}

static void redis_done(void *link, const char *id)
{
    char line[LINE];

    (void)id;
    send_line(link,
              "*4\r\n$4\r\nLREM\r\n$7\r\nworking\r\n$1\r\n1\r\n$9\r\n/bin/true\r\n");
    expect(link, ":1", line);
}

/* --- PostgreSQL: a table */

static void *dial_postgres(const char *info)
{
    PGconn *link = PQconnectdb(info);

    if (PQstatus(link) != CONNECTION_OK) {
        (void)fprintf(stderr, "queues: %s", PQerrorMessage(link));
        exit(1);
    }
    return link;
}

/* A statement with a number; the result is the caller's. */
static PGresult *ask_postgres(PGconn *link, const char *sql, long n)
{
    char text[32];
    const char *value = text;

    (void)snprintf(text, sizeof(text), "%ld", n);
    PGresult *result =
        PQexecParams(link, sql, strstr(sql, "$1") ? 1 : 0, NULL, &value, NULL, NULL, 0);
    if (PQresultStatus(result) != PGRES_COMMAND_OK &&
        PQresultStatus(result) != PGRES_TUPLES_OK) {
        (void)fprintf(stderr, "queues: %s", PQerrorMessage(link));
        exit(1);
    }
    return result;
}

static void postgres_init(void *link)
{
    PQclear(
        ask_postgres(link,
                     "CREATE TABLE jobs (id bigserial PRIMARY KEY, spec text NOT NULL,"
                     " taken boolean NOT NULL DEFAULT false)",
                     0));
    PQclear(ask_postgres(link, "CREATE INDEX waiting ON jobs (id) WHERE NOT taken", 0));
}

static void postgres_put(void *link, long jobs)
{
    PQclear(ask_postgres(link,
                         "INSERT INTO jobs (spec) SELECT '/bin/true'"
                         " FROM generate_series(1, $1::bigint)",
                         jobs));
}

/* A worker that finds none asks again: jobs are put before, or beside it. */
static void postgres_take(void *link, char id[LINE])
{
    PGresult *found = NULL;

    do {
        PQclear(found);
        found =
            ask_postgres(link,
                         "UPDATE jobs SET taken = true WHERE id = (SELECT id FROM jobs"
                         " WHERE NOT taken ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED)"
                         " RETURNING id",
                         0);
    } while (PQntuples(found) == 0);
    (void)snprintf(id, LINE, "%s", PQgetvalue(found, 0, 0));
    PQclear(found);
}

static void postgres_done(void *link, const char *id)
{
    PQclear(ask_postgres(link, "DELETE FROM jobs WHERE id = $1::bigint", atol(id)));
}

static const struct server servers[] = {
    {"beanstalkd", dial_socket, nothing, beanstalk_put, beanstalk_take, beanstalk_done},
    {"redis", dial_socket, nothing, redis_put, redis_take, redis_done},
    {"postgresql", dial_postgres, postgres_init, postgres_put, postgres_take,
     postgres_done},
};

/* --- */

static void *submitter(void *arg)
{
    struct client *c = arg;
    void *link = server->dial(address);

    for (long i = 0; i < c->jobs; i++) {
        double start = seconds();

        server->put(link, 1);
        c->us[i] = (seconds() - start) * 1e6;
    }
    c->durable = 1;
    return NULL;
}

static void work(long jobs)
{
    char *argv[] = {(char *)"/bin/true", NULL}, id[LINE];
    void *link = server->dial(address);
    pid_t pid;

    for (long i = 0; i < jobs; i++) {
        server->take(link, id);
        errno = posix_spawn(&pid, argv[0], NULL, NULL, argv, environ);
        if (errno || waitpid(pid, NULL, 0) < 0)
            die(argv[0]);
        server->done(link, id);
    }
}

int main(int argc, char **argv)
{
    const char *what = argc > 3 ? argv[3] : "";
    long jobs = argc > 4 ? atol(argv[4]) : 0, n = argc > 5 ? atol(argv[5]) : 1;

    for (size_t i = 0; argc > 1 && i < sizeof(servers) / sizeof(servers[0]); i++)
        if (strcmp(argv[1], servers[i].name) == 0)
            server = &servers[i];
    if (!server || argc < 4)
        return 2;
    address = argv[2];
    if (strcmp(what, "init") == 0) {
        server->init(server->dial(address));
    } else if (strcmp(what, "submit") == 0) {
        submit_by(jobs, n, submitter);
    } else if (strcmp(what, "batch") == 0) {
        void *link = server->dial(address);

        for (long i = 0; i < jobs; i += n)
            server->put(link, n);
    } else if (strcmp(what, "work") == 0) {
        work(jobs);
    } else {
        return 2;
    }
    return 0;
}
