/* See quick.h. NULL is the one answer to all that is not read here. */
#include "wire/quick.h"

#include <string.h>

#define DEPTH_MAX  16
#define KEY_MAX    64
#define DIGITS_MAX 18 /* no more, so that any number of them fits into 64 bits */

struct reader {
    const char *at, *end;
    const bool *stop;
    unsigned depth;
};

static json_t *read_value(struct reader *r);

static void skip_space(struct reader *r)
{
    while (r->at < r->end &&
           (*r->at == ' ' || *r->at == '\t' || *r->at == '\n' || *r->at == '\r'))
        r->at++;
}

/* Whether c is next, behind white space; then it is read. */
static bool take(struct reader *r, char c)
{
    skip_space(r);
    if (r->at == r->end || *r->at != c)
        return false;
    r->at++;
    return true;
}

/* The inside of a string, whose first quote has been read. */
static const char *read_string(struct reader *r, size_t *ret_len)
{
    const char *begin = r->at;
    const unsigned char *c = (const unsigned char *)begin;
    const unsigned char *end = (const unsigned char *)r->end;

    while (c < end && *c >= 0x20 && *c < 0x80 && *c != '"' && *c != '\\')
        c++;
    if (c == end || *c != '"')
        return NULL;
    *ret_len = (size_t)((const char *)c - begin);
    r->at = (const char *)c + 1;
    return begin;
}

static json_t *read_text(struct reader *r)
{
    size_t len;
    const char *text = read_string(r, &len);

    return text ? json_stringn_nocheck(text, len) : NULL;
}

static json_t *read_integer(struct reader *r)
{
    bool negative = r->at < r->end && *r->at == '-';
    const char *first = r->at + negative, *c = first;
    json_int_t n = 0;

    for (; c < r->end && *c >= '0' && *c <= '9' && c - first < DIGITS_MAX; c++)
        n = n * 10 + (*c - '0');
    /* No more digits, no zero in front of others, no fraction, no power; and an end: it
     * could go on in another piece. */
    if (c == first || c == r->end || (*first == '0' && c - first > 1) ||
        (*c >= '0' && *c <= '9') || *c == '.' || *c == 'e' || *c == 'E')
        return NULL;
    r->at = c;
    return json_integer(negative ? -n : n);
}

static bool take_word(struct reader *r, const char *word, size_t len)
{
    if ((size_t)(r->end - r->at) < len || memcmp(r->at, word, len) != 0)
        return false;
    r->at += len;
    return true;
}

static json_t *read_array(struct reader *r)
{
    json_t *array = json_array();
    bool ended = array && take(r, ']');

    while (array && !ended) {
        json_t *value = read_value(r);

        if (!value || json_array_append_new(array, value) < 0)
            break;
        ended = take(r, ']');
        if (!ended && !take(r, ','))
            break;
    }
    if (ended)
        return array;
    json_decref(array);
    return NULL;
}

/* One member; false also when there is one of this name. */
static bool read_member(struct reader *r, json_t *object)
{
    size_t len, before = json_object_size(object);
    char key[KEY_MAX];
    const char *name = take(r, '"') ? read_string(r, &len) : NULL;
    json_t *value;

    if (!name || len >= sizeof(key) || !take(r, ':'))
        return false;
    memcpy(key, name, len);
    key[len] = '\0';
    value = read_value(r);
    return value && json_object_set_new_nocheck(object, key, value) == 0 &&
           json_object_size(object) > before;
}

static json_t *read_object(struct reader *r)
{
    json_t *object = json_object();
    bool ended = object && take(r, '}');

    while (object && !ended) {
        if (!read_member(r, object))
            break;
        ended = take(r, '}');
        if (!ended && !take(r, ','))
            break;
    }
    if (ended)
        return object;
    json_decref(object);
    return NULL;
}

static json_t *read_nested(struct reader *r, json_t *(*read)(struct reader *))
{
    json_t *value = NULL;

    if (r->depth < DEPTH_MAX) {
        r->depth++;
        value = read(r);
        r->depth--;
    }
    return value;
}

static json_t *read_value(struct reader *r)
{
    if (*r->stop)
        return NULL;
    if (take(r, '"'))
        return read_text(r);
    if (take(r, '{'))
        return read_nested(r, read_object);
    if (take(r, '['))
        return read_nested(r, read_array);
    if (take_word(r, "true", 4))
        return json_true();
    if (take_word(r, "false", 5))
        return json_false();
    if (take_word(r, "null", 4))
        return json_null();
    return read_integer(r);
}

json_t *quick_object(const char **at, const char *end, const bool *stop)
{
    struct reader r = {.at = *at, .end = end, .stop = stop};
    json_t *object = take(&r, '{') ? read_nested(&r, read_object) : NULL;

    if (object && *stop) {
        json_decref(object);
        return NULL;
    }
    if (object)
        *at = r.at;
    return object;
}
