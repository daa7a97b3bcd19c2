/* See steer.h. */
#include "client/voltctl/steer.h"
#include "client/id_range.h"
#include "client/job_view.h"
#include "client/progress.h"
#include "client/say.h"
#include "client/voltctl/dry_run.h"

#include <inttypes.h>

enum { OPT_QUIET = OPTION_LONG };

#define STEER_OPTIONS                                                                    \
    {"all", 'a', NULL, "every job"}, CTL_FILTER_OPTIONS, CTL_TIME_OPTIONS,               \
        {"quiet", OPT_QUIET, NULL, "do not say how many"},                               \
    {                                                                                    \
        "json", CTL_OPT_JSON, NULL, "how many, as JSON on standard output"               \
    }

const struct option_entry steer_options[] = {STEER_OPTIONS, CTL_OPTIONS_END};
const struct option_entry steer_dry_options[] = {CTL_DRY_RUN_OPTION, STEER_OPTIONS,
                                                 CTL_OPTIONS_END};

struct steer {
    const struct steer_words *words;
    json_t *filter;
    bool all, quiet, json, dry_run;
};

/* Steers jobs, and shows progress on a terminal, as a million jobs take a while. Adds the
 * number of jobs to *count. */
static int follow(struct ctl *ctl, const struct steer *s, json_t *params,
                  struct progress_line *line, int64_t *count)
{
    struct client_reply reply = CLIENT_REPLY_EMPTY;
    int r = client_send(ctl->client, s->words->method, params, CLIENT_MORE);
    bool more = r == 0;
    while (more) {
        client_reply_fini(&reply);
        r = client_receive(ctl->client, CLIENT_FOREVER, &reply);
        more = r == 1 && !reply.error && reply.continues;
        if (more)
            progress_line_count(
                line, (uint64_t)(*count + job_view_int(reply.parameters, "count")),
                s->words->done);
    }
    progress_line_clear(line);
    int code = r < 0 ? ctl_lost(r) : reply.error ? ctl_refused(&reply) : CTL_EXIT_OK;
    if (code == CTL_EXIT_OK)
        *count += job_view_int(reply.parameters, "count");
    client_reply_fini(&reply);
    return code;
}

static json_t *parameters(const struct steer *s, char *const *ids, size_t n)
{
    json_t *params = json_object();
    if (n > 0) /* inside the filter, so that jobs must match both */
        (void)json_object_set_new(s->filter ? s->filter : params, "ids", id_list(ids, n));
    if (s->filter || s->all)
        (void)json_object_set_new(params, "filter",
                                  s->filter ? json_incref(s->filter) : json_object());
    return params;
}

/* Steers the ids, in several messages if needed: if one is no job, none is steered. */
static int steer_ids(struct ctl *ctl, const struct steer *s, char *const *ids,
                     size_t nids, int64_t *count)
{
    struct progress_line line;
    progress_line_init(&line, !s->quiet);
    size_t at = 0, n = id_portion(ids, nids);
    int code = n < nids || s->filter ? ctl_ids_check(ctl, ids, nids) : CTL_EXIT_OK;
    do {
        if (code == CTL_EXIT_OK)
            code = follow(ctl, s, parameters(s, ids + at, n), &line, count);
        at += n;
        n = id_portion(ids + at, nids - at);
    } while (code == CTL_EXIT_OK && n > 0);
    return code;
}

static int steer(struct ctl *ctl, const struct steer *s)
{
    char **ids;
    int n = ctl_ids(ctl, 0, &ids);
    if (n < 0)
        return ctl->code;
    if (n == 0 && !s->filter && !s->all)
        return ctl_usage(ctl, "ids, a filter or --all are needed");
    if (s->all && n > 0)
        return ctl_usage(ctl, "--all and ids are too much");
    int code = ctl_choose(ctl, NULL);
    if (code != CTL_EXIT_OK)
        return code;
    ids = ctl->ids;
    n = (int)ctl->nids;
    if (s->dry_run)
        return dry_run_print(ctl, &(struct dry_run){.done = s->words->done,
                                                    .filter = s->filter,
                                                    .ids = ids,
                                                    .nids = (size_t)n,
                                                    .quiet = s->quiet,
                                                    .json = s->json});
    int64_t count = 0;
    code = steer_ids(ctl, s, ids, (size_t)n, &count);
    if (code == CTL_EXIT_NO_SUCH_JOB && n > 1 && count == 0)
        say("none of the %d has been %s", n, s->words->done);
    const char *why = count == 0 && !s->filter && !s->all ? s->words->none : NULL;
    const char *others = count == 0 ? ctl_none_text(ctl, s->filter) : "";
    if (code == CTL_EXIT_OK && s->json)
        ctl_print_count(count);
    else if ((code == CTL_EXIT_OK || count > 0) && !s->quiet)
        say("%" PRId64 " job%s %s%s%s%s", count, count == 1 ? "" : "s", s->words->done,
            why ? ": " : "", why ? why : "", others);
    return code;
}

int steer_run(struct ctl *ctl, const struct steer_words *words)
{
    struct steer s = {.words = words};
    int key, code = CTL_EXIT_OK;
    while ((key = ctl_option(ctl)) != OPTION_END && code == CTL_EXIT_OK) {
        if (key == OPTION_BAD) {
            json_decref(s.filter);
            return ctl->code;
        }
        if (ctl_filter_take(&s.filter, key, ctl->options.arg) < 0)
            code = CTL_EXIT_USAGE;
        s.all |= key == 'a';
        s.quiet |= key == OPT_QUIET;
        s.json |= key == CTL_OPT_JSON;
        s.dry_run |= key == CTL_OPT_DRY_RUN;
    }
    if (code == CTL_EXIT_OK)
        code = steer(ctl, &s);
    json_decref(s.filter);
    return code;
}
