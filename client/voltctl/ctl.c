/* Shared parts of voltctl; see ctl.h. */
#include "client/voltctl/ctl.h"
#include "client/say.h"
#include "client/spec_build.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct option_entry help_option[] = {
    {"help", 'h', NULL, "this text"},
    {NULL, 0, NULL, NULL},
};

int ctl_option(struct ctl *ctl)
{
    const struct option_entry *const tables[] = {ctl->verb->options, options_connection,
                                                 help_option, NULL};
    if (!ctl->options.started)
        ctl->options = (struct options){.argc = ctl->argc, .argv = ctl->argv};
    ctl->options.tables = tables;
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

int ctl_operands(const struct ctl *ctl, char ***ret)
{
    *ret = ctl->argv + optind;
    return ctl->argc - optind;
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
    (void)printf("Usage: voltctl %s [OPTIONS]%s%s\n%s.\n", verb->name,
                 *verb->operands ? " " : "", verb->operands, verb->summary);
    if (*verb->text)
        (void)printf("\n%s", verb->text);
    (void)puts("\nOptions:");
    options_print(verb->options);
    options_print(options_connection);
    options_print(help_option);
    (void)puts("\nExit codes: 0 done, 1 failed, 2 usage, 3 no voltd, 4 no such job.");
}

int ctl_open(struct ctl *ctl, enum address_endpoint which)
{
    struct client_tried tried;
    client_free(ctl->client);
    ctl->client = NULL;
    if (client_open(&ctl->choice, which, &ctl->client, &tried) == 0)
        return CTL_EXIT_OK;
    say_no_daemon(&tried);
    return CTL_EXIT_NO_DAEMON;
}

int ctl_refused(const struct client_reply *reply)
{
    say_error(reply);
    return client_error_is(reply, "NoSuchJob") ? CTL_EXIT_NO_SUCH_JOB : CTL_EXIT_FAILED;
}

int ctl_lost(int r)
{
    say_lost(r);
    return CTL_EXIT_FAILED;
}

int ctl_call(struct ctl *ctl, const char *method, json_t *parameters,
             struct client_reply *ret)
{
    struct client_reply reply = CLIENT_REPLY_EMPTY;
    int r = client_call(ctl->client, method, parameters, &reply);
    int code = r < 0 ? ctl_lost(r) : reply.error ? ctl_refused(&reply) : CTL_EXIT_OK;
    if (code == CTL_EXIT_OK)
        *ret = reply;
    else
        client_reply_fini(&reply);
    return code;
}

void ctl_print_json(const json_t *value)
{
    (void)json_dumpf(value, stdout, JSON_COMPACT);
    (void)putchar('\n');
}

/* Appends the words of a list with commas. */
static int add_words(json_t *filter, const char *name, const char *list)
{
    json_t *words = json_object_get(filter, name);
    if (!words) {
        words = json_array();
        if (json_object_set_new(filter, name, words) < 0)
            return -ENOMEM;
    }
    while (*list) {
        size_t len = strcspn(list, ",");
        if (len > 0 && json_array_append_new(words, json_stringn(list, len)) < 0)
            return -EINVAL;
        list += len + (list[len] == ',');
    }
    return 0;
}

static int add_label(json_t *filter, const char *text)
{
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

int ctl_filter_take(json_t **filter, int key, const char *arg)
{
    if (key < CTL_OPT_STATE || key > CTL_OPT_ORPHANS)
        return 0;
    if (!*filter)
        *filter = json_object();
    int r = 0;
    if (key == CTL_OPT_STATE)
        r = add_words(*filter, "states", arg);
    else if (key == CTL_OPT_RESULT)
        r = add_words(*filter, "results", arg);
    else if (key == CTL_OPT_NAME)
        r = json_object_set_new(*filter, "name", json_string(arg));
    else if (key == CTL_OPT_QUEUE)
        r = json_object_set_new(*filter, "queue", json_string(arg));
    else if (key == CTL_OPT_LABEL)
        r = add_label(*filter, arg);
    else
        r = json_object_set_new(*filter, "orphans", json_true());
    return r < 0 ? r : 1;
}

json_t *ctl_ids(char *const *ids, int n)
{
    json_t *list = json_array();
    for (int i = 0; i < n; i++)
        (void)json_array_append_new(list, json_string(ids[i]));
    return list;
}

bool ctl_number(const char *option, const char *text, uint64_t *ret)
{
    char *end;
    errno = 0;
    unsigned long long n = strtoull(text, &end, 10);
    if (errno || end == text || *end || *text == '-') {
        say("%s: %s is not a number", option, text);
        return false;
    }
    *ret = n;
    return true;
}
