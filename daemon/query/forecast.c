/* See forecast.h. */
#include "daemon/query/forecast.h"

#include "daemon/admit/admission.h"
#include "daemon/core/durations.h"
#include "daemon/core/elements.h"
#include "daemon/core/jobs.h"
#include "daemon/core/parts.h"
#include "daemon/core/tx.h"
#include "daemon/query/view.h"

/* --- what runs ---------------------------------------------------------------------- */

bool forecast_add(struct forecast_running *r, const struct job_view *v)
{
    const uint64_t now = jobs_now_usec();
    const uint64_t since = v->status.started_usec + v->status.paused_usec;
    const uint64_t ran = v->has_counts ? ESTIMATE_UNKNOWN : since < now ? now - since : 0;

    uint64_t n = v->has_counts ? v->running : 1;

    for (; n > 0 && r->n < ESTIMATE_HELD; n--) {
        r->job[r->n].tag = v->name_tag;
        r->job[r->n++].ran_usec = ran;
    }
    return r->n < ESTIMATE_HELD;
}

/* --- tables ------------------------------------------------------------------------- */

struct forecast {
    const struct durations *all;
    uid_t uid;
    uint32_t tags[ESTIMATE_TABLES];
    struct estimate_in *to;
    bool unknown; /* what of the user's own has a place, or is before it, ... */
    bool untimed; /* ... or how long one of these runs */
};

static bool add_table(struct forecast *f, const struct sketch *s, uint32_t tag)
{
    struct estimate_in *in = f->to;

    if (!s || in->tables == ESTIMATE_TABLES)
        return false;
    f->tags[in->tables] = tag;
    in->table[in->tables].runs = s->n;
    sketch_points(s, in->table[in->tables++].points);
    return true;
}

/* That of jobs of one name. */
static uint8_t table_of(struct forecast *f, uint32_t tag)
{
    for (size_t i = 1; i < f->to->tables; i++)
        if (f->tags[i] == tag)
            return (uint8_t)i;
    if (add_table(f, durations_of_name(f->all, f->uid, tag), tag))
        return (uint8_t)(f->to->tables - 1);
    f->untimed = true;
    return 0;
}

/* --- what is before it -------------------------------------------------------------- */

/* Which of those that run have the places is known where they are as many. */
static void add_held(struct forecast *f, const struct forecast_running *r, uint64_t own,
                     uint64_t used)
{
    struct estimate_in *in = f->to;

    if (r->n != (own < ESTIMATE_HELD ? own : ESTIMATE_HELD))
        f->untimed = true;
    for (size_t i = 0; i < r->n; i++)
        in->held[in->nheld++] =
            (struct estimate_held){table_of(f, r->job[i].tag), r->job[i].ran_usec};
    in->others = used > in->nheld ? used - in->nheld : 0;
}

static void add_alike(struct forecast *f, const struct job *job, uint64_t n)
{
    struct estimate_in *in = f->to;
    const uint8_t table = n ? table_of(f, job->name_tag) : 0;

    for (; n > 0 && in->nfront < ESTIMATE_FRONT; n--)
        in->front[in->nfront++] = table;
    in->front_more += n;
}

/* Of an array all elements that wait are before it. */
static void add_waiter(struct forecast *f, const struct job *job)
{
    add_alike(f, job, job->array ? job->array->rest + job->elements->nwaiting : 1);
}

/* Of an element's own array those that begin before it: what is tried again, and those of
 * lower index that nothing has happened to. Not all of them run where slots are free, if
 * the array has a limit. */
static void add_elements(struct forecast *f, const struct job *job, int64_t offset,
                         bool is_at_limit)
{
    const struct array *a = job->array;
    const uint64_t from = a ? (uint64_t)array_next(a) : 0, to = (uint64_t)offset;
    uint64_t n = 0;

    if (!a || offset == NO_OFFSET)
        return;
    if (array_own(a, offset) || to < from || to - from > ESTIMATE_FRONT ||
        (job->spec->at_once && !is_at_limit)) {
        f->unknown = true;
        return;
    }
    for (uint64_t at = from; at < to; at++)
        n += !array_own(a, (int64_t)at);
    add_alike(f, job, n + job->elements->nwaiting);
}

/* Where the user has others in the line they may be before it as well. */
static void add_front(struct forecast *f, const struct core *core, const struct waiter *w,
                      uint64_t in_front)
{
    struct waiter *before[ESTIMATE_FRONT];
    size_t n = admission_alike_before(w, before, ESTIMATE_FRONT), known = 0;

    for (; known < n && known < in_front; known++) {
        if (before[known]->is_lease)
            f->unknown = true;
        else
            add_waiter(f, list_thing(before[known], const struct job, waiter));
    }
    if (in_front > known && admission_classes_of(parts_of(core)->admit, f->uid) > 1)
        f->unknown = true;
    f->to->front_more += in_front - known;
}

/* Its user's own job has the lock, for so long; or something else has. */
static void add_holder(struct forecast *f, struct core *core, const struct why_line *line)
{
    struct forecast_running one = {.n = 0};
    const struct asker same_user = auth_user(f->uid);
    int64_t offset;
    const struct job *job =
        jobs_find(core, &same_user, line->holder.id, line->holder.index, &offset);

    if (job) {
        one.job[one.n].tag = job->name_tag;
        one.job[one.n++].ran_usec = line->held_usec;
    }
    add_held(f, &one, line->own, line->used);
}

/* Those that run of an array at its limit: they are among the latest that began. */
static void add_running(struct forecast *f, const struct job *job, uint64_t used)
{
    const uint64_t most = used < ESTIMATE_HELD ? used : ESTIMATE_HELD;
    const uint64_t now = jobs_now_usec();
    struct forecast_running held = {.n = 0};
    int64_t at = array_next(job->array);

    if (at == ARRAY_WHOLE)
        at = (int64_t)job->array->total;
    for (int looks = 0; at > 0 && looks < ESTIMATE_FRONT && held.n < most; looks++) {
        const struct job_status *st = array_own(job->array, --at);

        if (!st || !(JOB_BUSY_STATES & 1u << st->state))
            continue;
        f->untimed |= st->state == JOB_PAUSED;
        const uint64_t since =
            st->started_usec ? st->started_usec + st->paused_usec : now;
        held.job[held.n].tag = job->name_tag;
        held.job[held.n++].ran_usec = since < now ? now - since : 0;
    }
    add_held(f, &held, used, used);
}

static void add_all(struct forecast *f, struct core *core, const struct job *job,
                    int64_t offset, const struct why_line *line,
                    const struct forecast_running *running)
{
    if (line->of_array)
        add_running(f, job, line->used);
    else if (line->holder.id)
        add_holder(f, core, line);
    else
        add_held(f, running, line->own, line->used);
    add_front(f, core, &job->waiter, line->in_front);
    add_elements(f, job, offset, line->of_array);
}

bool query_forecast_of(struct core *core, const struct job *job, int64_t offset,
                       const struct why_line *line,
                       const struct forecast_running *running, struct estimate_in *ret)
{
    struct forecast f = {
        .all = parts_of(core)->durations, .uid = job->owner.uid, .to = ret};

    *ret = (struct estimate_in){.places = line->places,
                                .first_usec = line->first_usec,
                                .step_usec = line->step_usec};
    core_did(core, FORECAST_LOOKS, 0, 0);
    if (job->waiter.state != WAITER_LINE ||
        !(add_table(&f, durations_of_user(f.all, f.uid), 0) || line->step_usec))
        return false;
    add_all(&f, core, job, offset, line, running);
    if (f.unknown)
        return false;
    return estimate_is_exact(ret) ||
           (!f.untimed && (!line->step_usec || line->places <= ESTIMATE_HELD));
}

bool query_forecast(struct core *core, const struct asker *asker,
                    const struct job_key *key, const struct why_line *line,
                    const struct forecast_running *running, struct estimate_in *ret)
{
    int64_t offset;

    core_lock(core);
    const struct job *job = jobs_find(core, asker, key->id, key->index, &offset);
    const bool good = job && query_forecast_of(core, job, offset, line, running, ret);
    core_unlock(core);
    return good;
}
