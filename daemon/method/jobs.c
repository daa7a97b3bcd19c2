/* The methods of org.voltd.jobs that answer at once: Get, List, Cancel, Signal; and
 * Forget. */
#include "daemon/method/methods.h"

#include "daemon/method/job_json.h"
#include "daemon/method/params.h"
#include "wire/json.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIST_MAX 1000

/* --- Get ---------------------------------------------------------------------------- */

static enum volt_poll get_poll(struct volt_cx *cx, struct call *call, void *state)
{
    struct params {
        struct job_key id;
        bool with_spec;
    } in = {.with_spec = false};
    static const struct field fields[] = {
        FIELD(struct params, id, FIELD_CUSTOM, .read = read_job_id, .required = true),
        FIELD(struct params, with_spec, FIELD_BOOL),
        {.name = NULL},
    };
    struct wire_buf text = {0};
    struct wire_writer reply = {.out = &text};
    struct job_view view;
    int r;

    (void)state;
    if (params_read(call, fields, &in) < 0)
        return VOLT_READY;
    r = manager_look(cx, call_service(call)->manager, call_peer(call), in.id.id,
                     in.id.index, &view);
    if (r < 0)
        return no_answer(call, r, &in.id);
    wire_open(&reply, NULL, '{');
    job_write(&reply, "job", &view, in.with_spec);
    wire_close(&reply, '}');
    job_view_fini(&view);
    return call_reply_text(call, &reply);
}

const struct method method_get = {.name = "Get", .poll = get_poll};

/* --- List --------------------------------------------------------------------------- */

struct list_params {
    struct filter filter;
    bool newest_first;
    uint64_t cursor, limit;
};

static int read_cursor(json_t *value, void *member, struct field_error *err)
{
    struct job_key key;

    if (read_job_id(value, &key, err) < 0 || key.index >= 0)
        return field_fail(err, "", "must be the cursor of an earlier answer");
    *(uint64_t *)member = key.id;
    return 0;
}

static int add_job(void *arg, const struct job_view *v)
{
    struct wire_writer *to = arg;

    job_write(to, NULL, v, false);
    return to->error;
}

static enum volt_poll list(struct volt_cx *cx, struct call *call,
                           const struct list_params *in)
{
    struct manager_filter filter = filter_for_manager(&in->filter);
    struct wire_buf text = {0};
    struct wire_writer reply = {.out = &text};
    uint64_t next = 0;
    char cursor[24];
    int r;

    filter.newest_first = in->newest_first;
    wire_open(&reply, NULL, '{');
    wire_open(&reply, "jobs", '[');
    r = manager_list_kept(cx, call_service(call)->manager, call_peer(call), &filter,
                          in->cursor, (size_t)in->limit, add_job, &reply, &next);
    if (r < 0) {
        wire_buf_fini(&text);
        return no_answer(call, r, NULL);
    }
    wire_close(&reply, ']');
    if (next) {
        (void)snprintf(cursor, sizeof(cursor), "%" PRIu64, next);
        wire_put_text(&reply, "cursor", cursor);
    }
    wire_close(&reply, '}');
    return call_reply_text(call, &reply);
}

static enum volt_poll list_poll(struct volt_cx *cx, struct call *call, void *state)
{
    static const struct field fields[] = {
        FIELD(struct list_params, filter, FIELD_STRUCT, .fields = filter_fields),
        FIELD(struct list_params, newest_first, FIELD_BOOL),
        FIELD(struct list_params, cursor, FIELD_CUSTOM, .read = read_cursor),
        FIELD(struct list_params, limit, FIELD_INT, .min = 1, .max = LIST_MAX),
        {.name = NULL},
    };
    struct list_params in = {.limit = LIST_MAX};
    enum volt_poll r = VOLT_READY;

    (void)state;
    if (params_read(call, fields, &in) == 0)
        r = list(cx, call, &in);
    filter_fini(&in.filter);
    return r;
}

const struct method method_list = {.name = "List", .poll = list_poll};

/* --- Cancel ------------------------------------------------------------------------- */

struct cancel_state {
    struct cancel_params {
        struct key_list ids;
        struct filter filter;
        bool filtered;
    } in;
    struct manager_filter filter;
    struct manager_cancel_all all;
    struct manager_barrier kept;
    int64_t count;
    enum {
        CANCEL_BEGIN = 0,
        CANCEL_ALL,
        CANCEL_KEEP,
    } at;
};

/* A job of an earlier voltd: nothing here steers it, but its processes can be reached. */
static enum volt_poll refuse_orphan(struct call *call, const struct job_key *key)
{
    char id[JOB_KEY_TEXT_MAX], reason[2 * JOB_KEY_TEXT_MAX + 96];

    (void)job_key_format_job(key, id);
    (void)snprintf(reason, sizeof(reason),
                   "job %s is of an earlier voltd and can only be signalled, as with "
                   "voltctl kill %s",
                   id, id);
    return call_error(call, "org.voltd.jobs.Refused",
                      json_pack("{s:s}", "reason", reason));
}

/* Ids that are named must be of jobs that can be cancelled. 0, or the call is answered. */
static int check_ids(struct volt_cx *cx, struct call *call, const struct key_list *ids)
{
    for (size_t i = 0; i < ids->n; i++) {
        const struct job_key *key = &ids->keys[i];
        struct job_view view;
        bool orphan;
        int r = manager_look(cx, call_service(call)->manager, call_peer(call), key->id,
                             key->index, &view);

        if (r < 0) {
            (void)no_answer(call, r, key);
            return r;
        }
        orphan = view.orphan && view.status.state != JOB_DONE;
        job_view_fini(&view);
        if (orphan) {
            (void)refuse_orphan(call, key);
            return -ESRCH;
        }
    }
    return 0;
}

/* All of the ids are looked at before the first is touched: one that cannot be cancelled
 * changes nothing. 0, or the call is answered. */
static int begin_cancel(struct volt_cx *cx, struct call *call, struct cancel_state *s)
{
    static const struct field fields[] = {
        FIELD(struct cancel_params, ids, FIELD_CUSTOM, .read = read_job_ids),
        FIELD(struct cancel_params, filter, FIELD_STRUCT, .fields = filter_fields,
              .present = FIELD_PRESENT(struct cancel_params, filtered)),
        {.name = NULL},
    };
    struct manager *m = call_service(call)->manager;
    const struct key_list *ids = &s->in.ids;

    if (params_read(call, fields, &s->in) < 0)
        return -EINVAL;
    if (!ids->keys && !s->in.filtered) {
        (void)call_invalid_parameter(
            call, "ids",
            "is missing: give ids, or a filter (an empty one is all your jobs)");
        return -EINVAL;
    }
    if (check_ids(cx, call, ids) < 0)
        return -EINVAL;
    for (size_t i = 0; i < ids->n; i++)
        s->count +=
            manager_cancel(m, call_peer(call), ids->keys[i].id, ids->keys[i].index) == 0;
    s->filter = filter_for_manager(&s->in.filter);
    s->all = (struct manager_cancel_all){
        .manager = m, .asker = *call_peer(call), .filter = &s->filter, .paced = true};
    return 0;
}

/* The answer leaves when what it says survives the daemon. */
static enum volt_poll cancel_poll(struct volt_cx *cx, struct call *call, void *state)
{
    struct cancel_state *s = state;

    if (s->at == CANCEL_BEGIN) {
        if (begin_cancel(cx, call, s) < 0)
            return VOLT_READY;
        s->at = CANCEL_ALL;
    }
    if (s->at == CANCEL_ALL) {
        if (s->in.filtered && manager_cancel_all_poll(cx, &s->all) == VOLT_PENDING)
            return VOLT_PENDING;
        if (s->all.ret < 0)
            return call_abort(call);
        manager_barrier_init(&s->kept, call_service(call)->manager);
        s->at = CANCEL_KEEP;
    }
    if (manager_barrier_poll(cx, &s->kept) == VOLT_PENDING)
        return VOLT_PENDING;
    return call_reply(
        call, json_pack("{s:I}", "count", (json_int_t)(s->count + s->all.ret_count)));
}

static void cancel_drop(struct call *call, void *state)
{
    struct cancel_state *s = state;

    (void)call;
    manager_cancel_all_fini(&s->all);
    manager_barrier_fini(&s->kept);
    free(s->in.ids.keys);
    filter_fini(&s->in.filter);
}

const struct method method_cancel = {
    .name = "Cancel",
    .state_size = sizeof(struct cancel_state),
    .poll = cancel_poll,
    .drop = cancel_drop,
};

/* --- Forget ------------------------------------------------------------------------- */

struct forget_state {
    struct forget_params {
        struct filter filter;
        uint64_t older_than_usec, keep;
    } in;
    struct manager_filter filter;
    struct manager_forget leaf;
    bool begun;
};

/* Ids that are named must be of ended jobs, each as a whole. 0, or the call is
 * answered. */
static int check_ended(struct volt_cx *cx, struct call *call, const struct key_list *ids)
{
    char id[JOB_KEY_TEXT_MAX], reason[JOB_KEY_TEXT_MAX + 64];

    for (size_t i = 0; i < ids->n; i++) {
        const struct job_key *key = &ids->keys[i];
        struct job_view view;
        int r = manager_look(cx, call_service(call)->manager, call_peer(call), key->id,
                             key->index, &view);

        if (r < 0) {
            (void)no_answer(call, r, key);
            return r;
        }
        bool ended = view.status.state == JOB_DONE && !view.orphan;
        job_view_fini(&view);
        if (ended && key->index < 0)
            continue;
        (void)job_key_format_job(key, id);
        (void)snprintf(reason, sizeof(reason), "job %s %s", id,
                       ended ? "is an element: arrays are forgotten as a whole"
                             : "has not ended");
        (void)call_error(call, "org.voltd.jobs.Refused",
                         json_pack("{s:s}", "reason", reason));
        return -EBUSY;
    }
    return 0;
}

static int begin_forget(struct volt_cx *cx, struct call *call, struct forget_state *s)
{
    static const struct field fields[] = {
        FIELD(struct forget_params, filter, FIELD_STRUCT, .fields = filter_fields),
        FIELD(struct forget_params, older_than_usec, FIELD_INT, .max = INT64_MAX),
        FIELD(struct forget_params, keep, FIELD_INT, .max = INT64_MAX),
        {.name = NULL},
    };

    if (params_read(call, fields, &s->in) < 0 ||
        check_ended(cx, call, &s->in.filter.ids) < 0)
        return -EINVAL;
    s->filter = filter_for_manager(&s->in.filter);
    s->leaf = (struct manager_forget){.manager = call_service(call)->manager,
                                      .asker = *call_peer(call),
                                      .filter = &s->filter,
                                      .older_usec = s->in.older_than_usec,
                                      .keep = s->in.keep};
    s->begun = true;
    return 0;
}

static enum volt_poll forget_poll(struct volt_cx *cx, struct call *call, void *state)
{
    struct forget_state *s = state;
    static const struct job_key none = {.index = JOB_NO_INDEX};

    if (!s->begun && begin_forget(cx, call, s) < 0)
        return VOLT_READY;
    if (manager_forget_poll(cx, &s->leaf) == VOLT_PENDING)
        return VOLT_PENDING;
    if (s->leaf.ret < 0)
        return no_answer(call, s->leaf.ret, &none);
    return call_reply(call, json_pack("{s:I}", "count", (json_int_t)s->leaf.ret_count));
}

static void forget_drop(struct call *call, void *state)
{
    struct forget_state *s = state;

    (void)call;
    if (s->begun)
        manager_forget_fini(&s->leaf);
    filter_fini(&s->in.filter);
}

const struct method method_forget = {
    .name = "Forget",
    .state_size = sizeof(struct forget_state),
    .poll = forget_poll,
    .drop = forget_drop,
};

/* --- Signal ------------------------------------------------------------------------- */

struct signal_state {
    struct signal_params {
        struct job_key id;
        int signal;
        unsigned whom;
    } in;
    struct manager_signal leaf;
    bool begun;
};

static int begin_signal(struct call *call, struct signal_state *s)
{
    static const char *const whom[] = {"tree", "main", NULL};
    static const struct field fields[] = {
        FIELD(struct signal_params, id, FIELD_CUSTOM, .read = read_job_id,
              .required = true),
        FIELD(struct signal_params, signal, FIELD_CUSTOM, .read = read_signal_name,
              .required = true),
        FIELD(struct signal_params, whom, FIELD_ENUM, .names = whom),
        {.name = NULL},
    };

    if (params_read(call, fields, &s->in) < 0)
        return -EINVAL;
    s->leaf.manager = call_service(call)->manager;
    s->leaf.asker = *call_peer(call);
    s->leaf.id = s->in.id.id;
    s->leaf.index = s->in.id.index;
    s->leaf.signal = s->in.signal;
    s->leaf.tree = s->in.whom == 0;
    s->begun = true;
    return 0;
}

static enum volt_poll not_running(struct volt_cx *cx, struct call *call,
                                  const struct job_key *key)
{
    struct job_view view;
    int r = manager_look(cx, call_service(call)->manager, call_peer(call), key->id,
                         key->index, &view);
    json_t *e;

    if (r < 0)
        return no_answer(call, r, key);
    e = json_pack("{s:o,s:s}", "id", job_id_to_json(key->id, key->index), "state",
                  job_state_name(view.status.state));
    job_view_fini(&view);
    return call_error(call, "org.voltd.jobs.NotRunning", e);
}

static enum volt_poll signal_poll(struct volt_cx *cx, struct call *call, void *state)
{
    struct signal_state *s = state;
    const char *why;

    if (!s->begun && begin_signal(call, s) < 0)
        return VOLT_READY;
    if (manager_signal_poll(cx, &s->leaf) == VOLT_PENDING)
        return VOLT_PENDING;
    switch (s->leaf.ret) {
    case 0:
        return call_reply(call, json_object());
    case -ENOENT: /* or it has ended long ago */
    case -ESRCH:
        return not_running(cx, call, &s->in.id);
    case -ENOMEM:
        return call_abort(call);
    case -EISDIR:
        why = "it is an array: name an element of it, ID_INDEX";
        break;
    case -EOPNOTSUPP:
        why = "the job is not a process";
        break;
    default:
        why = strerror(-s->leaf.ret);
    }
    return call_error(call, "org.voltd.jobs.Refused", json_pack("{s:s}", "reason", why));
}

static void signal_drop(struct call *call, void *state)
{
    struct signal_state *s = state;

    (void)call;
    if (s->begun)
        manager_signal_fini(&s->leaf);
}

const struct method method_signal = {
    .name = "Signal",
    .state_size = sizeof(struct signal_state),
    .poll = signal_poll,
    .drop = signal_drop,
};
