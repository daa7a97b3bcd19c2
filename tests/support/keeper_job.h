/* Jobs of the keeper of a test, which run in its folder, and what becomes of them. As
 * keeper_client.h: everything asserts with cmocka. */
#ifndef TESTS_SUPPORT_KEEPER_JOB_H
#define TESTS_SUPPORT_KEEPER_JOB_H

#include <stdbool.h>
#include "tests/support/keeper_client.h"

/* Another one each time. */
struct job_key keeper_job_key(void);
/* Starts at most 8 words, the last one NULL; out: stdout (-1: none). */
struct keeper_reply keeper_job_start(struct keeper_client *c, const struct job_key *key,
                                     const char *const words[], int out);
struct keeper_reply keeper_job_start_shell(struct keeper_client *c,
                                           const struct job_key *key, const char *script);
/* To its end. */
struct record keeper_job_run(struct keeper_client *c, const char *script);
void keeper_job_assert_end(const struct record *r, enum record_end end, int status);

/* Waits until somebody has made the file: how a job says where it is. */
void keeper_job_wait_file(struct keeper_client *c, const char *name);
/* The number on the first line of that file, once the line is complete. */
pid_t keeper_job_read_pid(struct keeper_client *c, const char *name);
/* SIGSTOP, and waits until the process stands: kill(2) returns before. */
void keeper_job_stop(pid_t pid);
void keeper_job_wait_stopped(pid_t pid);
bool keeper_job_is_gone(pid_t pid);
void keeper_job_wait_gone(pid_t pid);
/* The program of this test, which may be a job too. Static. */
char *keeper_job_self(void);

#endif
