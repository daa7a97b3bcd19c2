/* See fields.h. */
#include "wire/fields.h"
#include "wire/suggest.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIELDS_MOST 64 /* fields of one table: bits of a word */

int field_fail(struct field_error *err, const char *path, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)vsnprintf(err->reason, sizeof(err->reason), format, args);
    va_end(args);
    (void)snprintf(err->path, sizeof(err->path), "%s", path);
    err->code = -EINVAL;
    return -EINVAL;
}

int field_no_memory(struct field_error *err)
{
    (void)field_fail(err, "", "there is not enough memory");
    err->code = -ENOMEM;
    return -ENOMEM;
}

void field_prefix(struct field_error *err, const char *name)
{
    char path[sizeof(err->path)];
    const char *dot = err->path[0] && err->path[0] != '[' ? "." : "";

    (void)snprintf(path, sizeof(path), "%s%s%.100s", name, dot, err->path);
    memcpy(err->path, path, sizeof(path));
}

/* Appends to reason; a text that does not fit is cut. */
__attribute__((format(printf, 2, 3))) static void add(struct field_error *err,
                                                      const char *format, ...)
{
    size_t len = strlen(err->reason);
    va_list args;

    va_start(args, format);
    (void)vsnprintf(err->reason + len, sizeof(err->reason) - len, format, args);
    va_end(args);
}

static int fail_names(struct field_error *err, const char *path, const char *const *names,
                      const json_t *value)
{
    const char *given = json_string_value(value);
    const char *near = given ? suggest(given, names) : NULL;

    if (near)
        return field_fail(err, path, "\"%s\" is not known here; did you mean %s?", given,
                          near);
    (void)field_fail(err, path, "must be one of");
    for (size_t i = 0; names[i]; i++)
        add(err, "%s \"%s\"", i ? "," : "", names[i]);
    return -EINVAL;
}

static int fail_unknown(struct field_error *err, const char *name,
                        const struct field *table)
{
    const char *names[FIELDS_MOST + 1] = {NULL}, *near;

    for (size_t n = 0; table[n].name && n < FIELDS_MOST; n++)
        names[n] = table[n].name;
    near = suggest(name, names);
    if (near)
        return field_fail(err, name, "is not known here; did you mean %s?", near);
    if (!names[0])
        return field_fail(err, name, "is not known here; there are no fields");
    (void)field_fail(err, name, "is not known here; known are:");
    for (size_t n = 0; names[n]; n++) {
        size_t room = sizeof(err->reason) - strlen(err->reason);
        bool last = !names[n + 1];

        if (strlen(names[n]) + strlen(last ? ", " : ", , ...") >= room) {
            add(err, ", ...");
            break;
        }
        add(err, "%s %s", n == 0 ? "" : ",", names[n]);
    }
    return -EINVAL;
}

const char *field_string(json_t *value, const char *path, struct field_error *err)
{
    const char *s = json_string_value(value);

    if (!s) {
        (void)field_fail(err, path, "must be a string");
        return NULL;
    }
    if (strlen(s) != json_string_length(value)) {
        (void)field_fail(err, path, "must not contain the character NUL (\\u0000)");
        return NULL;
    }
    return s;
}

void field_strings_free(char **strings)
{
    if (!strings)
        return;
    for (char **s = strings; *s; s++)
        free(*s);
    free(strings);
}

#define WHOLE_MOST ((double)(INT64_C(1) << 53)) /* a double holds all up to here */

bool field_whole_number(const json_t *value, int64_t *ret)
{
    const double real = json_real_value(value);

    if (json_is_integer(value)) {
        *ret = json_integer_value(value);
        return true;
    }
    if (!json_is_real(value) || real < -WHOLE_MOST || real > WHOLE_MOST ||
        (double)(int64_t)real != real)
        return false;
    *ret = (int64_t)real;
    return true;
}

static int read_int(const struct field *f, json_t *value, void *member,
                    struct field_error *err)
{
    bool bounded = f->min != 0 || f->max != 0;
    int64_t v;

    if (!field_whole_number(value, &v) || (bounded && (v < f->min || v > f->max))) {
        if (bounded)
            return field_fail(err, "", "must be an integer from %lld to %lld",
                              (long long)f->min, (long long)f->max);
        return field_fail(err, "", "must be an integer of 64 bits");
    }
    switch (f->size) {
    case 1:
        *(uint8_t *)member = (uint8_t)v;
        break;
    case 2:
        *(uint16_t *)member = (uint16_t)v;
        break;
    case 4:
        *(uint32_t *)member = (uint32_t)v;
        break;
    default:
        assert(f->size == 8);
        *(uint64_t *)member = (uint64_t)v;
    }
    return 0;
}

static const char *checked_string(const struct field *f, json_t *value,
                                  struct field_error *err)
{
    const char *s = field_string(value, "", err);
    size_t len = s ? json_string_length(value) : 0;

    if (s && f->min > 0 && len < (size_t)f->min) {
        if (f->min == 1)
            (void)field_fail(err, "", "must not be empty");
        else
            (void)field_fail(err, "", "must have at least %lld bytes", (long long)f->min);
        return NULL;
    }
    if (s && f->max > 0 && len > (size_t)f->max) {
        (void)field_fail(err, "", "must have at most %lld bytes", (long long)f->max);
        return NULL;
    }
    return s;
}

static int read_string(const struct field *f, json_t *value, void *member,
                       struct field_error *err)
{
    const char *s = checked_string(f, value, err);

    if (!s)
        return -EINVAL;
    if (f->type == FIELD_STRING) {
        *(const char **)member = s;
        return 0;
    }
    char *copy = strdup(s);
    if (!copy)
        return field_no_memory(err);
    free(*(char **)member);
    *(char **)member = copy;
    return 0;
}

static int check_array(const struct field *f, json_t *value, struct field_error *err)
{
    size_t n = json_array_size(value);

    if (!json_is_array(value))
        return field_fail(err, "", "must be an array");
    if (n < (size_t)f->min)
        return field_fail(err, "",
                          f->min == 1 ? "must not be empty" : "must have more entries");
    if (f->max > 0 && n > (size_t)f->max)
        return field_fail(err, "", "must have at most %lld entries, not %zu",
                          (long long)f->max, n);
    return 0;
}

int field_strings(json_t *value, char ***ret, struct field_error *err)
{
    size_t n = json_array_size(value);
    char **strings;

    if (!json_is_array(value))
        return field_fail(err, "", "must be an array of strings");
    strings = calloc(n + 1, sizeof(*strings));
    if (!strings)
        return field_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        const char *s = field_string(json_array_get(value, i), "", err);

        strings[i] = s ? strdup(s) : NULL;
        if (!strings[i]) {
            char path[32];

            field_strings_free(strings);
            if (s)
                return field_no_memory(err);
            (void)snprintf(path, sizeof(path), "[%zu]", i);
            field_prefix(err, path);
            return -EINVAL;
        }
    }
    *ret = strings;
    return 0;
}

static int read_strings(const struct field *f, json_t *value, void *member,
                        struct field_error *err)
{
    char **strings;
    int r = check_array(f, value, err);

    if (r == 0)
        r = field_strings(value, &strings, err);
    if (r < 0)
        return r;
    field_strings_free(*(char ***)member);
    *(char ***)member = strings;
    return 0;
}

/* Returns the index of the name, or -1. */
static int find_name(const char *const *names, json_t *value)
{
    const char *s = json_string_value(value);

    for (int i = 0; s && names[i]; i++) {
        if (strcmp(names[i], s) == 0)
            return i;
    }
    return -1;
}

static int read_enum(const struct field *f, json_t *value, void *member,
                     struct field_error *err)
{
    int i = find_name(f->names, value);

    if (i < 0)
        return fail_names(err, "", f->names, value);
    assert(f->size == sizeof(unsigned));
    *(unsigned *)member = (unsigned)i;
    return 0;
}

static int read_set(const struct field *f, json_t *value, void *member,
                    struct field_error *err)
{
    uint64_t bits = 0;
    json_t *item;
    size_t n;

    if (!json_is_array(value))
        return field_fail(err, "", "must be an array of names");
    json_array_foreach(value, n, item)
    {
        int i = find_name(f->names, item);
        if (i < 0) {
            char path[32];
            (void)snprintf(path, sizeof(path), "[%zu]", n);
            return fail_names(err, path, f->names, item);
        }
        bits |= UINT64_C(1) << i;
    }
    assert(f->size == sizeof(bits));
    *(uint64_t *)member = bits;
    return 0;
}

static int read_json(const struct field *f, json_t *value, void *member,
                     struct field_error *err)
{
    if (f->type == FIELD_ARRAY && check_array(f, value, err) < 0)
        return -EINVAL;
    if (f->type == FIELD_OBJECT && !json_is_object(value))
        return field_fail(err, "", "must be an object");
    *(json_t **)member = value;
    return 0;
}

static int read_one(const struct field *f, json_t *value, unsigned flags, void *out,
                    struct field_error *err)
{
    void *member = (char *)out + f->offset;

    switch (f->type) {
    case FIELD_BOOL:
        if (!json_is_boolean(value))
            return field_fail(err, "", "must be true or false");
        *(bool *)member = json_is_true(value);
        return 0;
    case FIELD_INT:
        return read_int(f, value, member, err);
    case FIELD_STRING:
    case FIELD_STRDUP:
        return read_string(f, value, member, err);
    case FIELD_STRINGS:
        return read_strings(f, value, member, err);
    case FIELD_ENUM:
        return read_enum(f, value, member, err);
    case FIELD_SET:
        return read_set(f, value, member, err);
    case FIELD_STRUCT:
        if (!json_is_object(value))
            return field_fail(err, "", "must be an object%s%s",
                              f->example ? ", such as " : "",
                              f->example ? f->example : "");
        return fields_read(f->fields, value, flags, member, err);
    case FIELD_OBJECT:
    case FIELD_ARRAY:
        return read_json(f, value, member, err);
    case FIELD_CUSTOM:
        return f->read(value, member, err);
    }
    return field_fail(err, "", "has a type that nobody knows");
}

int fields_read(const struct field *table, json_t *object, unsigned flags, void *out,
                struct field_error *err)
{
    uint64_t seen = 0;
    const char *key;
    json_t *value;

    /* Loops over the object's keys, not over the table: most fields of a spec are
     * absent. */
    json_object_foreach(object, key, value)
    {
        const struct field *f = table;
        int r;

        while (f->name && strcmp(f->name, key) != 0)
            f++;
        if (!f->name) {
            if (flags & FIELDS_IGNORE_UNKNOWN)
                continue;
            return fail_unknown(err, key, table);
        }
        if (json_is_null(value))
            continue;
        assert(f - table < FIELDS_MOST);
        seen |= UINT64_C(1) << (f - table);
        r = read_one(f, value, flags, out, err);
        if (r < 0) {
            field_prefix(err, f->name);
            return r;
        }
        if (f->present)
            *((bool *)out + f->present - 1) = true;
    }
    for (const struct field *f = table; f->name; f++) {
        if (f->required && !(seen & UINT64_C(1) << (f - table)))
            return field_fail(err, f->name, "is missing");
    }
    return 0;
}
