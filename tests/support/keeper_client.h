/* A voltd-keeper of a test's own, in a temporary folder, and a blocking client for it.
 * Everything asserts with cmocka: for the main thread of a unit test. */
#ifndef TESTS_SUPPORT_KEEPER_CLIENT_H
#define TESTS_SUPPORT_KEEPER_CLIENT_H

#include <sys/types.h>
#include "daemon/keeper/protocol.h"
#include "tests/support/scratch.h"

struct keeper_client {
    char dir[SCRATCH_MAX]; /* removed by _fini */
    char socket_path[80];  /* dir/keeper.sock */
    char record_path[80];  /* dir/rec */
    int dir_fd, record_fd;
    pid_t keeper;
    int fd; /* connection; -1: none */
    uint64_t serial;
    uint8_t boot_id[RECORD_ID_SIZE];
};

void keeper_client_init(struct keeper_client *c); /* folder only */
void keeper_client_fini(struct keeper_client *c); /* ends the keeper by its pid */
void keeper_client_spawn(struct keeper_client *c);
/* One that dismisses no shim for having heard nothing for a while, and continues none that
 * was stopped. */
void keeper_client_spawn_patient(struct keeper_client *c);
void keeper_client_kill(struct keeper_client *c);
int keeper_client_connect(const struct keeper_client *c); /* returns new descriptor */
/* Connects and says HELLO. */
struct keeper_welcome keeper_client_hello(struct keeper_client *c);

/* Of each test: all that, and *state is the client. */
int keeper_client_setup(void **state);
/* The same with a patient keeper. */
int keeper_client_setup_patient(void **state);
int keeper_client_teardown(void **state);

/* Sends a request with its head filled in; returns its serial. */
uint64_t keeper_client_send(struct keeper_client *c, union keeper_message *m, size_t size,
                            const int *fds, int nfds);
/* The reply with this serial; hints and other replies on the way are dropped. -ECONNRESET
 * in its status when the connection ended. */
struct keeper_reply keeper_client_reply(struct keeper_client *c, uint64_t serial);

/* What a START begins with: a record of that attempt, in the message's seed and as the
 * first of its descriptors. Returns that, owned by the caller, or -errno of making it. */
int keeper_client_record(struct keeper_client *c, const struct job_key *key,
                         union keeper_message *m);
/* One START and its reply; -EEXIST, and none is sent: there is a record. One that is
 * refused leaves no record. out_fd: stdout (-1: none). */
struct keeper_reply keeper_client_start(struct keeper_client *c,
                                        const struct job_key *key, const struct launch *l,
                                        int out_fd, enum keeper_kill_mode kill_mode);
/* One SIGNAL, with the record if there is one: returns its serial, or its reply. */
uint64_t keeper_client_send_signal(struct keeper_client *c, const struct job_key *key,
                                   int sig, enum keeper_scope scope);
struct keeper_reply keeper_client_signal(struct keeper_client *c,
                                         const struct job_key *key, int sig,
                                         enum keeper_scope scope);
/* Removes the record, as voltd does. 0 or -errno. */
int keeper_client_remove(struct keeper_client *c, const struct job_key *key);

/* Waits (at most 10 s) until the record's verdict is not RUNNING, by inotify. */
struct record keeper_client_wait(struct keeper_client *c, const struct job_key *key);
/* Waits until slot 1 is there. */
struct record keeper_client_wait_started(struct keeper_client *c,
                                         const struct job_key *key);

#endif
