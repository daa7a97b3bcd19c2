/* A whole voltd in the process of a test, with its keeper, and a client of it: calls over its
 * socket, JSON with ' for ". One at a time. Fails the test when something is wrong. */
#ifndef TESTS_SUPPORT_WHOLE_H
#define TESTS_SUPPORT_WHOLE_H

#include <stdbool.h>
#include <stddef.h>

#include "daemon/config/config.h"
#include "daemon/life/life.h"
#include "daemon/server/server.h"
#include "daemon/observe/malformed.h"
#include "daemon/call/turn.h"
#include "tests/support/scratch.h"

extern struct whole {
    char base[SCRATCH_MAX], records[80], keeper[512], socket[80], config_path[80];
    struct config config;
    struct volt_runtime *rt;
    struct core *core;
    struct turn_counts turns;
    struct malformed malformed;
    struct service service;
    struct server *server;
    int client;
    char buf[1 << 20];
    size_t n; /* bytes in it that are not taken yet */
} whole;

/* Of each test, with cmocka. Jobs in memory, two slots, two workers. */
int whole_setup(void **state);
int whole_teardown(void **state);
/* The same with another configuration. */
void whole_defaults(struct config *config);
int whole_start(const struct config *config);
/* The same with this store; NULL: the one of a daemon, on disk. */
int whole_start_with(const struct config *config, struct store *store);

/* Another connection instead of the present one, if there is one. */
void whole_connect(void);
/* Sends a call; with `more`. */
void ask(const char *method, const char *parameters, bool more);
/* The same with a descriptor, once. */
void ask_with_fd(const char *method, const char *parameters, int fd);
/* Sends what need not be a call, with a NUL behind it. */
void say(const char *text);
/* The next reply, as text without its NUL, until the next call of this; NULL: the
 * connection has ended. */
const char *hear(void);
/* Its parameters, with the names sorted; what is an error fails the test. */
const char *answer(void);
const char *call(const char *method, const char *parameters);
void assert_has(const char *text, const char *part);
/* The last of what a Wait for these tells: "'1','2'". */
const char *wait_for(const char *ids);
/* The error, without its interface, and the parameter that it names; "": none. */
void refuses(const char *method, const char *parameters, const char *error,
             const char *parameter);

#define JOBS(m)    "org.voltd.jobs." m
#define LOGS(m)    "org.voltd.logs." m
#define LOCKS(m)   "org.voltd.locks." m
#define CONTROL(m) "org.voltd.control." m
#define SERVICE(m) "org.varlink.service." m

#endif
