/* voltctl show: everything about jobs as NAME=VALUE lines, or JSON. */
#include "client/term.h"
#include "client/voltctl/verbs.h"

#include <stdio.h>
#include <stdlib.h>

static const struct option_entry options[] = {CTL_JSON_OPTION, CTL_OPTIONS_END};

struct prefix {
    const struct prefix *before;
    const char *name;
};

static void print_name(const struct prefix *p)
{
    if (p->before) {
        print_name(p->before);
        (void)putchar('.');
    }
    term_put_escaped(p->name, false, '=');
}

/* Nested objects become dotted names; arrays stay JSON on one line. */
static void print_members(const struct prefix *before, json_t *object)
{
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value)
    {
        const struct prefix here = {before, key};
        if (json_is_object(value)) {
            print_members(&here, value);
            continue;
        }
        char *text = json_is_string(value)
                         ? NULL
                         : json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
        print_name(&here);
        (void)putchar('=');
        term_put_escaped(text ? text : json_string_value(value), text != NULL, '\0');
        (void)putchar('\n');
        free(text);
    }
}

struct show {
    bool json, any; /* something was printed */
};

static int one(struct ctl *ctl, const char *id, void *arg)
{
    struct show *show = arg;
    struct client_reply reply = CLIENT_REPLY_EMPTY;
    int code = ctl_call(ctl, "org.voltd.jobs.Get",
                        json_pack("{s:s, s:b}", "id", id, "with_spec", 1), &reply);
    if (code != CTL_EXIT_OK)
        return code;
    json_t *job = json_object_get(reply.parameters, "job");
    if (show->any && !show->json)
        (void)putchar('\n');
    show->any = true;
    if (show->json)
        ctl_print_json(job);
    else
        print_members(NULL, job);
    client_reply_fini(&reply);
    return code;
}

static int run(struct ctl *ctl)
{
    struct show show = {.any = false};
    if (!ctl_json_only(ctl, &show.json))
        return ctl->code;
    return ctl_each_id(ctl, one, &show);
}

const struct verb verb_show = {
    .name = "show",
    .operands = "ID...",
    .summary = "Print every property of jobs, for programs",
    .text =
        "Lines of NAME=VALUE, with an empty line between jobs. Values are escaped like\n"
        "JSON strings: \\n, \\t, \\\\, \\u001b. With --json one object a line; what was\n"
        "submitted is in its member spec.\n",
    .options = options,
    .run = run,
};
