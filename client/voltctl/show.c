/* voltctl show: prints everything about jobs as NAME=VALUE lines, or JSON. */
#include "client/job_view.h"
#include "client/say.h"
#include "client/term.h"
#include "client/voltctl/verbs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OPT_SCRIPT = OPTION_LONG };

static const struct option_entry options[] = {
    {"property", 'p', "NAME",
     "only this one, such as state or spec.name; several with commas"},
    {"script", OPT_SCRIPT, NULL,
     "only the text of the script that is stored with the job"},
    CTL_FILTER_OPTIONS,
    CTL_TIME_OPTIONS,
    CTL_JSON_OPTION,
    CTL_OPTIONS_END,
};

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

/* Writes the dotted name. Returns its length. */
static size_t whole_name(const struct prefix *p, char *buf, size_t size)
{
    size_t n = p->before ? whole_name(p->before, buf, size) : 0;
    if (n < size)
        n += (size_t)snprintf(buf + n, size - n, "%s%s", p->before ? "." : "", p->name);
    return n;
}

/* Returns whether it is one of the names or a member of one; names NULL: true. */
static bool is_asked_for(const struct prefix *p, const char *names)
{
    char name[512];
    if (!names)
        return true;
    (void)whole_name(p, name, sizeof(name));
    for (;; names++) {
        const size_t len = strcspn(names, ",");
        if (len > 0 && strncmp(name, names, len) == 0 && (!name[len] || name[len] == '.'))
            return true;
        names += len;
        if (!*names)
            return false;
    }
}

/* Prints members: nested objects as dotted names, arrays as JSON on one line. */
static void print_members(const struct prefix *before, json_t *object, const char *names)
{
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value)
    {
        const struct prefix here = {before, key};
        if (json_is_object(value)) {
            print_members(&here, value, names);
            continue;
        }
        if (!is_asked_for(&here, names))
            continue;
        if (!names && before && strcmp(key, "script") == 0) {
            term_print("spec.script_bytes=%zu\n", json_string_length(value));
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
    bool script;
    const char *names; /* NULL: all */
    json_t *filter;    /* NULL: none */
};

/* Splits the names into those of the job and those of its spec. */
static void split_names(const char *names, json_t *fields, json_t *spec_fields)
{
    for (; *names; names += *names == ',') {
        const size_t len = strcspn(names, ",");
        const bool of_spec = len > 5 && strncmp(names, "spec.", 5) == 0;
        const char *name = of_spec ? names + 5 : names;
        const bool whole = len == 4 && strncmp(names, "spec", 4) == 0;
        if (len > 0 && !whole)
            (void)json_array_append_new(of_spec ? spec_fields : fields,
                                        json_stringn(name, strcspn(name, ".,")));
        names += len;
    }
}

/* The reason may be a list of all names, which is too long for a message. */
static int bad_name(struct ctl *ctl, bool of_spec, const char *name, const char *reason)
{
    const bool is_list = strncmp(reason, "must be one of", 14) == 0;
    return ctl_usage(ctl, "--property: %s%s: %s", of_spec ? "spec." : "", name,
                     is_list ? "no job has that; without --property all is shown"
                             : reason);
}

/* Checks the names of --property by a List, as voltd knows all that jobs may have. */
static int check_names(struct ctl *ctl, const struct show *show)
{
    int code = ctl_open(ctl, ADDRESS_JOBS);
    if (code != CTL_EXIT_OK)
        return code;
    struct client_reply reply = CLIENT_REPLY_EMPTY;
    json_t *fields = json_array(), *spec_fields = json_array();
    split_names(show->names, fields, spec_fields);
    code = ctl_send(ctl, "org.voltd.jobs.List",
                    json_pack("{s:{s:[s]}, s:O, s:O}", "filter", "ids", "1", "fields",
                              fields, "spec_fields", spec_fields),
                    0);
    if (code == CTL_EXIT_OK)
        code = ctl_answer(ctl, NULL, &reply);
    const char *parameter = job_view_string(reply.parameters, "parameter");
    const char *at = strchr(parameter, '[');
    const json_t *of = strncmp(parameter, "spec_", 5) == 0 ? spec_fields : fields;
    if (client_error_is(&reply, "InvalidParameter") && at)
        code = bad_name(ctl, of == spec_fields,
                        json_string_value(json_array_get(of, strtoul(at + 1, NULL, 10))),
                        job_view_string(reply.parameters, "reason"));
    else if (reply.error && !client_error_is(&reply, "InvalidParameter"))
        code = ctl_refused(&reply); /* an older voltd may not know the parameters */
    client_reply_fini(&reply);
    json_decref(fields);
    json_decref(spec_fields);
    return code;
}

/* Prints the script byte by byte; on a terminal without control characters. */
static int print_script(const json_t *job)
{
    const json_t *script = json_object_get(json_object_get(job, "spec"), "script");
    if (!script) {
        say("job %s has no script that is stored with it: `voltctl status %s` prints its "
            "command",
            job_view_string(job, "id"), job_view_string(job, "id"));
        return CTL_EXIT_FAILED;
    }
    const char *text = json_string_value(script);
    if (term_is_tty(STDOUT_FILENO))
        term_print("%s", text);
    else /* to a file or a program, unchanged */
        term_put_clean(text, strlen(text));
    return CTL_EXIT_OK;
}

static int one(struct ctl *ctl, const char *id, void *arg)
{
    struct show *show = arg;
    struct client_reply reply = CLIENT_REPLY_EMPTY;
    int code = ctl_call(ctl, "org.voltd.jobs.Get",
                        json_pack("{s:s, s:b}", "id", id, "with_spec", 1), &reply);
    if (code != CTL_EXIT_OK)
        return code;
    json_t *job = json_object_get(reply.parameters, "job");
    if (show->any && !show->json && !show->script)
        (void)putchar('\n');
    show->any = true;
    if (show->script)
        code = print_script(job);
    else if (show->json)
        ctl_print_json(job);
    else
        print_members(NULL, job, show->names);
    client_reply_fini(&reply);
    return code;
}

static int parse(struct ctl *ctl, struct show *show)
{
    int key;
    while ((key = ctl_option(ctl)) != OPTION_END) {
        if (key == OPTION_BAD)
            return ctl->code;
        show->json |= key == CTL_OPT_JSON;
        show->script |= key == OPT_SCRIPT;
        if (key == 'p')
            show->names = ctl->options.arg;
        if (ctl_filter_take(&show->filter, key, ctl->options.arg) < 0)
            return CTL_EXIT_USAGE;
    }
    if (show->json && show->names)
        return ctl_usage(ctl, "--json prints an object with all; --property lines");
    if (show->script && (show->json || show->names))
        return ctl_usage(ctl, "--script prints the text alone");
    return OPTION_END;
}

static int run(struct ctl *ctl)
{
    struct show show = {.any = false};
    int code = parse(ctl, &show);
    if (code == OPTION_END && show.names) {
        const int checked = check_names(ctl, &show);
        code = checked == CTL_EXIT_OK ? code : checked;
    }
    if (code == OPTION_END)
        code = ctl_each_chosen(ctl, show.filter, one, &show);
    json_decref(show.filter);
    return code;
}

static const struct option_elsewhere elsewhere[] = {
    CTL_ELSEWHERE,
    {" -o --output --fields ", "--property=NAME (-p)"},
    {NULL, NULL},
};

const struct verb verb_show = {
    .name = "show",
    .operands = "[ID...]",
    .summary = "Print every property of jobs, for programs",
    .text =
        "Those that are named; of these those that match, or all that match.\n\n"
        "Lines of NAME=VALUE, with an empty line between jobs. Values are escaped like\n"
        "JSON strings: \\n, \\t, \\\\, \\u001b. With --json one object a line; what was\n"
        "submitted is in its member spec. Of a script that is stored with its job the\n"
        "lines have the size, spec.script_bytes.\n",
    .options = options,
    .elsewhere = elsewhere,
    .run = run,
};
