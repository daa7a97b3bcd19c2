/* voltctl locks: prints and changes locks, semaphores and rates that jobs claim. */
#include "wire/duration.h"
#include "client/job_view.h"
#include "client/term.h"
#include "client/voltctl/table.h"
#include "client/voltctl/verbs.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { NAME, KIND, USED, WAITING, SINCE, HOLDERS, COLUMNS };

static const struct option_entry options[] = {
    {"owner", 'u', "USER",
     "those of this user, by name or number; for administrators (--all-users) and root"},
    CTL_JSON_OPTION,
    CTL_OPTIONS_END,
};

static const struct table_column columns[COLUMNS] = {
    [NAME] = {.title = "NAME", .flexible = true},
    [KIND] = {.title = "KIND"},
    [USED] = {.title = "USED"},
    [WAITING] = {.title = "WAITING", .align = TABLE_RIGHT},
    [SINCE] = {.title = "SINCE", .align = TABLE_RIGHT, .optional = true, .rank = 1},
    [HOLDERS] = {.title = "HOLDERS", .flexible = true},
};

static const char *used_of(const json_t *lock, char *buf, size_t size)
{
    const int64_t used = job_view_int(lock, "used"),
                  capacity = job_view_int(lock, "capacity");

    if (capacity > 0)
        (void)snprintf(buf, size, "%" PRId64 " of %" PRId64 "%s", used, capacity,
                       job_view_int(lock, "interval_usec") > 0 ? " tokens spent" : "");
    else if (used == 0)
        return "-";
    else if (json_is_true(json_object_get(lock, "exclusive")))
        return "exclusive";
    else
        (void)snprintf(buf, size, "shared by %" PRId64, used);
    return buf;
}

/* Returns how long the first holder has had it. */
static const char *since_of(const json_t *holders, char *buf, size_t size)
{
    const int64_t since = job_view_int(json_array_get(holders, 0), "since_at_usec");
    struct timespec ts;

    clock_gettime(CLOCK_REALTIME, &ts);
    const int64_t now = (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
    if (since <= 0 || since > now)
        return "-";
    duration_format((uint64_t)(now - since), buf, size);
    return buf;
}

/* Writes a holder: a job by its id, a lease by its process and command. Returns the
 * length. */
static int put_holder(const json_t *holder, const char *sep, char *buf, size_t size)
{
    const bool left = json_is_true(json_object_get(holder, "survivors"));
    const char *command = job_view_string(holder, "command");

    if (!json_object_get(holder, "lease"))
        return snprintf(buf, size, "%s%s%s", sep, left ? "survivors of " : "",
                        job_view_string(holder, "id"));
    return snprintf(buf, size, "%s%spid %" PRId64 "%s%s%s", sep,
                    left ? "survivors of " : "", job_view_int(holder, "pid"),
                    *command ? " (" : "", command, *command ? ")" : "");
}

static const char *holders_of(const json_t *lock, char *buf, size_t size)
{
    static const char more[] = ", ...";
    const json_t *holders = json_object_get(lock, "holders"), *holder;
    const size_t room = size - sizeof(more);
    bool all = !json_is_true(json_object_get(lock, "holders_left_out"));
    size_t i, at = 0;

    json_array_foreach(holders, i, holder)
    {
        int n = put_holder(holder, i ? ", " : "", buf + at, room - at);
        if (n < 0 || (size_t)n >= room - at) {
            all = false;
            break;
        }
        at += (size_t)n;
    }
    (void)snprintf(buf + at, size - at, "%s", all ? at ? "" : "-" : more);
    return buf;
}

static int add_row(struct table *t, const json_t *lock)
{
    char used[64], waiting[24], since[32], holders[512];
    const char *cells[COLUMNS] = {
        [NAME] = job_view_string(lock, "name"),
        [KIND] = job_view_string(lock, "kind"),
        [USED] = used_of(lock, used, sizeof(used)),
        [WAITING] = waiting,
        [SINCE] = since_of(json_object_get(lock, "holders"), since, sizeof(since)),
        [HOLDERS] = holders_of(lock, holders, sizeof(holders)),
    };

    (void)snprintf(waiting, sizeof(waiting), "%" PRId64, job_view_int(lock, "waiting"));
    return table_add(t, cells, TERM_PLAIN);
}

static int print(const json_t *locks)
{
    return table_print(columns, COLUMNS, locks, add_row) < 0 ? CTL_EXIT_FAILED
                                                             : CTL_EXIT_OK;
}

/* Fetches all pages into an array. */
static int fetch(struct ctl *ctl, const char *owner, json_t *locks)
{
    json_t *cursor = NULL;
    int code;

    do {
        struct client_reply reply = CLIENT_REPLY_EMPTY;

        code = ctl_call(ctl, "org.voltd.locks.List", json_pack("{s:o*, s:s*}", "cursor", cursor, "user", owner),
                        &reply);
        if (code == CTL_EXIT_OK)
            (void)json_array_extend(locks, json_object_get(reply.parameters, "locks"));
        cursor = code == CTL_EXIT_OK
                     ? json_incref(json_object_get(reply.parameters, "cursor"))
                     : NULL;
        client_reply_fini(&reply);
    } while (cursor);
    return code;
}

/* Executes `resize NAME N` or `reset NAME`. */
static int set_size(struct ctl *ctl, char **words, int n)
{
    const bool resizes = strcmp(words[0], "resize") == 0;
    struct client_reply reply = CLIENT_REPLY_EMPTY;
    uint64_t capacity = 0;

    if (!resizes && strcmp(words[0], "reset") != 0)
        return ctl_usage(ctl, "%s: expected is resize, reset or free", words[0]);
    if (n != (resizes ? 3 : 2))
        return ctl_usage(ctl, resizes ? "resize: expected are NAME and N"
                                      : "reset: expected is NAME");
    if (resizes && !ctl_number("resize", words[2], &capacity))
        return CTL_EXIT_USAGE;
    int code = ctl_open(ctl, ADDRESS_JOBS);
    if (code == CTL_EXIT_OK && resizes)
        code = ctl_call(ctl, "org.voltd.locks.Resize",
                        json_pack("{s:s, s:I}", "name", words[1], "capacity",
                                  (json_int_t)capacity),
                        &reply);
    else if (code == CTL_EXIT_OK)
        code = ctl_call(ctl, "org.voltd.locks.Reset",
                        json_pack("{s:s}", "name", words[1]), &reply);
    if (json_is_true(json_object_get(reply.parameters, "made")))
        term_print("semaphore %s is new: no job claims it yet; voltctl locks reset %s "
                   "removes it\n",
                   words[1], words[1]);
    client_reply_fini(&reply);
    return code;
}

static int free_lock(struct ctl *ctl, const char *owner, char **words, int n)
{
    struct client_reply reply = CLIENT_REPLY_EMPTY;

    if (n != 2)
        return ctl_usage(ctl, "free: expected is NAME");
    int code = ctl_open(ctl, ADDRESS_JOBS);
    if (code == CTL_EXIT_OK)
        code = ctl_call(ctl, "org.voltd.locks.Free",
                        json_pack("{s:s, s:s*}", "name", words[1], "user", owner), &reply);
    if (code == CTL_EXIT_OK) {
        const int64_t freed = job_view_int(reply.parameters, "freed");
        term_print("given back by what was left of %" PRId64 " holder%s\n", freed,
                   freed == 1 ? "" : "s");
    }
    client_reply_fini(&reply);
    return code;
}

static int change(struct ctl *ctl, const char *owner, char **words, int n)
{
    if (strcmp(words[0], "free") == 0)
        return free_lock(ctl, owner, words, n);
    return owner ? ctl_usage(ctl, "--owner: the sizes of others cannot be set")
                 : set_size(ctl, words, n);
}

static int run(struct ctl *ctl)
{
    const char *owner = NULL;
    bool json = false;
    int key;

    while ((key = ctl_option(ctl)) != OPTION_END) {
        if (key == OPTION_BAD)
            return ctl->code;
        if (key == 'u')
            owner = ctl->options.arg;
        json |= key == CTL_OPT_JSON;
    }
    if (optind < ctl->argc)
        return change(ctl, owner, ctl->argv + optind, ctl->argc - optind);
    json_t *locks = json_array();
    int code = ctl_open(ctl, ADDRESS_JOBS);
    if (code == CTL_EXIT_OK)
        code = fetch(ctl, owner, locks);
    if (code == CTL_EXIT_OK && json)
        ctl_print_json(locks);
    else if (code == CTL_EXIT_OK)
        code = print(locks);
    json_decref(locks);
    return code;
}

const struct verb verb_locks = {
    .name = "locks",
    .operands = "[resize NAME N]",
    .summary = "List your locks, semaphores and rates; set a size",
    .text =
        "USED: a lock is held exclusive or shared, a semaphore has so many of its\n"
        "permits taken, a rate so many of its tokens spent. WAITING: so many jobs and\n"
        "volt-locks wait for it; an array counts as one. SINCE: for how long the first of\n"
        "its HOLDERS has had it: jobs, by their ids, and volt-locks, by pid and command.\n"
        "Jobs claim with --lock, --lock-shared, --sem, --rate and --singleton of\n"
        "volt-submit.\n"
        "\n"
        "voltctl locks resize NAME N gives the semaphore NAME, which need not be in use,\n"
        "N permits from now on, over restarts of voltd as well; what jobs say of its size\n"
        "counts no more. Where nothing had that name it says so. voltctl locks reset NAME\n"
        "forgets that, once no job claims it. Of a rate it forgets what was spent.\n"
        "\n"
        "voltctl locks free NAME: what is left of jobs that have ended, and SIGKILL did\n"
        "not end, has NAME no longer, nor anything else that these jobs claim; nor does\n"
        "what a volt-lock that has gone has left. It lives on: for use where that does no\n"
        "harm.\n",
    .options = options,
    .run = run,
};
