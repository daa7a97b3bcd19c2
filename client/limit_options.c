/* See limit_options.h. */
#include "client/limit_options.h"
#include "client/say.h"
#include "client/size.h"
#include "client/submit_table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum form { BYTES, COUNT, PERCENT };

/* The rows of spec_fields.def, which have the order of the options. */
static const struct {
    const char *member;
    int64_t least, most;
} limits_of[] = {
#define SPEC_CGROUP(member, json, least, most) {json, least, most},
#include "daemon/job/spec_fields.def"
};

enum { LIMITS = sizeof(limits_of) / sizeof(limits_of[0]) };

static const struct {
    const char *option;
    enum form form;
} options[] = {{"--mem", BYTES},      {"--mem-high", BYTES},  {"--swap", BYTES},
               {"--pids-max", COUNT}, {"--cpu-max", PERCENT}, {"--cpu-weight", COUNT},
               {"--io-weight", COUNT}};

_Static_assert(sizeof(options) / sizeof(options[0]) == LIMITS, "an option each");
_Static_assert(OPT_IO_WEIGHT - OPT_MEM + 1 == LIMITS, "a key each");

static bool parse_count(const char *text, const char *end_text, uint64_t *ret)
{
    char *end;

    errno = 0;
    if (*text < '0' || *text > '9')
        return false;
    *ret = strtoull(text, &end, 10);
    return !errno && strcmp(end, end_text) == 0;
}

static bool parse(enum form form, const char *text, uint64_t *ret)
{
    if (form == BYTES)
        return size_parse(text, ret) == 0;
    return parse_count(text, form == PERCENT ? "%" : "", ret);
}

static bool is_in_range(size_t n, const char *text, uint64_t value)
{
    const int64_t least = limits_of[n].least, most = limits_of[n].most;

    if ((int64_t)value >= least && value <= (uint64_t)most)
        return true;
    if (options[n].form == BYTES)
        say("%s: %s is less than 1M, in which no program runs: give the unit as well, as "
            "100M or 4G",
            options[n].option, text);
    else
        say("%s: %s is not from %" PRId64 " to %" PRId64 "%s", options[n].option, text,
            least, most, options[n].form == PERCENT ? "%" : "");
    return false;
}

json_t *limits_in(json_t *spec)
{
    json_t *limits = json_object_get(spec, "limits");

    if (!limits) {
        limits = json_object();
        (void)json_object_set_new(spec, "limits", limits);
    }
    return limits;
}

static int set(json_t *spec, size_t n, json_int_t value)
{
    return json_object_set_new(limits_in(spec), limits_of[n].member, json_integer(value));
}

int limit_option_take(json_t *spec, int key, const char *text, bool may_none)
{
    static const char *const forms[] = {
        [BYTES] = "is not a size like 500M or 4G",
        [COUNT] = "is not a number",
        [PERCENT] = "is not a percentage of one CPU like 50% or 250%"};
    const size_t n = (size_t)(key - OPT_MEM);
    uint64_t value;

    if (key < OPT_MEM || key > OPT_IO_WEIGHT)
        return 1;
    if (may_none && strcmp(text, "none") == 0)
        return set(spec, n, -1);
    if (!parse(options[n].form, text, &value)) {
        say("%s: %s %s", options[n].option, text, forms[options[n].form]);
        return -EINVAL;
    }
    return is_in_range(n, text, value) ? set(spec, n, (json_int_t)value) : -EINVAL;
}

const char *limit_option_at(size_t n)
{
    return n < LIMITS ? options[n].option : NULL;
}

const char *limit_member_at(size_t n)
{
    return n < LIMITS ? limits_of[n].member : NULL;
}

const char *limit_option_of(const char *member)
{
    for (size_t i = 0; i < LIMITS; i++)
        if (strcmp(member, limits_of[i].member) == 0)
            return options[i].option;
    return NULL;
}

bool limit_option_text(const json_t *limits, size_t n, char *buf, size_t size)
{
    static const char units[] = "KMGT";
    const json_t *given = json_object_get(limits, limits_of[n].member);
    json_int_t value = json_integer_value(given);
    size_t unit = 0;

    if (!json_is_integer(given))
        return false;
    while (options[n].form == BYTES && value && value % 1024 == 0 && unit < 4) {
        value /= 1024;
        unit++;
    }
    (void)snprintf(buf, size, "%" JSON_INTEGER_FORMAT "%s%.*s", value,
                   options[n].form == PERCENT ? "%" : "", unit > 0,
                   units + unit - !!unit);
    return true;
}
