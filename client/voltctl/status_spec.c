/* See status_spec.h. */
#include "client/voltctl/status_spec.h"
#include "client/after.h"
#include "client/job_view.h"
#include "client/limit_options.h"
#include "client/term.h"
#include "wire/duration.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Prints the limit of an array, also for its elements. */
static void print_limit(const json_t *spec)
{
    int64_t most = job_view_int(json_object_get(spec, "array"), "at_once");
    if (most > 0)
        term_print("     Array: at most %" PRId64 " at once\n", most);
}

static void print_after(const json_t *edges)
{
    char text[64];
    json_t *edge;
    size_t i;
    json_array_foreach(edges, i, edge)
    {
        after_format(edge, text, sizeof(text));
        term_print("%s", i == 0 ? "     After: " : ", ");
        term_put(text);
    }
    if (json_array_size(edges) > 0)
        (void)putchar('\n');
}

static void print_date(const char *title, int64_t at)
{
    char text[96];
    if (at <= 0)
        return;
    job_view_time((uint64_t)at, 0, text, sizeof(text));
    term_print("%11s %s\n", title, text);
}

static void print_span(const char *title, const json_t *spec, const char *field)
{
    char text[32];
    int64_t usec = job_view_int(spec, field);
    if (usec <= 0)
        return;
    duration_format((uint64_t)usec, text, sizeof(text));
    term_print("%11s %s\n", title, text);
}

/* Prints a claim in the form of volt-submit: NAME, NAME (shared), NAME (2 of 4), NAME (a
 * start each 6.0s). */
static void put_claim(const json_t *claim)
{
    const int64_t permits = job_view_int(claim, "permits"),
                  capacity = job_view_int(claim, "capacity"),
                  interval = job_view_int(claim, "interval_usec");
    char span[32];
    term_put(job_view_string(claim, "name"));
    if (strcmp(job_view_string(claim, "mode"), "shared") == 0) {
        term_print(" (shared)");
    } else if (interval > 0) {
        duration_format((uint64_t)interval, span, sizeof(span));
        term_print(" (a start each %s)", span);
    } else if (permits > 0) {
        term_print(" (%" PRId64, permits);
        if (capacity > 0)
            term_print(" of %" PRId64, capacity);
        term_print(")");
    }
}

static void print_claims(const json_t *claims)
{
    json_t *claim;
    size_t i;
    json_array_foreach(claims, i, claim)
    {
        term_print("%s", i == 0 ? "     Locks: " : ", ");
        put_claim(claim);
    }
    if (json_array_size(claims) > 0)
        (void)putchar('\n');
}

static void print_labels(json_t *labels)
{
    const char *name, *before = "    Labels: ";
    json_t *value;
    json_object_foreach(labels, name, value)
    {
        term_print("%s", before);
        term_put(name);
        term_print("=");
        term_put(json_string_value(value));
        before = ", ";
    }
    if (json_object_size(labels) > 0)
        (void)putchar('\n');
}

/* Prints the limits of its cgroup in the form of volt-submit. */
static void print_limits(const json_t *limits)
{
    const char *before = "    Limits: ";
    char text[32];
    for (size_t i = 0; limit_option_at(i); i++) {
        if (!limit_option_text(limits, i, text, sizeof(text)))
            continue;
        term_print("%s%s=%s", before, limit_option_at(i), text);
        before = " ";
    }
    if (*before && !before[1])
        (void)putchar('\n');
}

void status_spec_print(const json_t *job)
{
    const json_t *spec = json_object_get(job, "spec");
    print_limit(spec);
    print_after(json_object_get(spec, "after"));
    print_date("Not before:", job_view_begin(job));
    print_date("Start by:", job_view_int(spec, "start_by_usec"));
    print_span("Timeout:", spec, "timeout_usec");
    print_limits(json_object_get(spec, "limits"));
    print_claims(json_object_get(spec, "claims"));
    print_labels(json_object_get(spec, "labels"));
}
