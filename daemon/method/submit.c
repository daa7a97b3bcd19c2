/* Submit and SubmitBatch: specs become jobs. The answer leaves after the
 * store's commit. */
#include "daemon/method/methods.h"

#include "daemon/config.h"
#include "daemon/method/job_json.h"
#include "daemon/method/params.h"
#include "daemon/method/spec_json.h"
#include "wire/json.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Specs of a batch that are read in one poll: about 200 us. */
#define SPECS_PER_POLL 64

/* --- Submit ------------------------------------------------------------------------- */

struct submit {
    struct job_spec *spec;
    struct manager_submit_item item;
    struct manager_submit leaf;
    bool begun;
};

/* 0, or the call has been answered. */
static int begin_submit(struct call *call, struct submit *s)
{
    struct params {
        json_t *spec;
    } in = {NULL};
    static const struct field fields[] = {
        FIELD(struct params, spec, FIELD_OBJECT, .required = true),
        {.name = NULL},
    };
    struct field_error err;
    int r = params_read(call, fields, &in);

    if (r < 0)
        return r;
    r = spec_from_json(in.spec, call_config(call), &s->spec, &err);
    if (r < 0) {
        field_prefix(&err, "spec");
        (void)params_refuse(call, &err);
        return r;
    }
    s->item.spec = s->spec;
    manager_submit_init(&s->leaf, call_service(call)->manager, call_peer(call), &s->item,
                        1, true);
    s->begun = true;
    return 0;
}

static const char *reason(const struct manager_submit_item *item)
{
    return item->ret_text ? item->ret_text : strerror(-item->ret_error);
}

static enum volt_poll refuse(struct call *call, const struct manager_submit_item *item)
{
    const struct config *config = call_config(call);

    switch (item->ret_error) {
    case -ENOMEM:
        return call_abort(call);
    case -ESHUTDOWN:
        return call_error(call, "org.voltd.jobs.ShuttingDown",
                          json_pack("{s:o}", "reason", wire_text(reason(item))));
    case -EEXIST:
        return call_error(call, "org.voltd.jobs.KeyTaken",
                          json_pack("{s:o}", "reason", wire_text(reason(item))));
    case -ENOSPC:
    case -EIO:
        return call_error(call, "org.voltd.jobs.StoreUnavailable",
                          json_pack("{s:o}", "reason", wire_text(reason(item))));
    case -EDQUOT:
        return call_error(call, "org.voltd.jobs.TooManyJobs",
                          json_pack("{s:I,s:o}", "limit",
                                    (json_int_t)config->max_jobs_per_user, "reason",
                                    wire_text(reason(item))));
    default:
        return call_error(call, "org.voltd.jobs.Refused",
                          json_pack("{s:o}", "reason", wire_text(reason(item))));
    }
}

static enum volt_poll submit_poll(struct volt_cx *cx, struct call *call, void *state)
{
    struct submit *s = state;

    if (!s->begun && begin_submit(call, s) < 0)
        return VOLT_READY;
    if (manager_submit_poll(cx, &s->leaf) == VOLT_PENDING)
        return VOLT_PENDING;
    if (s->item.ret_id == 0)
        return refuse(call, &s->item);
    return call_reply(call, json_pack("{s:o,s:b,s:b}", "id",
                                      job_id_to_json(s->item.ret_id, JOB_NO_INDEX),
                                      "created", (int)!s->item.ret_existed, "durable",
                                      (int)s->leaf.ret_durable));
}

static void submit_drop(struct call *call, void *state)
{
    struct submit *s = state;

    (void)call;
    if (s->begun)
        manager_submit_fini(&s->leaf);
    free(s->item.ret_text);
    job_spec_unref(s->spec);
}

const struct method method_submit = {
    .name = "Submit",
    .state_size = sizeof(struct submit),
    .poll = submit_poll,
    .drop = submit_drop,
};

/* --- SubmitBatch -------------------------------------------------------------------- */

/* Entries that are refused here never reach the manager: items has the
 * others, in order. */
struct batch {
    struct batch_params {
        json_t *specs; /* see call_list_next() */
        bool atomic;
    } in;
    size_t next;                       /* entry to read; at the end: how many there are */
    struct manager_submit_item *items; /* of the entries that can be read */
    size_t nitems;
    size_t *position; /* of each item: its entry */
    json_t *rejected;
    struct manager_submit leaf;
    enum {
        BATCH_BEGIN = 0,
        BATCH_READ,
        BATCH_SUBMIT,
    } at;
    bool begun;
};

static void reject(struct batch *b, size_t position, const char *parameter,
                   const char *why)
{
    wire_add(&b->rejected,
             json_pack("{s:I,s:o,s:o}", "position", (json_int_t)position, "parameter",
                       wire_text(parameter), "reason", wire_text(why)));
}

static int begin_batch(struct call *call, struct batch *b)
{
    static const struct field fields[] = {
        FIELD(struct batch_params, specs, FIELD_ARRAY, .required = true),
        FIELD(struct batch_params, atomic, FIELD_BOOL),
        {.name = NULL},
    };
    size_t n;

    if (params_read(call, fields, &b->in) < 0)
        return -EINVAL;
    n = call_list_size(call);
    if (n > call_config(call)->max_batch_jobs) {
        struct field_error err;
        (void)field_fail(&err, "specs", "must have at most %llu entries (MaxBatchJobs=)",
                         (unsigned long long)call_config(call)->max_batch_jobs);
        (void)params_refuse(call, &err);
        return -EINVAL;
    }
    b->items = calloc(n + 1, sizeof(*b->items));
    b->position = calloc(n + 1, sizeof(*b->position));
    b->rejected = json_array();
    if (b->items && b->position && b->rejected)
        return 0;
    (void)call_abort(call);
    return -ENOMEM;
}

/* Entries that equal the one before them share its spec: batches mostly are one command
 * many times over. Takes spec, returns the one to use. */
static struct job_spec *share_spec(const struct batch *b, struct job_spec *spec)
{
    struct job_spec *before = b->nitems ? b->items[b->nitems - 1].spec : NULL;

    if (!before || !job_spec_equal(before, spec))
        return spec;
    job_spec_unref(spec);
    return job_spec_ref(before);
}

static int read_entry(struct call *call, struct batch *b, json_t *entry)
{
    struct job_spec *spec;
    struct field_error err;
    int r = spec_from_json(entry, call_config(call), &spec, &err);

    if (r == -ENOMEM)
        return r;
    if (r < 0) {
        reject(b, b->next, err.path, err.reason);
    } else {
        b->items[b->nitems].spec = share_spec(b, spec);
        b->position[b->nitems++] = b->next;
    }
    b->next++;
    return 0;
}

/* Reads some entries. 1: there may be more. */
static int read_batch(struct call *call, struct batch *b)
{
    for (unsigned i = 0; i < SPECS_PER_POLL; i++) {
        json_t *entry;
        int r = call_list_next(call, &entry);

        if (r <= 0)
            return r;
        r = read_entry(call, b, entry);
        json_decref(entry);
        if (r < 0)
            return r;
    }
    return 1;
}

/* The list ends in something that is no value: as with any message that is not JSON, there
 * is nobody to answer. But one too large is told so. */
static enum volt_poll give_up(struct call *call, const struct batch *b, int error)
{
    char where[64];

    if (error != -E2BIG)
        return call_abort(call);
    (void)snprintf(where, sizeof(where), "specs[%zu]", b->next);
    return call_invalid_parameter(call, where,
                                  "needs more memory to be parsed than MaxParseMemory=");
}

static enum volt_poll answer_batch(struct call *call, struct batch *b)
{
    size_t item = 0;
    json_t *ids = json_array();

    for (size_t i = 0; i < b->next; i++) {
        const struct manager_submit_item *it = &b->items[item];
        bool taken = item < b->nitems && b->position[item] == i;

        if (taken)
            item++;
        if (taken && it->ret_id == 0 && it->ret_error < 0)
            reject(b, i, "", reason(it));
        wire_add(&ids, taken && it->ret_id ? job_id_to_json(it->ret_id, JOB_NO_INDEX)
                                           : json_string(""));
    }
    return call_reply(call, json_pack("{s:o,s:O,s:b}", "ids", ids, "rejected",
                                      b->rejected, "durable", (int)b->leaf.ret_durable));
}

static enum volt_poll batch_poll(struct volt_cx *cx, struct call *call, void *state)
{
    struct batch *b = state;

    if (b->at == BATCH_BEGIN) {
        if (begin_batch(call, b) < 0)
            return VOLT_READY;
        b->at = BATCH_READ;
    }
    if (b->at == BATCH_READ) {
        int r = read_batch(call, b);
        if (r < 0 || !b->rejected)
            return give_up(call, b, r);
        if (r > 0) {
            volt_cx_wake(cx); /* others first */
            return VOLT_PENDING;
        }
        if (b->nitems == 0 || (b->in.atomic && json_array_size(b->rejected) > 0)) {
            b->leaf.ret_durable = manager_durable(call_service(call)->manager);
            return answer_batch(call, b);
        }
        manager_submit_init(&b->leaf, call_service(call)->manager, call_peer(call),
                            b->items, b->nitems, b->in.atomic);
        b->begun = true;
        b->at = BATCH_SUBMIT;
    }
    if (manager_submit_poll(cx, &b->leaf) == VOLT_PENDING)
        return VOLT_PENDING;
    return answer_batch(call, b);
}

static void batch_drop(struct call *call, void *state)
{
    struct batch *b = state;

    (void)call;
    if (b->begun)
        manager_submit_fini(&b->leaf);
    for (size_t i = 0; i < b->nitems; i++) {
        job_spec_unref(b->items[i].spec);
        free(b->items[i].ret_text);
    }
    free(b->items);
    free(b->position);
    json_decref(b->rejected);
}

const struct method method_submit_batch = {
    .name = "SubmitBatch",
    .state_size = sizeof(struct batch),
    .poll = batch_poll,
    .drop = batch_drop,
};
