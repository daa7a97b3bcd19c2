/* See array_results.h. */
#include "client/voltctl/array_results.h"
#include "client/job_view.h"
#include "client/term.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN 600 /* bytes of ranges in a block; JSON has all */

struct gathering {
    struct array_results *to;
    size_t len, room;    /* of to->indexes */
    int64_t first, last; /* the range being extended; -1: none */
};

static void count(json_t *counts, const char *word, int64_t n)
{
    int64_t before = job_view_int(counts, word);
    (void)json_object_set_new(counts, word, json_integer(before + n));
}

static int end_range(struct gathering *g)
{
    char range[64];
    int n =
        g->first < 0 ? 0
        : g->last > g->first
            ? snprintf(range, sizeof(range), "%s%" PRId64 "-%" PRId64, g->len ? "," : "",
                       g->first, g->last)
            : snprintf(range, sizeof(range), "%s%" PRId64, g->len ? "," : "", g->first);
    if (g->room - g->len <= (size_t)n) {
        size_t room = 2 * g->room + sizeof(range);
        char *text = realloc(g->to->indexes, room);
        if (!text)
            return -ENOMEM;
        g->to->indexes = text;
        g->room = room;
    }
    memcpy(g->to->indexes + g->len, range, (size_t)n);
    g->len += (size_t)n;
    g->to->indexes[g->len] = '\0';
    return 0;
}

static int take(void *arg, json_t *job)
{
    struct gathering *g = arg;
    char word[48];
    const char *index = strchr(job_view_string(job, "id"), '_');
    int64_t i = index ? strtoll(index + 1, NULL, 10) : -1;
    job_view_result_word(job, word, sizeof(word));
    count(g->to->words, word, 1);
    count(g->to->results, job_view_string(job, "result"), 1);
    if (g->first >= 0 && i == g->last + 1) {
        g->last = i;
        return 0;
    }
    int r = end_range(g);
    g->first = g->last = i;
    return r;
}

/* Takes results. */
static int walk(struct ctl *ctl, const json_t *job, json_t *results,
                struct array_results *to)
{
    struct gathering g = {.to = to, .first = -1};
    int code = ctl_each_job(ctl, each_job_elements(job_view_string(job, "id"), results),
                            take, &g);
    return code == CTL_EXIT_OK && end_range(&g) < 0 ? ctl_lost(-ENOMEM) : code;
}

int array_results_find(struct ctl *ctl, const json_t *job, json_t *results,
                       struct array_results *ret)
{
    *ret = (struct array_results){.words = json_object(), .results = json_object()};
    return walk(ctl, job, json_incref(results), ret);
}

int array_results_get(struct ctl *ctl, const json_t *job, struct array_results *ret)
{
    *ret = (struct array_results){.words = json_object(), .results = json_object()};
    const json_t *counts = json_object_get(job, "counts");
    int64_t cancelled = job_view_int(counts, "cancelled");
    int64_t good =
        job_view_int(counts, "done") - job_view_int(counts, "failed") - cancelled;
    if (!ret->words || !ret->results)
        return ctl_lost(-ENOMEM);
    if (good > 0) {
        count(ret->words, "success", good);
        count(ret->results, "success", good);
    }
    if (cancelled > 0) {
        count(ret->words, "cancelled", cancelled);
        count(ret->results, "cancelled", cancelled);
    }
    if (job_view_int(counts, "failed") > 0)
        return walk(ctl, job, json_pack("[s]", "failed"), ret);
    ret->indexes = strdup("");
    return ret->indexes ? CTL_EXIT_OK : ctl_lost(-ENOMEM);
}

void array_results_fini(struct array_results *a)
{
    json_decref(a->words);
    json_decref(a->results);
    free(a->indexes);
    *a = (struct array_results){0};
}

void array_results_print(const struct array_results *a, const char *id)
{
    const char *word, *gap = "   Results: ";
    json_t *n;
    json_object_foreach(a->words, word, n)
    {
        term_print("%s%" JSON_INTEGER_FORMAT " %s", gap, json_integer_value(n), word);
        gap = ", ";
    }
    if (json_object_size(a->words) > 0)
        (void)putchar('\n');
    if (!a->indexes[0])
        return;
    size_t len = strlen(a->indexes);
    for (size_t cut = SHOWN; len > SHOWN; len = cut)
        while (a->indexes[cut] != ',')
            cut--;
    term_print("    Failed: %.*s%s\n", (int)len, a->indexes,
               a->indexes[len] ? ",..." : "");
    term_print("            voltctl list --elements --result=failed %s\n", id);
}
