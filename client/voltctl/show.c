/* voltctl show: everything about jobs as NAME=VALUE lines, or JSON. */
#include "client/voltctl/verbs.h"

#include <stdio.h>
#include <stdlib.h>

static const struct option_entry options[] = {CTL_JSON_OPTION, CTL_OPTIONS_END};

/* Nested objects become dotted names; arrays stay JSON on one line. */
static void print_members(const char *prefix, json_t *object)
{
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value)
    {
        char name[256];
        (void)snprintf(name, sizeof(name), "%s%s%s", prefix, *prefix ? "." : "", key);
        if (json_is_object(value)) {
            print_members(name, value);
            continue;
        }
        char *text = json_is_string(value)
                         ? NULL
                         : json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
        (void)printf("%s=", name);
        const char *c = text ? text : json_string_value(value);
        for (; c && *c; c++) { /* a value stays on its line */
            if (*c == '\n')
                (void)fputs("\\n", stdout);
            else
                (void)putchar(*c);
        }
        (void)putchar('\n');
        free(text);
    }
}

static int one(struct ctl *ctl, const char *id, bool json)
{
    struct client_reply reply = CLIENT_REPLY_EMPTY;
    int code = ctl_call(ctl, "org.voltd.jobs.Get",
                        json_pack("{s:s, s:b}", "id", id, "with_spec", 1), &reply);
    json_t *job = json_object_get(reply.parameters, "job");
    if (code == CTL_EXIT_OK && json)
        ctl_print_json(job);
    else if (code == CTL_EXIT_OK)
        print_members("", job);
    client_reply_fini(&reply);
    return code;
}

static int run(struct ctl *ctl)
{
    int key;
    bool json = false;
    while ((key = ctl_option(ctl)) != OPTION_END) {
        if (key == OPTION_BAD)
            return ctl->code;
        json |= key == CTL_OPT_JSON;
    }
    char **ids;
    int n = ctl_ids(ctl, 1, &ids);
    if (n < 0)
        return CTL_EXIT_USAGE;
    int worst = ctl_open(ctl, ADDRESS_JOBS);
    for (int i = 0; i < n && worst != CTL_EXIT_NO_DAEMON; i++) {
        if (i > 0 && !json)
            (void)putchar('\n');
        int code = one(ctl, ids[i], json);
        worst = code > worst ? code : worst;
    }
    return worst;
}

const struct verb verb_show = {
    .name = "show",
    .operands = "ID...",
    .summary = "Print every property of jobs, for programs",
    .text =
        "Lines of NAME=VALUE, with an empty line between jobs; with --json one object\n"
        "a line, what was submitted in its member spec.\n",
    .options = options,
    .run = run,
};
