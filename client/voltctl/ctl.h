/* What the verbs of voltctl share. Each verb is a file of its own with one
 * struct verb. */
#ifndef VOLT_CLIENT_VOLTCTL_CTL_H
#define VOLT_CLIENT_VOLTCTL_CTL_H

#include "client/client.h"
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
    const char *text;     /* the rest of --help: what it does, examples; may be "" */
    const struct option_entry *options;
    const struct option_elsewhere *elsewhere; /* NULL: ctl_elsewhere */
    int (*run)(struct ctl *ctl);
};

/* The latest call, to be made again where a voltd has no place for us. */
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
    int code;   /* to exit with, when ctl_option() or ctl_ids() ended the work */
    char **ids; /* of ctl_ids() */
    size_t nids, ids_room;
    bool ranged; /* a range was among them: not each of it need be a job */
};

/* The verb's next option. OPTION_END: operands begin at argv[optind], and the address is
 * settled; OPTION_BAD: return ctl->code (help was shown, or the mistake said). */
int ctl_option(struct ctl *ctl);
/* All options of a verb that has --json only. False: return ctl->code. */
bool ctl_json_only(struct ctl *ctl, bool *ret_json);
/* The operands after the options, `least` of them or more, as ids: ranges (12-40,
 * 17_3-20) and lists of elements (17_[1-3,7]) become all they stand for, @last the newest
 * job of this user, or all of the list of jobs that was submitted last. Returns how many
 * ids there are; ctl has them. -1: return ctl->code, the mistake is said. */
int ctl_ids(struct ctl *ctl, int least, char ***ret);
/* Adds one more. 0; -1: as above. */
int ctl_ids_add(struct ctl *ctl, const char *id);
/* Leaves each id once, in order. Returns how many are left. */
size_t ctl_ids_unique(struct ctl *ctl);
void ctl_ids_free(struct ctl *ctl);
/* What a verb does with each of its ids; returns a code, with the reason said. */
typedef int ctl_one_fn(struct ctl *ctl, const char *id, void *arg);
/* The whole of such a verb after its options: connects, and calls `one` for each operand,
 * of which there must be one. Returns the largest code. */
int ctl_each_id(struct ctl *ctl, ctl_one_fn *one, void *arg);
/* Connects, and makes ctl->ids (of ctl_ids()) what is meant by them: of ranges those that
 * are jobs. filter: those of them that match, or all that match where there are none;
 * NULL: no filter. A code, with the reason said. */
int ctl_choose(struct ctl *ctl, const json_t *filter);
/* As ctl_each_id(), of what ctl_choose() has chosen. */
int ctl_each_chosen(struct ctl *ctl, const json_t *filter, ctl_one_fn *one, void *arg);
/* The same of ids that were looked at, on the connection that is open. */
int ctl_each(struct ctl *ctl, char *const *ids, int n, ctl_one_fn *one, void *arg);
/* A ctl_one_fn: that there is such a job. */
int ctl_find(struct ctl *ctl, const char *id, void *unused);
/* False where there are operands, and said. */
bool ctl_no_operands(const struct ctl *ctl);
/* Says what is wrong with the usage and returns CTL_EXIT_USAGE. */
__attribute__((format(printf, 2, 3))) int ctl_usage(const struct ctl *ctl,
                                                    const char *format, ...);
void ctl_help(const struct verb *verb);

/* Connects; CTL_EXIT_OK, or the code with the reason said. */
int ctl_open(struct ctl *ctl, enum address_endpoint which);
/* One call; takes parameters. CTL_EXIT_OK and *ret filled, or the code, reason said;
 * where the connection was lost there is no ctl->client any more. */
int ctl_call(struct ctl *ctl, const char *method, json_t *parameters,
             struct client_reply *ret);
/* The same in two steps, so that voltd works on the answer meanwhile: CTL_EXIT_OK, or the
 * code with the reason said. */
int ctl_send(struct ctl *ctl, const char *method, json_t *parameters, unsigned flags);
int ctl_receive(struct ctl *ctl, struct client_reply *ret);
/* Its first half: an error reply is not said, and CTL_EXIT_OK. list: NULL, or what stays
 * text: client_answer_list(). */
int ctl_answer(struct ctl *ctl, struct client_list *list, struct client_reply *ret);
/* The code for an error reply, which is said. */
int ctl_refused(const struct client_reply *reply);
/* The code for a failed client_receive(), which is said, unless nobody reads our output
 * any more. */
int ctl_lost(int r);

/* One JSON value and a line end on standard output. */
void ctl_print_json(const json_t *value);
/* {"count": N}, as JSON. */
void ctl_print_count(int64_t count);
/* All that a verb does whose only option is --json: one call without parameters, its
 * answer, or this member of it, as JSON or by `print`. Returns the exit code, which is
 * that of print. */
int ctl_ask(struct ctl *ctl, enum address_endpoint address, const char *method,
            const char *member, int (*print)(const json_t *answer));

/* Options that make a Filter, to be put into a verb's table; the times where they are of
 * use. */
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
         "cancelled, lost, output_limit, expired or dependency; also a list; "           \
         "failed: all but success and cancelled"},                                                     \
        {"failed", CTL_OPT_FAILED, NULL, "the same as --result=failed"},                 \
        {"owner", 'u', "USER",                                                           \
         "jobs of this user, by name or number; those of others are shown to "           \
         "administrators (--all-users) and root"},                                                                       \
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

/* What others call options that any verb may have. */
#define CTL_ELSEWHERE                                                                    \
    {                                                                                    \
        " --user --uid ", "--owner=USER (-u) for the jobs of a user"                     \
    }
extern const struct option_elsewhere ctl_elsewhere[];

/* Adds a filter option to *filter (made when NULL). 1: taken; 0: none of them; negative:
 * said what is wrong. */
int ctl_filter_take(json_t **filter, int key, const char *arg);

/* An array of strings, as the protocol wants ids. */
json_t *ctl_strings(char *const *strings, int n);
/* A whole number of at least 0; false: said. */
bool ctl_number(const char *option, const char *text, uint64_t *ret);
/* The time of --reconnect, if key is that; false: it is none, said. */
bool ctl_reconnect_take(struct ctl *ctl, int key, uint64_t *ret_usec);

#endif
