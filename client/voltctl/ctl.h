/* Common functions of the verbs of voltctl. Each verb is a file with a struct verb. */
#ifndef VOLT_CLIENT_VOLTCTL_CTL_H
#define VOLT_CLIENT_VOLTCTL_CTL_H

#include "client/client.h"
#include "client/each_job.h"
#include "client/options.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum {
    CTL_EXIT_OK = 0,
    CTL_EXIT_FAILED = 1,
    CTL_EXIT_USAGE = 2,
    CTL_EXIT_NO_DAEMON = 3,
    CTL_EXIT_NO_SUCH_JOB = 4,
};

struct ctl;

struct verb {
    const char *name;
    const char *operands; /* "ID...", or "" */
    const char *summary;  /* one line */
    const char *text;     /* the rest of --help: details, examples; may be "" */
    const struct option_entry *options;
    const struct option_elsewhere *elsewhere; /* NULL: ctl_elsewhere */
    int (*run)(struct ctl *ctl);
};

/* The latest call, to be repeated if voltd has no place for our connection. */
struct ctl_call {
    const char *method;
    json_t *parameters; /* NULL: none */
    unsigned flags;
};

struct ctl {
    struct address_choice choice;
    const struct verb *verb;
    int argc;
    char **argv; /* argv[0] is the verb */
    struct options options;
    struct client *client;
    struct ctl_call call;
    int code;   /* exit code, when ctl_option() or ctl_ids() ended the work */
    char **ids; /* of ctl_ids() */
    size_t nids, ids_room;
    json_t *single; /* set of ids that are named by themselves: each must be a job */
    bool ranged;    /* other ids come from ranges: some may be no jobs */
};

/* Returns the verb's next option; OPTION_END: operands begin at argv[optind], and the
 * address is known; OPTION_BAD: return ctl->code (help or an error was printed). */
int ctl_option(struct ctl *ctl);
/* Parses all options of a verb that only has --json. False: return ctl->code. */
bool ctl_json_only(struct ctl *ctl, bool *ret_json);
/* Returns how many ids the operands after the options mean, at least `least`; ctl owns
 * *ret. Ranges (12-40, 17_3-20) and lists of elements (17_[1-3,7]) are expanded. @last is
 * the newest job of this user, or all jobs of the list submitted last. A name, or
 * name:NAME, is the newest job of that name, key:KEY that of the key. -1: return
 * ctl->code, after an error message. */
int ctl_ids(struct ctl *ctl, int least, char ***ret);
/* Adds an id. Returns 0; -1: as above. */
int ctl_ids_add(struct ctl *ctl, const char *id);
/* Adds the ids of all jobs that match now. Returns an exit code, after an error message
 * if it failed. */
int ctl_ids_find(struct ctl *ctl, const json_t *filter);
/* Reduces the ids of ranges to jobs that match; filter NULL: any. Ids that are named by
 * themselves stay. Returns an exit code, after an error message if it failed. */
int ctl_ids_keep(struct ctl *ctl, const json_t *filter, size_t *ret_removed);
/* Checks that all of the ids are jobs, before calls that would not say so: with a filter
 * they match nothing, and of several calls the first is done. Returns an exit code, after
 * an error message if it failed. */
int ctl_ids_check(struct ctl *ctl, char *const *ids, size_t n);
/* Removes duplicate ids, in order. Returns how many are left. */
size_t ctl_ids_unique(struct ctl *ctl);
void ctl_ids_free(struct ctl *ctl);
/* The action of a verb for an id. Returns an exit code, after an error message if it
 * failed. */
typedef int ctl_one_fn(struct ctl *ctl, const char *id, void *arg);
/* Connects, and reduces ctl->ids (of ctl_ids()) to the jobs that are meant: of ranges the
 * ids of jobs, and a note says how many are none; with a filter those that match, or all
 * that match if there are no ids. An id that is named by itself and is no job stays: the
 * verb refuses it. filter NULL: none. Returns an exit code, after an error message if it
 * failed. */
int ctl_choose(struct ctl *ctl, const json_t *filter);
/* Does all of such a verb after its options: calls `one` for each id that ctl_choose()
 * leaves of the operands. Without a filter one is needed. Returns the largest code. */
int ctl_each_chosen(struct ctl *ctl, const json_t *filter, ctl_one_fn *one, void *arg);
/* Likewise for given ids, on the open connection. */
int ctl_each(struct ctl *ctl, char *const *ids, int n, ctl_one_fn *one, void *arg);
/* A ctl_one_fn that checks that the job exists. */
int ctl_find(struct ctl *ctl, const char *id, void *unused);
/* Returns whether there are no operands; prints an error if there are. */
bool ctl_no_operands(const struct ctl *ctl);
/* Prints an error of usage, and returns CTL_EXIT_USAGE. */
__attribute__((format(printf, 2, 3))) int ctl_usage(const struct ctl *ctl,
                                                    const char *format, ...);
void ctl_help(const struct verb *verb);

/* Connects. Returns CTL_EXIT_OK, or another code after an error message. */
int ctl_open(struct ctl *ctl, enum address_endpoint which);
/* Makes a call; takes parameters. Returns CTL_EXIT_OK with *ret, or another code after an
 * error message. If the connection was lost, ctl->client is NULL. */
int ctl_call(struct ctl *ctl, const char *method, json_t *parameters,
             struct client_reply *ret);
/* Likewise in two steps, so that voltd works on the answer in between. An error reply is
 * not printed, and is CTL_EXIT_OK. list: stays text (client_answer_list()); or NULL. */
int ctl_send(struct ctl *ctl, const char *method, json_t *parameters, unsigned flags);
int ctl_answer(struct ctl *ctl, struct client_list *list, struct client_reply *ret);
/* As each_job(). Returns an exit code, after an error message if it failed; a fn that has
 * printed one returns -ECANCELED, with ctl->code. */
int ctl_each_job(struct ctl *ctl, json_t *parameters, each_job_fn *fn, void *arg);
/* Prints an error reply, and returns its exit code. */
int ctl_refused(const struct client_reply *reply);
/* Prints why client_receive() failed, unless our output has no reader any more. Returns
 * the exit code. */
int ctl_lost(int r);

/* Prints a JSON value and a newline on standard output. */
void ctl_print_json(const json_t *value);
/* Prints {"count": N}. */
void ctl_print_count(int64_t count);
/* Does all of a verb whose only option is --json: makes a call without parameters, and
 * prints its answer, or this member of it, as JSON or by `print`. Returns the exit code,
 * from print if it was called. */
int ctl_ask(struct ctl *ctl, enum address_endpoint address, const char *method,
            const char *member, int (*print)(const json_t *answer));

/* Options that make a Filter, for a verb's table; times only where they are useful. */
#define CTL_TIME_OPTIONS                                                                 \
    {"since", CTL_OPT_SINCE, "TIME",                                                     \
     "submitted then or later: \"2026-11-20 10:00\", -1h, today, yesterday; "            \
     "systemd.time(7)"},                                                                 \
    {                                                                                    \
        "until", CTL_OPT_UNTIL, "TIME", "submitted then or earlier"                      \
    }
#define CTL_FILTER_OPTIONS                                                               \
    {"state", CTL_OPT_STATE, "STATE",                                                    \
     "queued, starting, running, paused, stopping or done; a list "                      \
     "with commas is possible"},                                                         \
        {"result", CTL_OPT_RESULT, "RESULT",                                             \
         "success, exit, signal, timeout, exec_failed, "                                 \
         "cancelled, lost, output_limit, expired, dependency or oom; also a list; "      \
         "failed: all but success and cancelled"},                                       \
        {"failed", CTL_OPT_FAILED, NULL, "the same as --result=failed"},                 \
        {"owner", 'u', "USER",                                                           \
         "jobs of this user, by name or number; those of others are shown to "           \
         "administrators (--all-users) and root"},                                       \
        {"name", CTL_OPT_NAME, "NAME", "jobs of this name; with * ? [...] a pattern"},   \
        {"queue", CTL_OPT_QUEUE, "QUEUE", "jobs of this queue"},                         \
        {"label", CTL_OPT_LABEL, "KEY[=VALUE]",                                          \
         "jobs with this label; may be repeated"},                                       \
    {                                                                                    \
        "orphans", CTL_OPT_ORPHANS, NULL,                                                \
            "jobs found at the start of voltd of which only the "                        \
            "process record is known"                                                    \
    }

enum {
    CTL_OPT_STATE = OPTION_LONG + 500,
    CTL_OPT_RESULT,
    CTL_OPT_FAILED,
    CTL_OPT_NAME,
    CTL_OPT_QUEUE,
    CTL_OPT_LABEL,
    CTL_OPT_ORPHANS,
    CTL_OPT_SINCE,
    CTL_OPT_UNTIL,
    CTL_OPT_JSON,
    CTL_OPT_RECONNECT,
    CTL_OPT_DRY_RUN,
};
/* Returns whether the filter names another user, whose jobs take --all-users. */
bool ctl_misses_others(const struct ctl *ctl, const json_t *filter);
/* Returns 1: there is such a queue; 0: there is none; -1: unknown, after an error
 * message. */
int ctl_find_queue(struct ctl *ctl, const char *name);
/* Returns whether the filter names a queue that does not exist. */
bool ctl_misses_queue(struct ctl *ctl, const json_t *filter);
/* Returns what is said behind "0 jobs": why the filter matches none; "": unknown. */
const char *ctl_none_text(struct ctl *ctl, const json_t *filter);
#define CTL_JSON_OPTION                                                                  \
    {                                                                                    \
        "json", CTL_OPT_JSON, NULL, "JSON on standard output"                            \
    }
#define CTL_RECONNECT_OPTION                                                             \
    {                                                                                    \
        "reconnect", CTL_OPT_RECONNECT, "TIME",                                          \
            "how long a lost connection is retried (default 30s)"                        \
    }
#define CTL_OPTIONS_END                                                                  \
    {                                                                                    \
        NULL, 0, NULL, NULL                                                              \
    }

/* Names that other programs give to options of any verb. */
#define CTL_ELSEWHERE                                                                    \
    {                                                                                    \
        " --user --uid ", "--owner=USER (-u) for the jobs of a user"                     \
    }
extern const struct option_elsewhere ctl_elsewhere[];

/* Adds a filter option to *filter, which is made if NULL. Returns 1: added; 0: not a
 * filter option; negative after an error message. */
int ctl_filter_take(json_t **filter, int key, const char *arg);

/* Parses a whole number of at least 0. Returns false after an error message. */
bool ctl_number(const char *option, const char *text, uint64_t *ret);
/* Takes the time of --reconnect, if key is that option. Returns false after an error
 * message. */
bool ctl_reconnect_take(struct ctl *ctl, int key, uint64_t *ret_usec);

#endif
