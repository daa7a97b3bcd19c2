/* A SQLite store in a scratch directory, for tests of it: facts of simple jobs that are
 * kept and found again. One at a time. Fails the test when something is wrong. */
#ifndef TESTS_SUPPORT_STORED_H
#define TESTS_SUPPORT_STORED_H

#include <limits.h>
#include <stdint.h>
#include "daemon/store/blobs.h"
#include "daemon/store/commit_log.h"
#include "daemon/store/fact.h"
#include "daemon/store/reader.h"
#include "daemon/store/retention.h"
#include "daemon/store/sqlite.h"
#include "tests/support/scratch.h"

extern char stored_dir[SCRATCH_MAX];
extern uid_t stored_owner; /* of jobs that are submitted and end; 1 at first */

/* Of a group of tests: the runtime in which commits are waited for. */
int stored_start(void **state);
int stored_stop(void **state);
/* Of each test: the directory. */
int stored_setup(void **state);
int stored_teardown(void **state);

/* Of a file in it. */
void stored_path(const char *name, char path[PATH_MAX]);
int stored_open(uint8_t boot, struct store **ret, struct volt_error *err);
/* Opened and loaded. */
struct store *stored_fresh(void);

/* Appends and waits: the status of the commit, or of the append. */
int stored_keep(struct store *s, const struct store_fact *facts, size_t n);
/* The same of a job to forget. */
int stored_forget(struct store *s, uint64_t id);
/* Job `gone` is forgotten and another one submitted, as below, in one transaction. */
int stored_replace(struct store *s, uint64_t gone, uint64_t id, const char *argument,
                   const char *env);
/* The same of jobs that are "echo ARGUMENT", by id. Strings may be NULL, but that one. */
int stored_submit(struct store *s, uint64_t id, const char *argument, const char *env);
int stored_starting(struct store *s, uint64_t id);
int stored_end(struct store *s, uint64_t id, int code);
int stored_end_with(struct store *s, uint64_t id, int code, const char *out,
                    const char *err);
/* Three jobs: one has ended, one is starting, one waits; and what is found of them. */
void stored_fill(struct store *s);
extern const char stored_expected[];

/* What a load finds. */
struct found {
    char text[4096]; /* a word per fact */
};

/* Opens and loads: 0 and what was found, or the error. */
int stored_reload(uint8_t boot, struct found *found, struct volt_error *err);
/* Whole files of the directory; *ret is the caller's. */
size_t stored_read(const char *name, uint8_t **ret);
void stored_write(const char *name, const uint8_t *bytes, size_t n);
/* What SQLite keeps beside the first file. */
void stored_remove_journal(void);
/* Behind its back, in the first file: the number that is found, 0 if there is none. */
int64_t stored_query(const char *sql);

#endif
