/* Formats a job of the protocol for people. */
#ifndef VOLT_CLIENT_JOB_VIEW_H
#define VOLT_CLIENT_JOB_VIEW_H

#include "client/term.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Return members, or a default if absent; strings are borrowed. */
const char *job_view_string(const json_t *job, const char *name); /* "" if absent */
int64_t job_view_int(const json_t *job, const char *name);        /* 0 if absent */
bool job_view_bool(const json_t *job, const char *name);

/* Writes how the job ended or what it does: "exit status 7", "killed by signal 9
 * (SIGKILL)", "running", "waiting for a slot (place 4)". With its spec also which file
 * could not be opened or executed. */
void job_view_outcome(const json_t *job, char *buf, size_t size);
/* Writes a short word for tables: "exit 7", "SIGKILL", "success", "timeout". */
void job_view_result_word(const json_t *job, char *buf, size_t size);
/* Returns the style: green for success, red for failure, and so on; of an array by its
 * counts. */
enum term_style job_view_style(const json_t *job);
/* Returns whether nobody knows when the job, or an attempt, ended: ended_at_usec is when
 * voltd noticed. */
bool job_view_is_lost(const json_t *job);
/* Returns how long the job has run, in us, until now_usec if it still runs; 0 before its
 * start, for arrays and for a lost job. */
uint64_t job_view_runtime(const json_t *job, uint64_t now_usec);
/* Returns when the job may begin, us since 1970: the later of the times in its spec, if
 * present; 0: at once. */
int64_t job_view_begin(const json_t *job);
/* Returns how many attempts the job may have, lost ones included; 0: unknown. Needs the
 * spec. */
int64_t job_view_attempts(const json_t *job);
/* Writes "Sat 2026-11-21 14:31:02 UTC", with now_usec > 0 also "; 3min 2s ago". */
void job_view_time(uint64_t at_usec, uint64_t now_usec, char *buf, size_t size);
/* Returns the path in a field of its spec, output_path or error_path, as voltd expands it
 * at the start; new. NULL: no such path, or no memory. */
char *job_view_path(const json_t *job, const char *field);
/* Returns whether the word is a program text, as it has blanks: its braces are its
 * own. */
bool job_view_is_program(const char *word);
/* Returns whether the index of an element stands at this place of another word. */
bool job_view_is_index(const char *word, const char *at);
/* Returns a word of its command with {i} as the job has it: an element has its index
 * there. New; NULL: no memory. */
char *job_view_word(const json_t *job, const char *word);
/* States of a job that has not ended, in the usual order; NULL-terminated. */
extern const char *const job_view_live_states[];
/* Returns these as JSON, new reference, with "queued" only if wanted. NULL: no memory. */
json_t *job_view_live(bool queued);
/* Returns CLOCK_REALTIME in us. */
uint64_t job_view_now(void);

#endif
