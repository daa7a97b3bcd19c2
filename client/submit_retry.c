/* See submit_retry.h. */
#include "client/submit_retry.h"
#include "client/say.h"
#include "client/spec_build.h"
#include "client/submit_table.h"
#include "wire/duration.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CODE_MAX   255
#define RANGE_DOTS ".."

/* Sets a member of `retry`; takes value. Returns 0 or negative. */
static int put(json_t *spec, const char *name, json_t *value)
{
    json_t *retry = json_object_get(spec, "retry");

    if (!retry) {
        retry = json_object();
        (void)json_object_set_new(spec, "retry", retry);
    }
    return json_object_set_new(retry, name, value);
}

static int set_times(json_t *spec, const char *text)
{
    char *end;
    errno = 0;
    const long long n = strtoll(text, &end, 10);
    if (!errno && end != text && !*end && n == 0)
        return 0; /* as without the option */
    if (errno || end == text || *end || n < 0) {
        say("--retry: %s is not a number from 0 to 1000", text);
        return -EINVAL;
    }
    return put(spec, "times", json_integer(n));
}

static int put_time(json_t *spec, const char *name, const char *text)
{
    uint64_t usec;
    if (duration_parse(text, &usec) < 0)
        return -EINVAL;
    return put(spec, name, json_integer((json_int_t)usec));
}

static json_int_t usec_of(const json_t *spec, const char *name)
{
    return json_integer_value(json_object_get(json_object_get(spec, "retry"), name));
}

/* Sets the back-off; a single time is also the longest. */
static int set_backoff(json_t *spec, const char *text)
{
    const char *dots = strstr(text, RANGE_DOTS);
    char first[32];
    int r = -EINVAL;

    (void)snprintf(first, sizeof(first), "%.*s", dots ? (int)(dots - text) : 31, text);
    if (!dots || dots - text < (int)sizeof(first))
        r = put_time(spec, "backoff_usec", first);
    if (r == 0)
        r = put_time(spec, "backoff_max_usec", dots ? dots + strlen(RANGE_DOTS) : text);
    if (r < 0) {
        say("--backoff: %s is not a time like 5s, or two like 1s..1m", text);
        return r;
    }
    if (usec_of(spec, "backoff_max_usec") >= usec_of(spec, "backoff_usec"))
        return 0;
    say("--backoff: %s: the second time is the longer one, as in 1s..1m", text);
    return -EINVAL;
}

/* Adds 75 or 100-110, of len bytes, to codes. */
static int add_codes(json_t *codes, const char *text, size_t len)
{
    unsigned first, last;
    char word[16], end;

    (void)snprintf(word, sizeof(word), "%.*s", (int)len, text);
    int n = len < sizeof(word) ? sscanf(word, "%3u-%3u%c", &first, &last, &end) : 0;
    if (n == 1 && sscanf(word, "%3u%c", &first, &end) == 1)
        last = first;
    else if (n != 2)
        return -EINVAL;
    if (first > last || last > CODE_MAX)
        return -EINVAL;
    for (unsigned code = first; code <= last; code++)
        (void)json_array_append_new(codes, json_integer(code));
    return 0;
}

static int set_success(json_t *spec, const char *text)
{
    json_t *codes = json_array();
    int r = 0;

    for (const char *at = text; r == 0; at++) {
        const size_t len = strcspn(at, ",");
        r = add_codes(codes, at, len);
        at += len;
        if (!*at)
            break;
    }
    if (r == 0)
        return json_object_set_new(spec, "success_codes", codes);
    json_decref(codes);
    say("--success: %s is not a list of exit codes like 0,3 or 0-2,75", text);
    return r;
}

static bool is_word(const char *word, size_t len, const char *name)
{
    return strlen(name) == len && memcmp(word, name, len) == 0;
}

/* Prints an error for a word, with the equivalent of words of other programs. */
static void say_result(const char *word, size_t len)
{
    static const char *const instead[][2] = {
        {"lost", "--on-lost=retry, as it may have run"},
        {"output_limit", "a higher --output-limit: it is of all attempts together"},
        {"failure", "exit"},
        {"on-failure", "exit,signal,timeout, as without --retry-on"},
        {"always", "exit,signal,timeout, as without --retry-on"},
    };
    for (size_t i = 0; i < sizeof(instead) / sizeof(instead[0]); i++)
        if (is_word(word, len, instead[i][0])) {
            say("--retry-on: for %s give %s", instead[i][0], instead[i][1]);
            return;
        }
    say("--retry-on: %.*s is not exit, signal, timeout, exec_failed, oom, nor "
        "are these exit codes like exit:75,100-110",
        (int)len, word);
}

/* Adds a word of the list. Exit codes may follow those of the word before. */
static int add_result(json_t *on, json_t *codes, const char *word, size_t len)
{
    static const char *const names[] = {"exit", "signal", "timeout", "exec_failed",
                                        "oom"};
    const bool first = len > 5 && memcmp(word, "exit:", 5) == 0;

    if (first)
        (void)json_array_append_new(on, json_string("exit"));
    if (first || (json_array_size(codes) > 0 && len > 0 && *word >= '0' && *word <= '9'))
        return add_codes(codes, first ? word + 5 : word, first ? len - 5 : len);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (is_word(word, len, names[i]))
            return json_array_append_new(on, json_string(names[i]));
    return -EINVAL;
}

static int set_on(json_t *spec, const char *text)
{
    json_t *on = json_array(), *codes = json_array();
    int r = 0;

    for (const char *at = text; r == 0; at++) {
        const size_t len = strcspn(at, ",");
        r = add_result(on, codes, at, len);
        if (r < 0)
            say_result(at, len);
        at += len;
        if (!*at)
            break;
    }
    if (r == 0)
        r = put(spec, "on", json_incref(on));
    if (r == 0 && json_array_size(codes) > 0)
        r = put(spec, "exit_codes", json_incref(codes));
    json_decref(on);
    json_decref(codes);
    return r;
}

static int set_total(json_t *spec, const char *text)
{
    int r = put_time(spec, "max_total_usec", text);
    if (r < 0)
        say("--max-total: %s is not a time like 30s, 10m or 1h30m", text);
    return r;
}

int submit_retry_take(json_t *spec, int key, const char *arg)
{
    switch (key) {
    case OPT_RETRY:
        return set_times(spec, arg);
    case OPT_BACKOFF:
        return set_backoff(spec, arg);
    case OPT_RETRY_ON:
        return set_on(spec, arg);
    case OPT_MAX_TOTAL:
        return set_total(spec, arg);
    case OPT_SUCCESS:
        return set_success(spec, arg);
    default:
        return 1;
    }
}
