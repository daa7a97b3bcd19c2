/* A job as the protocol shows it, read for people. */
#ifndef VOLT_CLIENT_JOB_VIEW_H
#define VOLT_CLIENT_JOB_VIEW_H

#include "client/term.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Members, with a default for the absent; strings are borrowed. */
const char *job_view_string(const json_t *job, const char *name); /* "" when absent */
int64_t job_view_int(const json_t *job, const char *name);        /* 0 when absent */
bool job_view_bool(const json_t *job, const char *name);

/* How it ended or what it does: "exit status 7", "killed by signal 9 (SIGKILL)",
 * "running", "waiting for a slot (place 4)"; with its spec also what could not be opened
 * or executed. */
void job_view_outcome(const json_t *job, char *buf, size_t size);
/* A short word for tables: "exit 7", "SIGKILL", "success", "timeout". */
void job_view_result_word(const json_t *job, char *buf, size_t size);
/* Green for success, red for failure, and so on; arrays by their counts. */
enum term_style job_view_style(const json_t *job);
/* Microseconds it ran, up to now_usec while it runs; 0 when it has not started, and for
 * arrays. */
uint64_t job_view_runtime(const json_t *job, uint64_t now_usec);
/* When it may begin, us since the epoch: the later of its times, as far as its spec is
 * there; 0: at once. */
int64_t job_view_begin(const json_t *job);
/* How many attempts it may have, with those that were lost; 0: not known. It needs the
 * spec. */
int64_t job_view_attempts(const json_t *job);
/* "Sat 2026-11-21 14:31:02 UTC", and with now_usec > 0 "; 3min 2s ago". */
void job_view_time(uint64_t at_usec, uint64_t now_usec, char *buf, size_t size);
/* The path in this field of its spec, output_path or error_path, as voltd makes it when
 * the job starts. Returns new; NULL: there is none, or no memory. */
char *job_view_path(const json_t *job, const char *field);
/* A word with blanks: a program, whose braces are its own. */
bool job_view_is_program(const char *word);
/* Whether the index of an element stands at this place of another word. */
bool job_view_is_index(const char *word, const char *at);
/* A word of its command with {i} as the job has it: an element of an array has its index
 * there. Returns new; NULL: no memory. */
char *job_view_word(const json_t *job, const char *word);
/* The states of a job that has not ended, in the order in which it comes by them; then
 * NULL. */
extern const char *const job_view_live_states[];
/* These as JSON, without "queued" unless it is wanted. NULL: no memory. */
json_t *job_view_live(bool queued);
/* CLOCK_REALTIME in microseconds. */
uint64_t job_view_now(void);

#endif
