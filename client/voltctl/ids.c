/* Operands that name jobs: ids, ranges of them, @last. See ctl.h. */
#include "client/id_range.h"
#include "client/job_view.h"
#include "client/say.h"
#include "client/voltctl/ctl.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LAST "@last"

static int wrong(struct ctl *ctl, const char *word, int error)
{
    ctl->code =
        error == -E2BIG
            ? ctl_usage(ctl, "%s: more than %d jobs", word, ID_RANGE_MOST)
            : ctl_usage(ctl,
                        "%s is not a job id, such as 17, 17_3, 12-40, @last or @last_3",
                        *word ? word : "an empty word");
    return -1;
}

static int no_memory(struct ctl *ctl)
{
    say("out of memory");
    ctl->code = CTL_EXIT_FAILED;
    return -1;
}

int ctl_ids_add(struct ctl *ctl, const char *id)
{
    if (ctl->nids == ctl->ids_room) {
        size_t room = ctl->ids_room ? ctl->ids_room * 2 : 64;
        char **ids = realloc(ctl->ids, room * sizeof(*ids));
        if (!ids)
            return no_memory(ctl);
        ctl->ids = ids;
        ctl->ids_room = room;
    }
    char *copy = strdup(id);
    if (!copy)
        return no_memory(ctl);
    ctl->ids[ctl->nids++] = copy;
    return 0;
}

/* The newest of this user's jobs in one answer; NULL: none of these is. */
static const json_t *newest_of_mine(const json_t *jobs)
{
    size_t i;
    const json_t *job;
    json_array_foreach(jobs, i, job)
    {
        if (job_view_int(job, "uid") == (int64_t)getuid())
            return job;
    }
    return NULL;
}

/* Looks for the job that this user has submitted last. Root sees those of others as well,
 * which are passed over. 0; -1: see ctl->code. */
static int find_last(struct ctl *ctl, char *buf, size_t size)
{
    json_t *cursor = NULL;
    bool more = true;
    int r = 1, limit = 1;
    if (!ctl->client)
        ctl->code = ctl_open(ctl, ADDRESS_JOBS);
    while (r == 1 && more && ctl->code == CTL_EXIT_OK) {
        struct client_reply reply = CLIENT_REPLY_EMPTY;
        json_t *params = json_pack("{s:b, s:i, s:o*}", "newest_first", 1, "limit", limit,
                                   "cursor", cursor);
        cursor = NULL;
        ctl->code = ctl_call(ctl, "org.voltd.jobs.List", params, &reply);
        const json_t *job = newest_of_mine(json_object_get(reply.parameters, "jobs"));
        cursor = json_incref(json_object_get(reply.parameters, "cursor"));
        if (job) {
            (void)snprintf(buf, size, "%s", job_view_string(job, "id"));
            r = 0;
        }
        more = json_is_string(cursor);
        client_reply_fini(&reply);
        limit = 1000;
    }
    json_decref(cursor);
    if (r == 1 && ctl->code == CTL_EXIT_OK) {
        say("%s: you have no job", LAST);
        ctl->code = CTL_EXIT_NO_SUCH_JOB;
    }
    return r == 0 ? 0 : -1;
}

static int add_word(struct ctl *ctl, const char *word)
{
    const size_t len = strlen(LAST);
    struct id_range range;
    char id[64], elements[160];
    const char *text = word;
    if (strncmp(word, LAST, len) == 0 && (!word[len] || word[len] == '_')) {
        if (find_last(ctl, id, sizeof(id)) < 0)
            return -1;
        (void)snprintf(elements, sizeof(elements), "%s%.90s", id, word + len);
        text = elements;
    }
    int r = id_range_parse(text, &range);
    if (r < 0)
        return wrong(ctl, word, r);
    ctl->ranged |= range.last > range.first;
    if (ctl->nids + (range.last - range.first) >= ID_RANGE_MOST)
        return wrong(ctl, word, -E2BIG);
    for (uint64_t i = 0; r == 0 && i <= range.last - range.first; i++) {
        id_range_text(&range, i, id, sizeof(id));
        r = ctl_ids_add(ctl, id);
    }
    return r;
}

int ctl_ids(struct ctl *ctl, int least, char ***ret)
{
    int n = ctl->argc - optind;
    if (n < least) {
        ctl->code = ctl_usage(ctl, "an id is needed (see `voltctl list --all`)");
        return -1;
    }
    for (int i = 0; i < n; i++)
        if (add_word(ctl, ctl->argv[optind + i]) < 0)
            return -1;
    *ret = ctl->ids;
    return (int)ctl->nids;
}

static int compare(const void *a, const void *b)
{
    struct id_range x = {0}, y = {0};
    (void)id_range_parse(*(char *const *)a, &x);
    (void)id_range_parse(*(char *const *)b, &y);
    uint64_t left = x.with_array ? x.array : x.first;
    uint64_t right = y.with_array ? y.array : y.first;
    if (left != right)
        return left < right ? -1 : 1;
    if (x.with_array != y.with_array)
        return x.with_array - y.with_array;
    return x.first < y.first ? -1 : x.first > y.first;
}

size_t ctl_ids_unique(struct ctl *ctl)
{
    size_t kept = 0;
    qsort(ctl->ids, ctl->nids, sizeof(*ctl->ids), compare);
    for (size_t i = 0; i < ctl->nids; i++) {
        if (kept > 0 && strcmp(ctl->ids[i], ctl->ids[kept - 1]) == 0)
            free(ctl->ids[i]);
        else
            ctl->ids[kept++] = ctl->ids[i];
    }
    return ctl->nids = kept;
}

void ctl_ids_free(struct ctl *ctl)
{
    for (size_t i = 0; i < ctl->nids; i++)
        free(ctl->ids[i]);
    free(ctl->ids);
    ctl->ids = NULL;
    ctl->nids = 0;
}
