/* See submit_conditions.h. */
#include "client/submit_conditions.h"
#include "client/after.h"
#include "client/claims.h"
#include "client/job_view.h"
#include "client/say.h"
#include "client/slurm_advice.h"
#include "client/spec_build.h"
#include "client/submit_table.h"
#include "client/when.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

/* Parses a time. A time without a date, or after a weekday, is the next one: searched in
 * steps shorter than any day. */
static int next_date(const char *text, uint64_t now, uint64_t *ret)
{
    const uint64_t step = UINT64_C(43200000000);
    const bool next = when_has_clock(text) && !strchr(text, '-') &&
                      strncasecmp(text, "today", 5) != 0 &&
                      strncasecmp(text, "yesterday", 9) != 0;
    int r = when_parse(text, now, ret);
    for (uint64_t i = 1; next && i <= 15 && (r < 0 || *ret < now); i++)
        r = when_parse(text, now + i * step, ret);
    return r;
}

static int set_date(json_t *spec, const char *name, const char *option, const char *text)
{
    const uint64_t now = job_view_now();
    uint64_t at;
    if (next_date(text, now, &at) < 0) {
        say("--%s: %s is not a time like 22:00, 10pm, \"tomorrow 06:00\", \"Mon 10:00\", \"2026-11-20 "
            "10:00\" or +2h",
            option, text);
        return -EINVAL;
    }
    if (at < now) {
        say("--%s: %s is past", option, text);
        return -EINVAL;
    }
    return json_object_set_new(spec, name, json_integer((json_int_t)at));
}

static int set_delay(json_t *spec, const char *text)
{
    struct volt_error err;
    int r = spec_build_time(spec, "delay_usec", text, &err);
    if (r < 0)
        say("--in: %s", err.text);
    return r;
}

static size_t number_len(const char *text)
{
    return strspn(text, "0123456789");
}

/* Returns the number of permits that seems to be meant by a name such as tape=2, or db:2
 * of a lock; *len: the length of the name before it. NULL: none. */
static const char *permits_meant(int key, const char *arg, size_t *len)
{
    const size_t at = strcspn(arg, key == OPT_SEM ? "=" : ":=/");
    const size_t digits = arg[at] ? number_len(arg + at + 1) : 0;

    *len = at;
    if (key == OPT_RATE || !at || !digits)
        return NULL;
    const char end = arg[at + 1 + digits];
    return !end || (key == OPT_SEM && end == '/') ? arg + at + 1 : NULL;
}

/* Says what a name is not that looks like something else. */
static void note_name(int key, const char *option, const char *arg)
{
    size_t len;
    const char *permits = permits_meant(key, arg, &len);
    const size_t digits = number_len(arg);

    if (key != OPT_RATE && strchr(arg, ','))
        say("note: --%s: %s is one name; for several give --%s several times", option,
            arg, option);
    else if (permits)
        say("note: --%s: %.*s is one name; permits of a semaphore are --sem=%.*s:%s",
            option, (int)(len + 1 + number_len(permits)), arg, (int)len, arg, permits);
    else if (key == OPT_SEM && digits > 0 && (!arg[digits] || arg[digits] == '/'))
        say("note: --sem: %.*s is the name; permits stand behind one, as --sem=NAME:%s",
            (int)digits, arg, arg);
}

static int take_claim(json_t *spec, int key, const char *arg)
{
    struct volt_error err;
    const char *option = key == OPT_SEM    ? "sem"
                         : key == OPT_RATE ? "rate"
                         : key == OPT_LOCK ? "lock"
                                           : "lock-shared";
    int r;

    if (key == OPT_SEM)
        r = claims_add_permits(spec, arg, &err);
    else if (key == OPT_RATE)
        r = claims_add_rate(spec, arg, &err);
    else
        r = claims_add_lock(spec, arg, key == OPT_LOCK ? "exclusive" : "shared", &err);
    if (r < 0)
        say("--%s: %s", option, err.text);
    else
        note_name(key, option, arg);
    return r;
}

static int take_after(json_t *spec, int key, const char *arg)
{
    static const struct {
        int key;
        const char *option, *when;
        bool each;
    } known[] = {{OPT_AFTER, "after", "ok", false},
                 {OPT_AFTER_OK, "after-ok", "ok", false},
                 {OPT_AFTER_NOTOK, "after-notok", "notok", false},
                 {OPT_AFTER_ANY, "after-any", "any", false},
                 {OPT_AFTER_START, "after-start", "start", false},
                 {OPT_AFTER_OK_EACH, "after-ok-each", "ok", true},
                 {OPT_AFTER_NOTOK_EACH, "after-notok-each", "notok", true},
                 {OPT_AFTER_ANY_EACH, "after-any-each", "any", true},
                 {OPT_AFTER_START_EACH, "after-start-each", "start", true}};
    struct volt_error err;
    size_t i = 0;
    while (known[i].key != key)
        i++;
    if (slurm_advice_value(arg))
        return -EINVAL;
    int r = after_add(spec, arg, known[i].when, known[i].each, &err);
    if (r < 0)
        say("--%s: %s", known[i].option, err.text);
    return r;
}

int submit_conditions_take(json_t *spec, int key, const char *arg)
{
    switch (key) {
    case OPT_HOLD:
        return json_object_set_new(spec, "hold", json_true());
    case OPT_IN:
        return set_delay(spec, arg);
    case OPT_AT:
        return set_date(spec, "at_usec", "at", arg);
    case OPT_START_BY:
        return set_date(spec, "start_by_usec", "start-by", arg);
    case OPT_AFTER:
    case OPT_AFTER_OK:
    case OPT_AFTER_NOTOK:
    case OPT_AFTER_ANY:
    case OPT_AFTER_START:
    case OPT_AFTER_OK_EACH:
    case OPT_AFTER_NOTOK_EACH:
    case OPT_AFTER_ANY_EACH:
    case OPT_AFTER_START_EACH:
        return take_after(spec, key, arg);
    case OPT_LOCK:
    case OPT_LOCK_SHARED:
    case OPT_SEM:
    case OPT_RATE:
        return take_claim(spec, key, arg);
    default:
        return 1;
    }
}

bool submit_conditions_add_up(int key)
{
    return key == OPT_LOCK || key == OPT_LOCK_SHARED || key == OPT_SEM ||
           key == OPT_RATE || (key >= OPT_AFTER && key <= OPT_AFTER_START_EACH);
}

int submit_conditions_check(const json_t *spec)
{
    const uint64_t delay = (uint64_t)job_view_int(spec, "delay_usec");
    const uint64_t by = (uint64_t)job_view_int(spec, "start_by_usec");
    const uint64_t at = (uint64_t)job_view_int(spec, "at_usec");
    const bool in = delay && by && job_view_now() + delay > by;

    if (!in && !(at && by && at > by))
        return 0;
    say("--start-by: that is before the time of --%s%s: it could never start",
        in ? "in" : "at", in ? " has passed" : "");
    return -EINVAL;
}

int submit_conditions_own_lock(json_t *spec)
{
    struct volt_error err;
    int r = claims_add_own(spec, &err);

    if (r < 0)
        say("--singleton: %s", err.text);
    return r;
}
