/* See dry_run.h. */
#include "client/voltctl/dry_run.h"
#include "client/id_range.h"
#include "client/job_view.h"
#include "client/say.h"
#include "client/term.h"
#include "client/voltctl/list_columns.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

struct dry_list {
    const struct dry_run *d;
    struct list_columns columns;
    struct table *table;
    uint64_t now, seen, count;
};

/* Returns whether the job would be meant. Forget skips the newest jobs that match. */
static bool is_meant(struct dry_list *l, const json_t *job)
{
    const struct dry_run *d = l->d;
    const bool ended = strcmp(job_view_string(job, "state"), "done") == 0;
    uint64_t at = (uint64_t)job_view_int(job, "ended_at_usec");
    if (!ended || !d->ended)
        return ended == d->ended;
    at = at ? at : (uint64_t)job_view_int(job, "submitted_at_usec");
    return l->seen++ >= d->keep && d->older_usec < l->now && at < l->now - d->older_usec;
}

static int take_job(void *arg, json_t *job)
{
    struct dry_list *l = arg;
    if (!is_meant(l, job))
        return 0;
    l->count++;
    return l->table ? list_columns_add(&l->columns, l->table, job, l->now) : 0;
}

/* Lists all jobs that match the filter, which it takes. */
static int take_all(struct ctl *ctl, struct dry_list *l, json_t *filter)
{
    json_t *fields = json_pack("[s,s,s]", "state", "ended_at_usec", "submitted_at_usec");
    json_t *spec_fields = json_array();
    list_columns_need(&l->columns, fields, spec_fields);
    json_t *params = json_pack("{s:o, s:b, s:o, s:o}", "filter", filter, "newest_first",
                               l->d->ended, "fields", fields, "spec_fields", spec_fields);
    return ctl_each_job(ctl, params, take_job, l);
}

/* Asks whether Forget would accept the ids of the filter: one that keeps all jobs that
 * match. */
static int try_forget(struct ctl *ctl, json_t *filter)
{
    struct client_reply reply = CLIENT_REPLY_EMPTY;
    int code = ctl_call(
        ctl, "org.voltd.jobs.Forget",
        json_pack("{s:O, s:I}", "filter", filter, "keep", (json_int_t)INT64_MAX), &reply);
    client_reply_fini(&reply);
    return code;
}

static int take_ids(struct ctl *ctl, struct dry_list *l)
{
    const struct dry_run *d = l->d;
    int code = CTL_EXIT_OK;
    size_t at = 0;
    do {
        json_t *filter = d->filter ? json_deep_copy(d->filter) : json_object();
        const size_t n = id_portion(d->ids + at, d->nids - at);
        if (n > 0)
            (void)json_object_set_new(filter, "ids", id_list(d->ids + at, n));
        if (n > 0)
            code =
                d->ended ? try_forget(ctl, filter) : ctl_ids_check(ctl, d->ids + at, n);
        if (code == CTL_EXIT_OK)
            code = take_all(ctl, l, filter);
        else
            json_decref(filter);
        at += n;
    } while (code == CTL_EXIT_OK && at < d->nids);
    return code;
}

int dry_run_print(struct ctl *ctl, const struct dry_run *d)
{
    struct dry_list l = {.d = d, .now = job_view_now()};
    const bool tty = term_is_tty(STDOUT_FILENO);
    list_columns_default(&l.columns, ctl->choice.admin);
    if (!d->json)
        l.table = list_columns_table(&l.columns, false,
                                     tty ? term_columns(STDOUT_FILENO) : 0, true);
    int code = take_ids(ctl, &l);
    if (code == CTL_EXIT_OK && l.table && l.count > 0 && table_end(l.table) < 0)
        code = ctl_lost(-ENOMEM);
    table_free(l.table);
    if (code == CTL_EXIT_OK && d->json)
        ctl_print_count((int64_t)l.count);
    else if (code == CTL_EXIT_OK && !d->quiet)
        say("%" PRIu64 " job%s would be %s; nothing was changed", l.count,
            l.count == 1 ? "" : "s", d->done);
    return code;
}
