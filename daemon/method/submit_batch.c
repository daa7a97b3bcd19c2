/* SubmitBatch: specs become jobs, all of them or those that can. The answer follows the
 * store's commit.
 *
 * A batch may have 200,000 specs, so no poll works on all of them: specs are parsed and
 * checked one by one, sorted if they have local names, and submitted in slices. The
 * answer is written as text bit by bit; a tree would cost 100 bytes per id. */
#include "daemon/method/methods.h"

#include "daemon/config/config.h"
#include "daemon/job/env.h"
#include "daemon/method/batch_names.h"
#include "daemon/method/params.h"
#include "daemon/method/spec_json.h"
#include "wire/spec_defaults.h"
#include "wire/spec_local.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define SPEC_COST 8 /* entries of a turn per spec */

#define FREE_MAX 256 /* items freed at once */

/* A batch. Entries refused here never reach core: items has the others, in order. */
struct batch {
    struct batch_params {
        json_t *specs; /* borrowed; see call_list_next() */
        json_t *defaults;
        bool atomic, dry_run;
    } in;
    json_t *defaults;               /* NULL: none */
    size_t defaults_bytes;          /* as text */
    struct job_env *env;            /* of the defaults, once parsed */
    struct job_rlimits rlimits;     /* likewise; `given` is 0 before */
    size_t next;                    /* entry to read; at the end: number of entries */
    struct jobs_submit_item *items; /* of the readable entries */
    size_t nitems;
    size_t *position; /* per item: its entry */
    struct batch_names names;
    struct jobs_submit leaf;
    bool begun;                    /* of leaf */
    size_t answered, item;         /* entries; item: of these, items */
    bool taken, ending;            /* an item is a job; one was refused, as voltd ends */
    struct wire_buf ids, rejected; /* of the answer: entries */
    enum {
        BATCH_BEGIN = 0,
        BATCH_READ,
        BATCH_SORT,
        BATCH_SUBMIT,
        BATCH_ANSWER,
    } at;
};

/* Adds an entry to `rejected`. 0 or -ENOMEM. */
static int reject(struct batch *b, size_t position, const char *parameter,
                  const char *why, bool temporary)
{
    struct wire_writer to = {.out = &b->rejected};

    wire_open(&to, NULL, '{');
    wire_put_int(&to, "position", (int64_t)position);
    wire_put_text(&to, "parameter", parameter);
    wire_put_text(&to, "reason", why);
    if (temporary)
        wire_put_bool(&to, "temporary", true);
    wire_close(&to, '}');
    return to.error;
}

/* Limits specs with their defaults to MaxBatch=, as if each had been sent whole. */
static int check_size(struct call *call, const struct batch *b, size_t n)
{
    const struct config *config = call_config(call);
    struct field_error err;

    if (n > config->max_batch_jobs)
        (void)field_fail(&err, "specs", "must have at most %llu entries (MaxBatchJobs=)",
                         (unsigned long long)config->max_batch_jobs);
    else if (b->defaults_bytes > 0 && n > config->max_batch / b->defaults_bytes)
        (void)field_fail(&err, "defaults",
                         "has %zu bytes, which %zu specs get: more than MaxBatch= (%llu "
                         "bytes) together; send fewer specs at once",
                         b->defaults_bytes, n, (unsigned long long)config->max_batch);
    else
        return 0;
    (void)params_refuse(call, &err);
    return -EINVAL;
}

static int begin_batch(struct call *call, struct batch *b)
{
    static const struct field fields[] = {
        FIELD(struct batch_params, specs, FIELD_ARRAY, .required = true),
        FIELD(struct batch_params, defaults, FIELD_OBJECT),
        FIELD(struct batch_params, atomic, FIELD_BOOL),
        FIELD(struct batch_params, dry_run, FIELD_BOOL),
        {.name = NULL},
    };
    size_t n;

    if (params_borrow(call, fields, &b->in) < 0)
        return -EINVAL;
    n = call_list_size(call);
    if (b->in.defaults && json_object_size(b->in.defaults) > 0) {
        b->defaults = json_incref(b->in.defaults);
        b->defaults_bytes = json_dumpb(b->defaults, NULL, 0, JSON_COMPACT);
    }
    if (check_size(call, b, n) < 0)
        return -EINVAL;
    b->items = calloc(n + 1, sizeof(*b->items));
    b->position = calloc(n + 1, sizeof(*b->position));
    call_holds(call, n * (sizeof(*b->items) + sizeof(*b->position)));
    if (b->items && b->position)
        return 0;
    (void)call_abort(call);
    return -ENOMEM;
}

/* Shares the spec of the previous entry if equal: most batches repeat one command. Takes
 * spec, returns the one to use. */
static struct job_spec *share_spec(const struct batch *b, struct job_spec *spec)
{
    struct job_spec *before = b->nitems ? b->items[b->nitems - 1].spec : NULL;

    if (!before || !job_spec_equal(before, spec))
        return spec;
    job_spec_unref(spec);
    return job_spec_ref(before);
}

/* Returns whether the entry's env is that of the defaults. */
static bool has_default_env(const struct batch *b, json_t *entry)
{
    const json_t *env = json_object_get(b->defaults, "env");

    return env && json_object_get(entry, "env") == env;
}

static const json_t *rlimits_of(const json_t *spec)
{
    return json_object_get(json_object_get(spec, "limits"), "rlimits");
}

/* Returns whether the entry's resource limits are those of the defaults. */
static bool has_default_rlimits(const struct batch *b, const json_t *entry)
{
    const json_t *rlimits = rlimits_of(b->defaults);

    return rlimits && rlimits_of(entry) == rlimits;
}

/* Reads an entry with its defaults, whose environment and resource limits are parsed
 * once. */
static int read_spec(struct call *call, struct batch *b, json_t *entry,
                     struct job_spec **ret, struct field_error *err)
{
    const bool same_env = has_default_env(b, entry);
    const bool same_rlimits = has_default_rlimits(b, entry);
    const struct spec_known known = {
        .env = same_env ? b->env : NULL,
        .rlimits = same_rlimits && b->rlimits.given ? &b->rlimits : NULL};
    int r = spec_from_json(entry, call_config(call), &known, ret, err);

    if (r == 0 && same_env && !b->env && (*ret)->env)
        b->env = job_env_ref((*ret)->env);
    if (r == 0 && same_rlimits && (*ret)->rlimits)
        b->rlimits = *(*ret)->rlimits;
    return r;
}

static int read_entry(struct call *call, struct batch *b, json_t *entry)
{
    struct job_spec *spec;
    struct field_error err;
    int r = 0;

    if (b->defaults && json_is_object(entry))
        r = spec_add_defaults(entry, b->defaults);
    b->in.atomic |= spec_says_local(entry); /* also for a refused entry */
    if (r == 0)
        r = read_spec(call, b, entry, &spec, &err);
    if (r == -ENOMEM)
        return r;
    if (r == 0 && (r = check_rights(call, spec, &err)) < 0)
        job_spec_unref(spec);
    if (r == 0 && (r = batch_names_take(&b->names, spec, b->nitems)) < 0) {
        job_spec_unref(spec);
        return r;
    }
    if (r < 0) {
        r = reject(b, b->next, err.path, err.reason, false);
    } else {
        b->items[b->nitems].spec = share_spec(b, spec);
        b->position[b->nitems++] = b->next;
    }
    b->next++;
    return r;
}

/* Reads as many entries as the turn allows. 1: there may be more, and the task is
 * woken. */
static int read_batch(struct volt_cx *cx, struct call *call, struct batch *b)
{
    while (call_turn_poll(cx, call) == VOLT_READY) {
        json_t *entry;
        int r = call_list_next(call, &entry);

        if (r <= 0)
            return r;
        call_did(call, SPEC_COST - 1, b->defaults_bytes);
        r = read_entry(call, b, entry);
        json_decref(entry);
        if (r < 0)
            return r;
    }
    return 1;
}

/* Ends the call: the list is not JSON, and like any such message gets no answer. A list
 * that is too large, or repeats a name, gets one. */
static enum volt_poll give_up(struct call *call, const struct batch *b, int error)
{
    char where[64];
    const bool twice = error == -EEXIST;

    if (error != -E2BIG && !twice)
        return call_abort(call);
    (void)snprintf(where, sizeof(where), "specs[%zu]%s", b->next, twice ? ".local" : "");
    return call_invalid_parameter(
        call, where,
        twice ? "is the local name of an earlier one as well"
              : "needs more memory to be parsed than MaxParseMemory=");
}

/* Sorts the items, each after those that it waits for. READY: done, or the call has been
 * answered: *ret_answered. */
static enum volt_poll sort_batch(struct volt_cx *cx, struct call *call, struct batch *b,
                                 bool *ret_answered)
{
    struct field_error err;
    char where[64];
    int r = 0;

    while (r == 0 && call_turn_poll(cx, call) == VOLT_READY)
        r = batch_names_sort(&b->names, b->items, b->nitems, call_quota(call), &err);
    if (r == 0)
        return VOLT_PENDING;
    *ret_answered = r < 0;
    if (r > 0) {
        free(b->items);
        b->items = batch_names_sorted(&b->names);
    }
    if (r == -ENOMEM)
        return call_abort(call);
    if (r < 0) {
        (void)snprintf(where, sizeof(where), "specs[%zu]", b->position[b->names.at]);
        field_prefix(&err, where);
        (void)params_refuse(call, &err);
    }
    return VOLT_READY;
}

static void free_items(struct jobs_submit_item *items, size_t from, size_t to)
{
    for (; from < to; from++) {
        job_spec_unref(items[from].spec);
        free(items[from].ret_text);
        items[from] = (struct jobs_submit_item){.spec = NULL};
    }
}

/* --- the answer --------------------------------------------------------------------- */

static int answer_entry(struct batch *b)
{
    const size_t place = batch_names_place(&b->names, b->item);
    const struct jobs_submit_item *it = &b->items[place];
    struct wire_writer to = {.out = &b->ids};
    char text[JOB_KEY_TEXT_MAX] = "";
    size_t at = b->answered++;

    if (b->item < b->nitems && b->position[b->item] == at) {
        const struct job_key key = {.id = it->ret_id, .index = JOB_NO_INDEX};

        b->taken |= it->ret_id != 0;
        b->ending |= it->ret_error == -ESHUTDOWN;
        if (it->ret_id)
            (void)job_key_format_job(&key, text);
        else if (it->ret_error < 0)
            to.error = reject(b, at, "", jobs_submit_reason(it),
                              jobs_submit_is_temporary(it->ret_error));
        free_items(b->items, place, place + 1);
        b->item++;
    }
    wire_put_text(&to, NULL, text);
    return to.error;
}

static void put_list(struct wire_writer *to, const char *name,
                     const struct wire_buf *entries)
{
    wire_open(to, name, '[');
    if (wire_buf_len(entries) > 0)
        wire_put_raw(to, NULL, wire_buf_at(entries), wire_buf_len(entries));
    wire_close(to, ']');
}

static enum volt_poll answer_batch(struct volt_cx *cx, struct call *call, struct batch *b)
{
    struct wire_buf text = {0};
    struct wire_writer reply = {.out = &text};
    int r = 0;

    for (; b->answered < b->next && r == 0; call_did(call, 1, 0)) {
        if (call_turn_poll(cx, call) == VOLT_PENDING)
            return VOLT_PENDING;
        r = answer_entry(b);
    }
    if (r < 0)
        return call_abort(call);
    if (b->ending && !b->taken)
        return shutting_down(call);
    wire_open(&reply, NULL, '{');
    put_list(&reply, "ids", &b->ids);
    put_list(&reply, "rejected", &b->rejected);
    wire_put_bool(&reply, "durable", b->leaf.ret_durable);
    wire_close(&reply, '}');
    return call_reply_text(call, &reply);
}

/* Chooses the next step after all entries are read. */
static void end_reading(struct call *call, struct batch *b)
{
    const bool refused = wire_buf_len(&b->rejected) > 0;

    b->leaf.ret_durable = query_durable(call_service(call)->core);
    if (b->nitems == 0 || b->in.dry_run || (b->in.atomic && refused))
        b->at = BATCH_ANSWER;
    else
        b->at = b->names.used ? BATCH_SORT : BATCH_SUBMIT;
}

static void begin_submission(struct call *call, struct batch *b)
{
    if (b->begun)
        return;
    jobs_submit_init(&b->leaf, call_service(call)->core, call_peer(call), b->items,
                     b->nitems, b->in.atomic);
    b->begun = true;
}

/* Sorts the items if they have names, and submits them. READY like sort_batch(). */
static enum volt_poll submit_items(struct volt_cx *cx, struct call *call, struct batch *b,
                                   bool *ret_answered)
{
    if (b->at == BATCH_SORT) {
        if (sort_batch(cx, call, b, ret_answered) == VOLT_PENDING)
            return VOLT_PENDING;
        if (*ret_answered)
            return VOLT_READY;
        b->at = BATCH_SUBMIT;
    }
    begin_submission(call, b);
    return submission_poll(cx, call, &b->leaf);
}

static enum volt_poll batch_poll(struct volt_cx *cx, struct call *call, void *state)
{
    struct batch *b = state;
    bool answered = false;

    if (b->at == BATCH_BEGIN) {
        if (begin_batch(call, b) < 0)
            return VOLT_READY;
        b->at = BATCH_READ;
    }
    if (b->at == BATCH_READ) {
        int r = read_batch(cx, call, b);
        if (r < 0)
            return give_up(call, b, r);
        if (r > 0)
            return VOLT_PENDING;
        end_reading(call, b);
    }
    if (b->at < BATCH_ANSWER) {
        if (submit_items(cx, call, b, &answered) == VOLT_PENDING)
            return VOLT_PENDING;
        if (answered)
            return VOLT_READY;
        b->at = BATCH_ANSWER;
    }
    return answer_batch(cx, call, b);
}

/* --- what is left at the end -------------------------------------------------------- */

struct leftover {
    struct jobs_submit_item *items;
    size_t from, to;
    struct batch_names names;
};

static enum volt_poll leftover_poll(struct volt_cx *cx, void *state)
{
    (void)cx;
    (void)state;
    return VOLT_READY;
}

static void leftover_drop(void *state)
{
    struct leftover *l = state;

    free_items(l->items, l->from, l->to);
    free(l->items);
    batch_names_fini(&l->names);
}

static const struct volt_task_type leftover_type = {
    "rest of a batch", sizeof(struct leftover), leftover_poll, leftover_drop, NULL};

/* Frees all names and the items that were not answered; many items on a thread that is no
 * worker. */
static void drop_items(struct call *call, struct batch *b)
{
    const size_t from = b->names.used ? 0 : b->item; /* sorted: any item may be
                                                      * answered */
    struct leftover few = {
        .items = b->items, .from = from, .to = b->nitems, .names = b->names};
    struct leftover *many = b->nitems - from > FREE_MAX
                                ? volt_task_new(call_service(call)->rt, &leftover_type)
                                : NULL;

    if (!many) {
        leftover_drop(&few);
        return;
    }
    *many = few;
    (void)volt_task_spawn_blocking(many, NULL); /* a closing runtime drops it */
}

static void batch_drop(struct call *call, void *state)
{
    struct batch *b = state;

    if (b->begun)
        jobs_submit_fini(&b->leaf);
    drop_items(call, b);
    free(b->position);
    json_decref(b->defaults);
    job_env_unref(b->env);
    wire_buf_fini(&b->ids);
    wire_buf_fini(&b->rejected);
}

const struct method method_submit_batch = {
    METHOD_IS(jobs, SubmitBatch),
    .state_size = sizeof(struct batch),
    .poll = batch_poll,
    .drop = batch_drop,
};
