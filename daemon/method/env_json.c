/* See env_json.h. */
#include "daemon/method/env_json.h"

#include "daemon/job/env.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Packs NAME=value like pack_string(). */
static void pack_variable(struct pack *to, const char *name, const char *value)
{
    size_t n = strlen(name), m = strlen(value);

    pack_number(to, n + 1 + m);
    pack_raw(to, name, n);
    pack_raw(to, "=", 1);
    pack_raw(to, value, m);
}

static int pack_env(json_t *object, struct pack *to, struct field_error *err)
{
    const char *name;
    json_t *item;

    pack_number(to, json_object_size(object));
    json_object_foreach(object, name, item)
    {
        const char *text = field_string(item, name, err);

        if (!text)
            return -EINVAL;
        if (!name[0] || strchr(name, '='))
            return field_fail(err, name,
                              "is not a name of a variable: it must not be empty or "
                              "contain \"=\"");
        const size_t n = strlen(name) + 1 + strlen(text);
        if (n > EXEC_STRING_MOST)
            return field_fail(err, name,
                              "has %zu bytes with its name, and the kernel starts no "
                              "program with a variable of more than %zu: keep it in a file",
                              n, EXEC_STRING_MOST);
        pack_variable(to, name, text);
    }
    return 0;
}

int read_env(json_t *value, void *member, struct field_error *err)
{
    struct job_env **env = member;
    struct pack p = {0};

    if (!json_is_object(value))
        return field_fail(err, "", "must be an object of strings");
    if (*env)
        return 0;
    int r = pack_env(value, &p, err);
    if (r == 0 && !p.failed) {
        struct unpack u = unpack_of(p.bytes, p.n);
        *env = job_env_unpack(&u);
    }
    pack_fini(&p);
    return r < 0 ? r : *env ? 0 : field_no_memory(err);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int read_env_given(json_t *value, void *member, struct field_error *err)
{
    char **names;
    int r = field_strings(value, &names, err);

    if (r < 0)
        return r;
    qsort(names, json_array_size(value), sizeof(*names), by_text);
    *(char ***)member = names;
    return 0;
}
