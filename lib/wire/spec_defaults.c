/* See spec_defaults.h. */
#include "wire/spec_defaults.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Compares names, the first byte first: this runs often for each spec of a batch. */
static bool is(const char *field, const char *name)
{
    return field[0] == name[0] && strcmp(field, name) == 0;
}

static bool is_of_process(const char *field)
{
    static const char *const fields[] = {"env", "env_adds", "env_given", "cwd", "umask", "limits"};
    size_t i = 0;

    while (i < sizeof(fields) / sizeof(*fields) && !is(field, fields[i]))
        i++;
    return i < sizeof(fields) / sizeof(*fields);
}

static bool is_merged(const char *field)
{
    return is(field, "env") || is(field, "labels") || is(field, "limits") ||
           is(field, "rlimits");
}

/* Merges two objects, and the objects inside that are merged by name. */
static int merge(json_t *own, json_t *defaults)
{
    const char *field;
    json_t *value;

    json_object_foreach(defaults, field, value)
    {
        json_t *mine = json_object_get(own, field);

        if (!mine && json_object_set(own, field, value) < 0)
            return -ENOMEM;
        if (mine && is_merged(field) && json_is_object(mine) && json_is_object(value) &&
            !json_object_get(mine, "*") && json_object_update_missing(mine, value) < 0)
            return -ENOMEM;
    }
    return 0;
}

/* Sets env_given to the names in that of the defaults and the names in the spec's own
 * env, which a user has written too. */
static int merge_given(json_t *spec, const json_t *defaults)
{
    const json_t *theirs = json_object_get(defaults, "env_given");
    json_t *own = json_object_get(spec, "env"), *value;
    const char *name;

    if (!theirs || json_object_get(spec, "env_given") || !json_is_object(own))
        return 0;
    json_t *given = json_copy((json_t *)(uintptr_t)theirs);
    int r = given ? json_object_set_new(spec, "env_given", given) : -1;

    json_object_foreach(own, name, value)
    {
        if (r == 0)
            r = json_array_append_new(given, json_string(name));
    }
    return r < 0 ? -ENOMEM : 0;
}

int spec_add_defaults(json_t *spec, const json_t *defaults)
{
    const char *kind = json_string_value(json_object_get(spec, "kind"));
    bool process = !kind || strcmp(kind, "exec") == 0;
    const char *field;
    json_t *value;

    int r = process ? merge_given(spec, defaults) : 0;

    json_object_foreach((json_t *)(uintptr_t)defaults, field, value)
    {
        if (r < 0)
            break;
        if (!process && is_of_process(field))
            continue;
        json_t *own = json_object_get(spec, field);
        if (!own || json_is_null(own))
            r = json_object_set(spec, field, value) < 0 ? -ENOMEM : 0;
        else if (json_is_object(own) && json_is_object(value) && is_merged(field))
            r = merge(own, value);
    }
    return r;
}
