/* Field tables: a JSON object fills a struct, or yields one message that names the field.
 *
 * A table per object lists each field's name, type, place in the struct, bounds, and
 * whether it is required. null counts as absent. A field that is not in the table is an
 * error; a reader of another program's answers, which may grow, can ignore such fields.
 *
 *     static const struct field range_fields[] = {
 *         FIELD(struct range, first, FIELD_INT, .required = true, .max = 1000),
 *         FIELD(struct range, last, FIELD_INT, .required = true, .max = 1000),
 *         {NULL},
 *     };
 *     struct field_error err;
 *     if (fields_read(range_fields, object, 0, &range, &err) < 0)
 *         ... err.path is "last", err.reason is "must be an integer from 0 to 1000"
 *
 * Values are written into the struct as they are read. So set the struct to its defaults
 * first; after an error it holds the values read before it. Its owner frees it in the
 * same way in both cases. At most 64 fields per table. */
#ifndef VOLT_WIRE_FIELDS_H
#define VOLT_WIRE_FIELDS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum field_type {
    FIELD_BOOL = 0, /* bool */
    FIELD_INT,      /* any integer type, by its size; min <= value <= max */
    FIELD_STRING,   /* const char *, borrowed from the JSON value */
    FIELD_STRDUP,   /* char *, a copy for free(); the old value is freed */
    FIELD_STRINGS,  /* char **, NULL-terminated copies, for field_strings_free() */
    FIELD_ENUM,     /* unsigned or enum: index in names */
    FIELD_SET,      /* uint64_t: an array of names, a bit for each */
    FIELD_STRUCT,   /* a struct inside the struct, by the table `fields` */
    FIELD_OBJECT,   /* json_t *, borrowed; an object */
    FIELD_ARRAY,    /* json_t *, borrowed; an array of at most max entries */
    FIELD_CUSTOM,   /* whatever `read` does with the value */
};

struct field_error {
    char path[160];   /* "spec.array.first", "ids[3]" */
    char reason[256]; /* "must be ...": behind the path it makes a sentence */
    int code;         /* -EINVAL; -ENOMEM: not the sender's fault */
};

struct field {
    const char *name;
    enum field_type type;
    size_t offset, size;
    bool required;
    size_t present; /* FIELD_PRESENT(struct, member): a bool set when it was given */
    int64_t min;    /* INT: value. Strings: bytes. STRINGS, ARRAY: entries */
    int64_t max;    /* the same; 0: no bound, for INT only if both are 0 */
    const char *const *names;   /* ENUM, SET: NULL-terminated */
    const struct field *fields; /* STRUCT */
    const char *example;        /* STRUCT: a value, for the message; NULL: none */
    /* CUSTOM: returns 0, or field_fail(). member: its address in the struct. */
    int (*read)(json_t *value, void *member, struct field_error *err);
};

#define FIELD(type_, member_, ...) FIELD_AS(type_, member_, #member_, __VA_ARGS__)
#define FIELD_AS(type_, member_, name_, ...)                                             \
    {                                                                                    \
        .name = (name_), .offset = offsetof(type_, member_),                             \
        .size = sizeof(((type_ *)0)->member_), .type = __VA_ARGS__                       \
    }
#define FIELD_PRESENT(type_, member_) (offsetof(type_, member_) + 1)

enum {
    FIELDS_IGNORE_UNKNOWN = 1 << 0,
};

/* Fills *out from object (NULL: an empty one). Returns 0; -EINVAL or -ENOMEM with *err
 * set. */
int fields_read(const struct field *table, json_t *object, unsigned flags, void *out,
                struct field_error *err);

/* Sets an error, for custom readers. path follows the field's own name: "", "[3]" or
 * "key". Returns -EINVAL. */
__attribute__((format(printf, 3, 4))) int
field_fail(struct field_error *err, const char *path, const char *format, ...);
/* Reads an integer in any spelling: R and PHP write 6e+07, Python 60000000.0, and JSON
 * has one kind of number. Returns false if the value is no whole number. */
bool field_whole_number(const json_t *value, int64_t *ret);
int field_no_memory(struct field_error *err); /* returns -ENOMEM */
/* Puts a name in front of the path of an error. */
void field_prefix(struct field_error *err, const char *name);

/* Returns the text of a JSON string without NUL inside, borrowed; NULL after setting the
 * error. */
const char *field_string(json_t *value, const char *path, struct field_error *err);

/* Copies an array of such strings; *ret is for field_strings_free(). Returns 0, or the
 * error. */
int field_strings(json_t *value, char ***ret, struct field_error *err);
void field_strings_free(char **strings); /* NULL allowed */

#endif
