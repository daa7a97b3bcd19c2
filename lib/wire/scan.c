/* See scan.h. */
#include "wire/scan.h"

#include <string.h>

enum { /* struct scan.key: the field whose value comes next */
       KEY_OTHER = 0,
       KEY_METHOD,
       KEY_ONEWAY,
       KEY_PARAMETERS,
       KEY_LIST, /* a parameter */
};

static const struct scan_bounds *bounds(const struct scan *s, const struct scan_limits *l)
{
    return s->large ? &l->large : &l->usual;
}

/* Among the fields of the header, or among the parameters. */
static bool among_fields(const struct scan *s)
{
    return s->depth == 1 || (s->depth == 2 && s->in_parameters);
}

static uint8_t key_of(const struct scan *s, const struct scan_limits *l)
{
    const char *list = s->large ? l->large_list : l->usual_list;

    if (s->depth == 2)
        return list && strcmp(s->text, list) == 0 ? KEY_LIST : KEY_OTHER;
    if (strcmp(s->text, "method") == 0)
        return KEY_METHOD;
    if (strcmp(s->text, "oneway") == 0)
        return KEY_ONEWAY;
    return strcmp(s->text, "parameters") == 0 ? KEY_PARAMETERS : KEY_OTHER;
}

/* A string among the fields has ended; its text is in s->text. */
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

/* Inside a string: to its end or the end of the bytes. Returns the bytes used; stops in
 * front of a NUL. */
static size_t scan_string(struct scan *s, const struct scan_limits *l, const char *bytes,
                          size_t len)
{
    for (size_t i = 0; i < len; i++) {
        char c = bytes[i];

        if (c == '\0')
            return i;
        if (s->escaped) {
            s->escaped = false;
        } else if (c == '\\') {
            s->escaped = true;
        } else if (c == '"') {
            s->in_string = false;
            if (among_fields(s))
                field_string(s, l);
            return i + 1;
        }
        if (among_fields(s) && s->length < sizeof(s->text))
            s->text[s->length++] = c;
    }
    return len;
}

static void begin_string(struct scan *s)
{
    s->tokens++;
    s->in_string = true;
    s->escaped = false;
    s->in_scalar = false;
    s->length = 0;
}

static void open_bracket(struct scan *s, char c)
{
    s->tokens++;
    if (c == '{' && s->depth == 1 && s->value)
        s->in_parameters = s->key == KEY_PARAMETERS;
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
    if (s->depth == 1)
        s->in_parameters = false;
    else if (c == ']' && s->depth == 2 && s->list_begin > 0 && s->list_end == 0) {
        s->list_end = s->bytes;
        s->list_tokens = s->tokens - s->list_tokens;
    }
}

/* One byte outside strings. */
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
    default: /* a number, true, false, null, or nonsense */
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
