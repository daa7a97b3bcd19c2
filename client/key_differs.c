/* See key_differs.h. voltd knows by a hash that two specs differ; the job's own spec
 * shows how. A member that voltd leaves out of an answer has its default. */
#include "client/key_differs.h"
#include "client/job_view.h"
#include "client/limit_options.h"
#include "client/say.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAID_MOST = 3, VALUE_MOST = 60 };

struct differing {
    const char *id;
    unsigned said;
};

static bool is_default(const json_t *value)
{
    static const char *const words[] = {"",     "exec", "default", "tree",
                                        "file", "fail", "append",  "SIGTERM"};
    const char *text = json_string_value(value);
    for (size_t i = 0; text && i < sizeof(words) / sizeof(*words); i++)
        if (strcmp(text, words[i]) == 0)
            return true;
    return !value || json_is_false(value) || json_is_null(value) ||
           (json_is_integer(value) && json_integer_value(value) == 0) ||
           (json_is_object(value) && json_object_size(value) == 0);
}

static void put_value(char buf[VALUE_MOST], const json_t *value)
{
    char *text =
        value ? json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_SORT_KEYS) : NULL;
    (void)snprintf(buf, VALUE_MOST, "%s", text ? text : "nothing");
    free(text);
}

/* Reduces two scripts to their first line that differs. */
static void skip_same_lines(const json_t **ours, const json_t **theirs, char *path,
                            size_t size, json_t *held[2])
{
    const char *a = json_string_value(*ours), *b = json_string_value(*theirs);
    unsigned line = 1;
    for (size_t len; a && b; a += len + 1, b += len + 1, line++) {
        len = strcspn(a, "\n");
        if (strncmp(a, b, len + 1) != 0 || !a[len])
            break;
    }
    if (!a || !b)
        return;
    (void)snprintf(path, size, "script, line %u", line);
    *ours = held[0] = json_stringn(a, strcspn(a, "\n"));
    *theirs = held[1] = json_stringn(b, strcspn(b, "\n"));
}

static void compare(struct differing *d, const char *path, const json_t *ours,
                    const json_t *theirs)
{
    char here[VALUE_MOST], there[VALUE_MOST];
    if (json_equal(ours, theirs) || (is_default(ours) && is_default(theirs)) ||
        d->said++ >= SAID_MOST)
        return;
    char place[40];
    json_t *held[2] = {NULL, NULL};
    (void)snprintf(place, sizeof(place), "%s", path);
    if (strcmp(path, "script") == 0)
        skip_same_lines(&ours, &theirs, place, sizeof(place), held);
    put_value(here, ours);
    put_value(there, theirs);
    say("%s: %s here, %s in job %s", *held ? place : path, here, there, d->id);
    json_decref(held[0]);
    json_decref(held[1]);
}

/* Returns whether the member is compared: not if it belongs to the submission or its
 * place. */
static bool is_compared(const char *name)
{
    static const char *const others[] = {"key",   "on_exists", "local", "env",
                                         "umask", "env_given", "limits"};
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
        if (strcmp(name, others[i]) == 0)
            return false;
    return true;
}

static bool has(const json_t *names, const json_t *name)
{
    const json_t *one;
    size_t i;
    json_array_foreach(names, i, one)
    {
        if (json_equal(one, name))
            return true;
    }
    return false;
}

/* Compares the variables of these names that are not in `but`. */
static void compare_variables(struct differing *d, const json_t *names, const json_t *but,
                              const json_t *ours, const json_t *theirs)
{
    const json_t *name;
    size_t i;
    json_array_foreach(names, i, name)
    {
        const char *text = json_string_value(name);
        char path[80];
        if (has(but, name))
            continue;
        (void)snprintf(path, sizeof(path), "env.%.70s", text);
        compare(d, path, json_object_get(ours, text), json_object_get(theirs, text));
    }
}

/* Compares members of our spec, or members only in the other one. */
static void compare_members(struct differing *d, const json_t *of, const json_t *ours,
                            const json_t *theirs)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)of, name, value)
    {
        if (is_compared(name) && (of == ours || !json_object_get(ours, name)))
            compare(d, name, json_object_get(ours, name), json_object_get(theirs, name));
    }
}

/* Compares limits of the cgroup: rlimits belong to the place of submission. */
static void compare_limits(struct differing *d, const json_t *ours, const json_t *theirs)
{
    char path[40];
    for (size_t i = 0; limit_member_at(i); i++) {
        const char *name = limit_member_at(i);
        (void)snprintf(path, sizeof(path), "limits.%s", name);
        compare(d, path, json_object_get(ours, name), json_object_get(theirs, name));
    }
}

void key_differs_say(struct client *c, const json_t *spec, const char *id)
{
    struct client_reply reply = CLIENT_REPLY_EMPTY;
    struct differing d = {id, 0};
    int r = client_call(c, "org.voltd.jobs.Get",
                        json_pack("{s:s, s:b}", "id", id, "with_spec", 1), &reply);
    const json_t *job = json_object_get(reply.parameters, "job");
    const json_t *theirs = json_object_get(job, "spec");
    if (r == 0 && theirs) {
        const json_t *env = json_object_get(spec, "env");
        const json_t *other = json_object_get(theirs, "env");
        compare_members(&d, spec, spec, theirs);
        compare_members(&d, theirs, spec, theirs);
        compare_limits(&d, json_object_get(spec, "limits"),
                       json_object_get(theirs, "limits"));
        const json_t *given = json_object_get(spec, "env_given");
        compare_variables(&d, given, NULL, env, other);
        compare_variables(&d, json_object_get(theirs, "env_given"), given, env, other);
    }
    client_reply_fini(&reply);
}
