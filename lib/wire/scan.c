/* See scan.h. */
#include "wire/scan.h"

#include <endian.h>
#include <string.h>

enum { /* struct scan.key: the field whose value comes next */
       KEY_OTHER = 0,
       KEY_METHOD,
       KEY_ONEWAY,
       KEY_PARAMETERS,
       KEY_LIST,   /* a parameter, the list */
       KEY_HOLDER, /* a parameter, the holder */
       KEY_OBJECT, /* first of limits.objects in the holder; the others follow */
};

static const struct scan_bounds *bounds(const struct scan *s, const struct scan_limits *l)
{
    return s->large ? &l->large : &l->usual;
}

/* Returns whether the scan is among the fields of the header, the parameters, or the
 * holder. */
static bool among_fields(const struct scan *s)
{
    return s->depth == 1 || (s->depth == 2 && s->in_parameters) ||
           (s->depth == 3 && s->in_holder);
}

static bool is(const struct scan *s, const char *name)
{
    return name && strcmp(s->text, name) == 0;
}

static uint8_t key_of(const struct scan *s, const struct scan_limits *l)
{
    const char *list = s->large ? l->large_list : l->usual_list;

    for (uint8_t i = 0; s->depth == 3 && i < SCAN_OBJECTS; i++)
        if (is(s, l->objects[i]))
            return (uint8_t)(KEY_OBJECT + i);
    if (s->depth == 3)
        return KEY_OTHER;
    if (s->depth == 2)
        return is(s, list) ? KEY_LIST : is(s, l->holder) ? KEY_HOLDER : KEY_OTHER;
    if (is(s, "method"))
        return KEY_METHOD;
    if (is(s, "oneway"))
        return KEY_ONEWAY;
    return is(s, "parameters") ? KEY_PARAMETERS : KEY_OTHER;
}

/* Handles the end of a string among the fields; s->text has the string. */
static void field_string(struct scan *s, const struct scan_limits *l)
{
    bool fits = s->length < sizeof(s->text);

    s->text[fits ? s->length : sizeof(s->text) - 1] = '\0';
    if (!s->value) {
        s->key = fits ? key_of(s, l) : KEY_OTHER;
    } else if (s->key == KEY_METHOD && l->large_method) {
        s->large = fits && strcmp(s->text, l->large_method) == 0;
    }
}

#define ONES        UINT64_C(0x0101010101010101)
#define TOPS        UINT64_C(0x8080808080808080)
#define QUOTES      UINT64_C(0x2222222222222222)
#define BACKSLASHES UINT64_C(0x5c5c5c5c5c5c5c5c)

/* Sets the top bit of bytes that are 0. The lowest set bit belongs to the first of
 * them. */
static uint64_t zeros(uint64_t bytes)
{
    return (bytes - ONES) & ~bytes & TOPS;
}

/* Returns how many bytes at least are plain text of a string. Looks at eight at a
 * time. */
static size_t plain_bytes(const char *bytes, size_t len)
{
    size_t i = 0;
    uint64_t eight;

    for (; len - i >= sizeof(eight); i += sizeof(eight)) {
        memcpy(&eight, bytes + i, sizeof(eight));
        eight = le64toh(eight);
        uint64_t other =
            zeros(eight ^ QUOTES) | zeros(eight ^ BACKSLASHES) | zeros(eight);
        if (other)
            return i + (size_t)__builtin_ctzll(other) / 8;
    }
    return i;
}

/* Keeps text of a string among the fields. */
static void keep_text(struct scan *s, const char *bytes, size_t n)
{
    const size_t room = sizeof(s->text) - s->length;

    n = n < room ? n : room;
    memcpy(s->text + s->length, bytes, n);
    s->length += n;
}

/* Scans one byte of a string. Returns whether it was the last. */
static bool scan_text(struct scan *s, char c)
{
    if (s->escaped)
        s->escaped = false;
    else if (c == '\\')
        s->escaped = true;
    else if (c == '"')
        return true;
    return false;
}

/* Scans a string to its end, the end of the bytes, or a NUL, whichever comes first.
 * Returns the bytes used, without the NUL. */
static size_t scan_string(struct scan *s, const struct scan_limits *l, const char *bytes,
                          size_t len)
{
    const bool of_field = among_fields(s);
    size_t i = 0;

    for (;; i++) {
        const size_t plain = s->escaped ? 0 : plain_bytes(bytes + i, len - i);

        if (of_field)
            keep_text(s, bytes + i, plain);
        i += plain;
        if (i == len || bytes[i] == '\0')
            return i;
        if (scan_text(s, bytes[i]))
            break;
        if (of_field)
            keep_text(s, bytes + i, 1);
    }
    s->in_string = false;
    if (of_field)
        field_string(s, l);
    return i + 1;
}

static void begin_string(struct scan *s)
{
    s->tokens++;
    s->in_string = true;
    s->escaped = false;
    s->in_scalar = false;
    s->length = 0;
}

/* Returns the entry for the current member of the holder; NULL for other members. */
static struct scan_object *object_of(struct scan *s)
{
    return s->depth == 3 && s->in_holder && s->key >= KEY_OBJECT
               ? &s->objects[s->key - KEY_OBJECT]
               : NULL;
}

static void open_object(struct scan *s, struct scan_object *o)
{
    if (!s->value || o->begin > 0)
        return;
    o->begin = s->bytes + 1;
    o->tokens = s->tokens;
}

static void close_object(struct scan *s, struct scan_object *o)
{
    if (o->begin == 0 || o->end > 0)
        return;
    o->end = s->bytes;
    o->tokens = s->tokens - o->tokens;
}

static void open_bracket(struct scan *s, char c)
{
    s->tokens++;
    if (c == '{' && s->depth == 1 && s->value)
        s->in_parameters = s->key == KEY_PARAMETERS;
    else if (c == '{' && s->depth == 2 && s->value && s->in_parameters)
        s->in_holder = s->key == KEY_HOLDER;
    else if (c == '{' && object_of(s))
        open_object(s, object_of(s));
    else if (c == '[' && s->depth == 2 && s->value && s->key == KEY_LIST &&
             s->in_parameters && s->list_begin == 0) {
        s->list_begin = s->bytes + 1;
        s->list_tokens = s->tokens;
    }
    s->depth++;
    s->value = false;
}

static void close_bracket(struct scan *s, char c)
{
    if (s->depth > 0)
        s->depth--;
    if (s->depth == 2)
        s->in_holder = false;
    if (s->depth == 1)
        s->in_parameters = false;
    else if (c == '}' && object_of(s))
        close_object(s, object_of(s));
    else if (c == ']' && s->depth == 2 && s->list_begin > 0 && s->list_end == 0) {
        s->list_end = s->bytes;
        s->list_tokens = s->tokens - s->list_tokens;
    }
}

/* Scans one byte outside strings. */
static void scan_byte(struct scan *s, char c)
{
    switch (c) {
    case '"':
        begin_string(s);
        return;
    case '{':
    case '[':
        open_bracket(s, c);
        break;
    case '}':
    case ']':
        close_bracket(s, c);
        break;
    case ',':
        if (among_fields(s))
            s->value = false;
        else if (s->depth == 3 && s->list_begin > 0 && s->list_end == 0)
            s->list_commas++;
        break;
    case ':':
        if (among_fields(s))
            s->value = true;
        break;
    case ' ':
    case '\t':
    case '\n':
    case '\r':
        break;
    default: /* a number, true, false, null, or a syntax error */
        if (!s->in_scalar) {
            s->tokens++;
            if (c == 't' && s->depth == 1 && s->value && s->key == KEY_ONEWAY)
                s->oneway = true;
        }
        s->in_scalar = true;
        return;
    }
    s->in_scalar = false;
}

enum scan_result scan_feed(struct scan *s, const struct scan_limits *limits,
                           const char *bytes, size_t len, size_t *ret_used)
{
    size_t i = 0;

    while (i < len) {
        size_t used = 1;

        if (bytes[i] == '\0') {
            *ret_used = i + 1;
            return SCAN_END;
        }
        if (s->in_string)
            used = scan_string(s, limits, bytes + i, len - i);
        else
            scan_byte(s, bytes[i]);
        i += used;
        s->bytes += used;
        if (s->bytes > bounds(s, limits)->bytes)
            return SCAN_TOO_LARGE;
        if (s->depth > limits->depth)
            return SCAN_TOO_DEEP;
        if (s->tokens > bounds(s, limits)->tokens)
            return SCAN_TOO_MANY_TOKENS;
    }
    *ret_used = len;
    return SCAN_MORE;
}
