/* See ctl.h. */
#include "client/voltctl/ctl.h"
#include "wire/accounts.h"
#include "wire/duration.h"
#include "client/field_options.h"
#include "client/job_view.h"
#include "client/limit_options.h"
#include "client/say.h"
#include "client/spec_build.h"
#include "client/term.h"
#include "client/when.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct option_entry help_option[] = {
    {"help", 'h', NULL, "this text"},
    {NULL, 0, NULL, NULL},
};

const struct option_elsewhere ctl_elsewhere[] = {CTL_ELSEWHERE, {NULL, NULL}};

int ctl_option(struct ctl *ctl)
{
    const struct option_entry *const tables[] = {ctl->verb->options, options_connection,
                                                 options_admin, help_option, NULL};
    if (!ctl->options.started)
        ctl->options = (struct options){.argc = ctl->argc, .argv = ctl->argv};
    ctl->options.tables = tables;
    ctl->options.elsewhere = ctl->verb->elsewhere ? ctl->verb->elsewhere : ctl_elsewhere;
    for (;;) {
        int key = options_next(&ctl->options);
        if (key == 'h') {
            ctl_help(ctl->verb);
            ctl->code = CTL_EXIT_OK;
            return OPTION_BAD;
        }
        if (key == OPTION_BAD)
            ctl->code = CTL_EXIT_USAGE;
        if (key == OPTION_END)
            options_connection_finish(&ctl->choice);
        if (key < 0 || !options_connection_take(&ctl->choice, key, ctl->options.arg))
            return key;
    }
}

bool ctl_json_only(struct ctl *ctl, bool *ret_json)
{
    int key;
    *ret_json = false;
    while ((key = ctl_option(ctl)) != OPTION_END) {
        if (key == OPTION_BAD)
            return false;
        *ret_json |= key == CTL_OPT_JSON;
    }
    return true;
}

int ctl_each(struct ctl *ctl, char *const *ids, int n, ctl_one_fn *one, void *arg)
{
    int worst = CTL_EXIT_OK;
    for (int i = 0; i < n && ctl->client; i++) { /* a lost connection was reported
                                                  * already */
        int code = one(ctl, ids[i], arg);
        worst = code > worst ? code : worst;
    }
    return worst;
}

int ctl_find(struct ctl *ctl, const char *id, void *unused)
{
    (void)unused;
    struct client_reply reply = CLIENT_REPLY_EMPTY;
    int code = ctl_call(ctl, "org.voltd.jobs.Get", json_pack("{s:s}", "id", id), &reply);
    client_reply_fini(&reply);
    return code;
}

bool ctl_no_operands(const struct ctl *ctl)
{
    if (optind == ctl->argc)
        return true;
    (void)ctl_usage(ctl, "%s: nothing is expected here", ctl->argv[optind]);
    return false;
}

int ctl_usage(const struct ctl *ctl, const char *format, ...)
{
    char text[256];
    va_list ap;
    va_start(ap, format);
    (void)vsnprintf(text, sizeof(text), format, ap);
    va_end(ap);
    say("%s: %s; try `voltctl %s --help`", ctl->verb->name, text, ctl->verb->name);
    return CTL_EXIT_USAGE;
}

void ctl_help(const struct verb *verb)
{
    term_print("Usage: voltctl %s [OPTIONS]%s%s\n%s.\n", verb->name,
               *verb->operands ? " " : "", verb->operands, verb->summary);
    if (*verb->text)
        term_print("\n%s", verb->text);
    (void)puts("\nOptions:");
    options_print(verb->options);
    options_print(options_connection);
    options_print(options_admin);
    options_print(help_option);
    (void)puts("\nExit codes: 0 done, 1 failed, 2 usage, 3 no voltd, 4 no such job.");
}

int ctl_open(struct ctl *ctl, enum address_endpoint which)
{
    struct client_tried tried;
    client_free(ctl->client);
    ctl->client = NULL;
    if (client_open(&ctl->choice, which, &ctl->client, &tried) == 0) {
        client_set_silence(ctl->client, say_silence);
        return CTL_EXIT_OK;
    }
    say_no_daemon(&tried);
    return CTL_EXIT_NO_DAEMON;
}

/* Returns the option that set a parameter of a call; NULL: none. */
static const char *option_of(const char *parameter)
{
    static const char *const fields[][2] = {
        {"filter.states", "--state"},
        {"filter.results", "--result"},
        {"filter.name", "--name"}, /* and name_glob */
        {"filter.user", "--owner"},
        {"filter.queue", "--queue"},
        {"filter.labels", "--label"},
        {"filter.has_labels", "--label"},
        {"after", "--after"},
        {"changes.after", NULL}, /* names the job by its place */
        {"changes.limits", "--mem"}};
    const char *limit = strncmp(parameter, "changes.limits.", 15) == 0
                            ? limit_option_of(parameter + 15)
                            : NULL;
    for (size_t i = 0; !limit && i < sizeof(fields) / sizeof(fields[0]); i++)
        if (strncmp(parameter, fields[i][0], strlen(fields[i][0])) == 0)
            return fields[i][1];
    return limit || strncmp(parameter, "changes.", 8) != 0
               ? limit
               : field_option_of(parameter + 8);
}

/* Prints the daemon's refusal of an option's value with the name of the option, as an
 * error of usage. */
static bool say_option_error(const struct client_reply *reply)
{
    const char *option = option_of(job_view_string(reply->parameters, "parameter"));
    const char *reason = job_view_string(reply->parameters, "reason");
    if (!client_error_is(reply, "InvalidParameter") || !option)
        return false;
    if (*reason)
        say("%s: %s", option, reason);
    else
        say("%s: this voltd does not know it: it is older", option);
    return true;
}

int ctl_refused(const struct client_reply *reply)
{
    if (say_option_error(reply))
        return CTL_EXIT_USAGE;
    say_error(reply);
    return client_error_is(reply, "NoSuchJob") ? CTL_EXIT_NO_SUCH_JOB : CTL_EXIT_FAILED;
}

int ctl_lost(int r)
{
    if (r != -EPIPE)
        say_lost(r);
    return CTL_EXIT_FAILED;
}

/* Drops the connection, which is lost or of no use. */
static int drop(struct ctl *ctl, int r)
{
    client_free(ctl->client);
    ctl->client = NULL;
    return ctl_lost(r);
}

int ctl_send(struct ctl *ctl, const char *method, json_t *parameters, unsigned flags)
{
    json_decref(ctl->call.parameters);
    ctl->call = (struct ctl_call){method, json_incref(parameters), flags};
    int r = client_send(ctl->client, method, parameters, flags);
    return r < 0 ? drop(ctl, r) : CTL_EXIT_OK;
}

/* If voltd has no place for the connection, as the reply says: connects to the control
 * socket, which has reserved places for the user of his own voltd and for root, and frees
 * the reply. Returns whether to call again. */
static bool open_reserved(struct ctl *ctl, struct client_reply *reply)
{
    struct client_tried tried;
    struct client *c;
    if (!client_is_full(reply) ||
        client_open(&ctl->choice, ADDRESS_CONTROL, &c, &tried) < 0)
        return false;
    client_reply_fini(reply);
    client_free(ctl->client);
    ctl->client = c;
    client_set_silence(c, say_silence);
    return true;
}

int ctl_answer(struct ctl *ctl, struct client_list *list, struct client_reply *ret)
{
    int r = client_answer_list(ctl->client, list, ret);
    if (r == 0 && open_reserved(ctl, ret)) {
        r = client_send(ctl->client, ctl->call.method, json_incref(ctl->call.parameters),
                        ctl->call.flags);
        r = r == 0 ? client_answer_list(ctl->client, list, ret) : r;
    }
    return r < 0 ? drop(ctl, r) : CTL_EXIT_OK;
}

int ctl_each_job(struct ctl *ctl, json_t *parameters, each_job_fn *fn, void *arg)
{
    struct client_reply error = CLIENT_REPLY_EMPTY;
    int r = each_job(ctl->client, json_incref(parameters), fn, arg, &error), code;
    if (r == 1 && open_reserved(ctl, &error))
        r = each_job(ctl->client, json_incref(parameters), fn, arg, &error);
    json_decref(parameters);
    if (r == -ECANCELED)
        code = ctl->code;
    else
        code = r == 1 ? ctl_refused(&error) : r < 0 ? drop(ctl, r) : CTL_EXIT_OK;
    client_reply_fini(&error);
    return code;
}

int ctl_call(struct ctl *ctl, const char *method, json_t *parameters,
             struct client_reply *ret)
{
    struct client_reply reply = CLIENT_REPLY_EMPTY;
    int code = ctl_send(ctl, method, parameters, 0);
    if (code == CTL_EXIT_OK)
        code = ctl_answer(ctl, NULL, &reply);
    if (reply.error)
        code = ctl_refused(&reply);
    if (code == CTL_EXIT_OK)
        *ret = reply;
    else
        client_reply_fini(&reply);
    return code;
}

void ctl_print_json(const json_t *value)
{
    (void)term_put_json(value);
    (void)putchar('\n');
}

void ctl_print_count(int64_t count)
{
    json_t *answer = json_pack("{s:I}", "count", (json_int_t)count);
    ctl_print_json(answer);
    json_decref(answer);
}

int ctl_ask(struct ctl *ctl, enum address_endpoint address, const char *method,
            const char *member, int (*print)(const json_t *answer))
{
    struct client_reply reply = CLIENT_REPLY_EMPTY;
    bool json;
    if (!ctl_json_only(ctl, &json))
        return ctl->code;
    if (!ctl_no_operands(ctl))
        return CTL_EXIT_USAGE;
    int code = ctl_open(ctl, address);
    if (code == CTL_EXIT_OK)
        code = ctl_call(ctl, method, NULL, &reply);
    const json_t *answer =
        member ? json_object_get(reply.parameters, member) : reply.parameters;
    if (code == CTL_EXIT_OK && json)
        ctl_print_json(answer);
    else if (code == CTL_EXIT_OK)
        code = print(answer);
    client_reply_fini(&reply);
    return code;
}

/* Sets a member to the value of an option. */
static int set_word(json_t *filter, const char *name, const char *option,
                    const char *value)
{
    if (json_object_set_new(filter, name, json_string(value)) == 0)
        return 0;
    say("--%s: not UTF-8", option);
    return -EINVAL;
}

/* Appends the words of a list separated by commas. At least one is needed, as an empty
 * list would match no job where a variable was empty. */
static int add_words(json_t *filter, const char *name, const char *option,
                     const char *list)
{
    json_t *words = json_object_get(filter, name);
    if (!words) {
        words = json_array();
        if (json_object_set_new(filter, name, words) < 0)
            return -ENOMEM;
    }
    bool any = false;
    while (*list) {
        size_t len = strcspn(list, ",");
        if (len > 0 && json_array_append_new(words, json_stringn(list, len)) < 0) {
            say("--%s: not UTF-8", option);
            return -EINVAL;
        }
        any |= len > 0;
        list += len + (list[len] == ',');
    }
    if (!any)
        say("--%s: a value is needed", option);
    return any ? 0 : -EINVAL;
}

/* Sets the name; with wildcards it is a pattern. */
static int set_name(json_t *filter, const char *text)
{
    return set_word(filter, strpbrk(text, "*?[") ? "name_glob" : "name", "name", text);
}

static int add_label_name(json_t *filter, const char *name)
{
    json_t *names = json_object_get(filter, "has_labels");
    if (!names && json_object_set_new(filter, "has_labels", names = json_array()) < 0)
        return -ENOMEM;
    if (json_array_append_new(names, json_string(name)) == 0)
        return 0;
    say("--label: not UTF-8");
    return -EINVAL;
}

static int add_label(json_t *filter, const char *text)
{
    if (*text && !strchr(text, '='))
        return add_label_name(filter, text);
    json_t *labels = json_object_get(filter, "labels");
    if (!labels) {
        labels = json_object();
        if (json_object_set_new(filter, "labels", labels) < 0)
            return -ENOMEM;
    }
    struct volt_error err;
    int r = spec_build_pair(labels, text, false, &err);
    if (r < 0)
        say("--label: %s", err.text);
    return r;
}

/* Sets submitted_since_usec or submitted_until_usec. */
static int set_time(json_t *filter, const char *option, const char *text)
{
    char name[32];
    uint64_t usec;
    int r = when_parse(text, job_view_now(), &usec);
    if (r < 0) {
        say(r == -ERANGE
                ? "--%s: \"%s\" is too far away"
                : "--%s: \"%s\" is not a time such as \"2026-11-20 10:00\", -1h, "
                  "today or yesterday",
            option, text);
        return r;
    }
    (void)snprintf(name, sizeof(name), "submitted_%s_usec", option);
    (void)json_object_set_new(filter, name, json_integer((json_int_t)usec));
    json_t *since = json_object_get(filter, "submitted_since_usec");
    json_t *until = json_object_get(filter, "submitted_until_usec");
    if (!since || !until || json_integer_value(since) <= json_integer_value(until))
        return 0;
    say("--since is later than --until: nothing would match");
    return -EINVAL;
}

/* Words for --state that are no states here. */
static const struct option_elsewhere states_elsewhere[] = {
    {" failed success exit signal timeout exec_failed cancelled lost output_limit expired ",
     "--result: it is how a job has ended"},
    {" held hold pending waiting pd ",
     "--state=queued; what a job waits for is the column WAIT, and `voltctl why ID`"},
    {" active run r ", "--state=running"},
    {" ended finished completed complete dead inactive cd ", "--state=done"},
    {NULL, NULL},
};

static int add_states(json_t *filter, const char *list)
{
    char word[40];
    int n = snprintf(word, sizeof(word), " %s ", list);
    for (const struct option_elsewhere *e = states_elsewhere; e->words; e++)
        if (n < (int)sizeof(word) && !strchr(list, ' ') && strcasestr(e->words, word)) {
            say("--state: %s is no state; use %s", list, e->ours);
            return -EINVAL;
        }
    return add_words(filter, "states", "state", list);
}

int ctl_filter_take(json_t **filter, int key, const char *arg)
{
    if (key != 'u' && (key < CTL_OPT_STATE || key > CTL_OPT_UNTIL))
        return 0;
    if (!*filter)
        *filter = json_object();
    int r = 0;
    if (key == CTL_OPT_STATE)
        r = add_states(*filter, arg);
    else if (key == CTL_OPT_RESULT)
        r = add_words(*filter, "results", "result", arg);
    else if (key == CTL_OPT_FAILED)
        r = add_words(*filter, "results", "result", "failed");
    else if (key == 'u')
        r = set_word(*filter, "user", "owner", arg);
    else if (key == CTL_OPT_NAME)
        r = set_name(*filter, arg);
    else if (key == CTL_OPT_QUEUE)
        r = set_word(*filter, "queue", "queue", arg);
    else if (key == CTL_OPT_LABEL)
        r = add_label(*filter, arg);
    else if (key == CTL_OPT_SINCE)
        r = set_time(*filter, "since", arg);
    else if (key == CTL_OPT_UNTIL)
        r = set_time(*filter, "until", arg);
    else
        r = json_object_set_new(*filter, "orphans", json_true());
    return r < 0 ? r : 1;
}

bool ctl_misses_others(const struct ctl *ctl, const json_t *filter)
{
    const char *user = json_string_value(json_object_get(filter, "user"));
    char name[256], number[16];
    if (!user || ctl->choice.admin || geteuid() == 0)
        return false;
    (void)accounts_user(geteuid(), name, sizeof(name));
    (void)snprintf(number, sizeof(number), "%u", (unsigned)geteuid());
    return strcmp(user, name) != 0 && strcmp(user, number) != 0;
}

int ctl_find_queue(struct ctl *ctl, const char *name)
{
    struct client_reply reply = CLIENT_REPLY_EMPTY;
    const json_t *queue;
    int found = 0;
    size_t i;
    if (ctl_call(ctl, "org.voltd.queues.List", NULL, &reply) != CTL_EXIT_OK)
        return -1;
    json_array_foreach(json_object_get(reply.parameters, "queues"), i, queue)
    {
        found |= strcmp(job_view_string(queue, "name"), name) == 0;
    }
    client_reply_fini(&reply);
    return found;
}

bool ctl_misses_queue(struct ctl *ctl, const json_t *filter)
{
    const char *queue = json_string_value(json_object_get(filter, "queue"));
    return queue && ctl_find_queue(ctl, queue) == 0;
}

const char *ctl_none_text(struct ctl *ctl, const json_t *filter)
{
    return ctl_misses_others(ctl, filter)
               ? ": jobs of other users are for administrators, with --all-users"
           : ctl_misses_queue(ctl, filter)
               ? ": there is no such queue; `voltctl queues` lists them"
               : "";
}

bool ctl_number(const char *option, const char *text, uint64_t *ret)
{
    errno = 0;
    unsigned long long n = strtoull(text, NULL, 10);
    if (errno || !*text || text[strspn(text, "0123456789")]) {
        say("%s: %s is not a number", option, text);
        return false;
    }
    *ret = n;
    return true;
}

bool ctl_reconnect_take(struct ctl *ctl, int key, uint64_t *ret_usec)
{
    if (key != CTL_OPT_RECONNECT || duration_parse(ctl->options.arg, ret_usec) == 0)
        return true;
    (void)ctl_usage(ctl, "--reconnect: %s is not a time like 30s", ctl->options.arg);
    return false;
}
