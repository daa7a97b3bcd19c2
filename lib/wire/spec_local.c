/* See spec_local.h. */
#include "wire/spec_local.h"

static bool has_name(const json_t *object)
{
    const json_t *name = json_object_get(object, "local");

    return name && !json_is_null(name);
}

bool spec_says_local(const json_t *spec)
{
    const json_t *after = json_object_get(spec, "after"), *edge;
    size_t i;

    json_array_foreach(after, i, edge)
    {
        if (has_name(edge))
            return true;
    }
    return has_name(spec) || has_name(after);
}
