/* voltctl wait: until jobs have ended, then their exit code. */
#include "client/await.h"
#include "client/reconnect.h"
#include "client/say.h"
#include "client/voltctl/verbs.h"

#include <stdlib.h>
#include <string.h>

enum { OPT_QUIET = OPTION_LONG };

static const struct option_entry options[] = {
    CTL_RECONNECT_OPTION,
    {"quiet", OPT_QUIET, NULL, "no progress and no summary"},
    {"json", CTL_OPT_JSON, NULL, "events as JSON, one a line, on standard output"},
    CTL_OPTIONS_END,
};

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Jobs are counted; an id that is there twice is one. Returns how many are left. */
static size_t unique(char **ids, size_t n)
{
    size_t kept = 1;
    qsort(ids, n, sizeof(*ids), compare);
    for (size_t i = 1; i < n; i++)
        if (strcmp(ids[i], ids[kept - 1]) != 0)
            ids[kept++] = ids[i];
    return kept;
}

static int run(struct ctl *ctl)
{
    struct wait_request rq = {.choice = &ctl->choice,
                              .reconnect_usec = RECONNECT_USEC,
                              .no_such_job_code = CTL_EXIT_NO_SUCH_JOB,
                              .interrupt = -1};
    int key;
    while ((key = ctl_option(ctl)) != OPTION_END) {
        if (key == OPTION_BAD)
            return ctl->code;
        rq.quiet |= key == OPT_QUIET;
        rq.json |= key == CTL_OPT_JSON;
        if (!ctl_reconnect_take(ctl, key, &rq.reconnect_usec))
            return CTL_EXIT_USAGE;
    }
    char **ids;
    int n = ctl_ids(ctl, 1, &ids);
    if (n < 0)
        return CTL_EXIT_USAGE;
    rq.ids = ids;
    rq.nids = unique(ids, (size_t)n);
    int code = ctl_open(ctl, ADDRESS_JOBS);
    if (code != CTL_EXIT_OK)
        return code;
    rq.interrupt = wait_interrupt_fd();
    return wait_for_jobs(&ctl->client, &rq);
}

const struct verb verb_wait = {
    .name = "wait",
    .operands = "ID...",
    .summary = "Wait until jobs have ended, and exit as they did",
    .text = "Exits with the job's own code; 128+N killed by signal N; 124 its timeout;\n"
            "126 found but not executable; 127 not found; 125 cancelled, lost, or voltd\n"
            "failed; of several jobs the largest. 130: interrupted (the jobs go on).\n"
            "The codes 2, 3 and 4 below are possible before the wait has begun.\n"
            "\nExample:\n  voltctl wait 12 13 && echo both fine\n",
    .options = options,
    .run = run,
};
