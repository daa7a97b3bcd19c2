/* See claims.h. */
#include "client/claims.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PERMITS_MAX = 1000000000 }; /* volt-job(5) */

static int refuse(struct volt_error *err, const char *text)
{
    (void)snprintf(err->text, sizeof(err->text), "%s", text);
    return -EINVAL;
}

/* Adds a claim, which it takes. */
static int add(json_t *spec, json_t *claim, struct volt_error *err)
{
    json_t *claims = json_object_get(spec, "claims");

    if (!claims) {
        claims = json_array();
        (void)json_object_set_new(spec, "claims", claims);
    }
    return json_array_append_new(claims, claim) < 0 ? refuse(err, "not UTF-8") : 0;
}

/* Refuses "none", which is no limit or no time for other options. */
static bool is_none(const char *name, size_t len, struct volt_error *err)
{
    if (len != 4 || memcmp(name, "none", 4) != 0)
        return false;
    (void)refuse(err,
                 "none is no name here; `voltctl edit --no-claims ID` gives up what a "
                 "job claims");
    return true;
}

int claims_add_lock(json_t *spec, const char *name, const char *mode,
                    struct volt_error *err)
{
    if (!*name)
        return refuse(err, "a name is needed");
    if (is_none(name, strlen(name), err))
        return -EINVAL;
    return add(spec, json_pack("{s:s, s:s}", "name", name, "mode", mode), err);
}

/* Reads a number from 1 to PERMITS_MAX that ends at `end` or at the end of the text.
 * Returns 0 for another text. */
static long long read_number(const char **text, char end)
{
    size_t len = strspn(*text, "0123456789");
    long long n = len > 0 && len <= 10 ? strtoll(*text, NULL, 10) : 0;

    if (((*text)[len] && (*text)[len] != end) || n > PERMITS_MAX)
        return 0;
    *text += len;
    return n;
}

/* Refuses anything but numbers after the name: a typing mistake would name another
 * semaphore. */
int claims_add_permits(json_t *spec, const char *text, struct volt_error *err)
{
    const size_t len = strcspn(text, ":/");
    const char *at = text + len;
    long long take = 1, capacity = 0;
    bool good = true;

    if (!len)
        return refuse(err, "a name is needed");
    if (is_none(text, len, err))
        return -EINVAL;
    if (*at == ':') {
        at++;
        good = (take = read_number(&at, '/')) > 0;
    }
    if (good && *at == '/') {
        at++;
        good = (capacity = read_number(&at, '\0')) > 0;
    }
    if (!good) {
        (void)snprintf(err->text, sizeof(err->text),
                       "%.100s is not NAME[:TAKE][/CAPACITY], of numbers from 1 to %d",
                       text, PERMITS_MAX);
        return -EINVAL;
    }
    json_t *claim = json_pack("{s:s%, s:s, s:I}", "name", text, len, "mode", "permits",
                              "permits", (json_int_t)take);
    if (claim && capacity)
        (void)json_object_set_new(claim, "capacity", json_integer(capacity));
    return add(spec, claim, err);
}

/* Reads a whole number from 1 to 10^9 and advances *at. Returns 0 if there is none. */
static long long number_at(const char **at)
{
    long long n = 0;

    while (**at >= '0' && **at <= '9' && n <= 1000000000)
        n = n * 10 + (*(*at)++ - '0');
    return n <= 1000000000 ? n : 0;
}

static long long unit_usec(const char *text, size_t len)
{
    static const struct {
        const char *name;
        long long usec;
    } units[] = {{"s", 1000000},     {"sec", 1000000}, {"min", 60000000},
                 {"h", 3600000000},  {"hour", 3600000000},
                 {"d", 86400000000}, {"day", 86400000000}};

    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (strlen(units[i].name) == len && memcmp(units[i].name, text, len) == 0)
            return units[i].usec;
    return 0;
}

int claims_add_rate(json_t *spec, const char *text, struct volt_error *err)
{
    static const char wrong[] = "expected is NAME=N/UNIT[,burst=B], such as api=30/min; "
                                "UNIT is s, min, h or d, and N and B are at most 1000000000";
    const char *equals = strchr(text, '='), *at = equals ? equals + 1 : "";
    const long long n = number_at(&at);
    const size_t len = *at == '/' ? strcspn(at + 1, ",") : 0;
    const long long unit = len ? unit_usec(at + 1, len) : 0;
    long long burst = 0;

    if (is_none(text, equals ? (size_t)(equals - text) : strlen(text), err))
        return -EINVAL;
    at += len ? len + 1 : 0;
    if (strncmp(at, ",burst=", 7) == 0) {
        at += 7;
        burst = number_at(&at);
        if (!burst)
            return refuse(err, wrong);
    }
    if (!equals || equals == text || !n || !unit || *at || unit < n)
        return refuse(err, wrong);
    json_t *claim = json_pack("{s:s%, s:s, s:I}", "name", text, (size_t)(equals - text),
                              "mode", "rate", "interval_usec", (json_int_t)(unit / n));
    if (claim && burst)
        (void)json_object_set_new(claim, "capacity", json_integer(burst));
    return add(spec, claim, err);
}

int claims_add_own(json_t *spec, struct volt_error *err)
{
    const char *name = json_string_value(json_object_get(spec, "name"));
    const char *command =
        json_string_value(json_array_get(json_object_get(spec, "argv"), 0));

    if (!name && command) {
        const char *slash = strrchr(command, '/');
        name = slash && slash[1] ? slash + 1 : command;
    }
    if (!name)
        return refuse(err, "the job needs a name: give --name");
    return add(spec, json_pack("{s:s, s:s}", "name", name, "mode", "exclusive"), err);
}
