/* Methods of org.voltd.jobs that ask about jobs or act on them without a stream: Get,
 * List, Forget, Signal. See also steer.c. */
#include "daemon/steer/steer.h"
#include "daemon/method/methods.h"

#include "daemon/config/config.h"
#include "daemon/method/job_json.h"
#include "daemon/method/job_walk.h"
#include "daemon/method/params.h"
#include "daemon/method/spec_json.h"
#include "wire/json.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define LIST_MAX   1000
#define LIST_BYTES (4 << 20) /* bytes of text that end an answer */
/* With `more` answers end much earlier: malloc() reuses buffers of this size, plus a
 * portion; larger ones are new pages each time. */
#define MORE_BYTES (96 << 10)

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
    r = query_look(cx, call_service(call)->core, call_asker(call), in.id.id, in.id.index,
                   &view);
    if (r < 0)
        return no_answer(call, r, &in.id);
    wire_open(&reply, NULL, '{');
    job_write(&reply, "job", &view, JOB_ALL_FIELDS, in.with_spec ? SPEC_ALL_FIELDS : 0);
    wire_close(&reply, '}');
    job_view_fini(&view);
    return call_reply_text(call, &reply);
}

const struct method method_get = {METHOD_IS(jobs, Get), .poll = get_poll};

/* --- List --------------------------------------------------------------------------- */

struct list_params {
    struct filter filter;
    bool newest_first;
    struct job_key cursor; /* with an index: within an array */
    uint64_t limit;
    struct job_wish wish;
};

static int read_cursor(json_t *value, void *member, struct field_error *err)
{
    if (read_job_id(value, member, err) < 0)
        return field_fail(err, "", "must be the cursor of an earlier answer");
    return 0;
}

struct list_state {
    struct list_params in;
    struct job_filter filter;
    struct job_walk jobs;
    struct wire_buf text; /* of the answer so far */
    uint64_t left;        /* jobs still to show, including this answer's */
    bool begun;
};

/* Begins an answer. 0 or -ENOMEM. */
static int begin_page(struct list_state *s)
{
    struct wire_writer reply = {.out = &s->text};

    s->jobs.walk.limit = s->left < LIST_MAX ? (size_t)s->left : LIST_MAX;
    s->jobs.walk.end = false;
    s->jobs.walk.kept_sum = 0;
    wire_open(&reply, NULL, '{');
    wire_open(&reply, "jobs", '[');
    return reply.error;
}

/* Reads the parameters. 0, or the call is answered. */
static int begin_list(struct volt_cx *cx, struct call *call, struct list_state *s)
{
    static const struct field fields[] = {
        FIELD(struct list_params, filter, FIELD_STRUCT, .fields = filter_fields),
        FIELD(struct list_params, newest_first, FIELD_BOOL),
        FIELD(struct list_params, cursor, FIELD_CUSTOM, .read = read_cursor),
        FIELD(struct list_params, limit, FIELD_INT, .min = 1, .max = INT64_MAX),
        JOB_WISH_FIELDS(struct list_params, wish),
        {.name = NULL},
    };

    s->in.limit = call_more(call) ? UINT64_MAX : LIST_MAX;
    s->in.cursor.index = JOB_NO_INDEX;
    if (params_read(call, fields, &s->in) < 0 ||
        filter_resolve(cx, call, &s->in.filter, true) < 0)
        return -EINVAL;
    if (s->in.cursor.index >= 0 && !s->in.filter.elements) {
        (void)call_invalid_parameter(call, "cursor",
                                     "must be the cursor of an earlier answer");
        return -EINVAL;
    }
    if (!call_more(call) && s->in.limit > LIST_MAX) {
        (void)call_invalid_parameter(call, "limit",
                                     "must be at most 1000, but with 'more'");
        return -EINVAL;
    }
    call_holds(call, filter_size(&s->in.filter));
    s->filter = filter_for_query(&s->in.filter);
    s->filter.newest_first = s->in.newest_first;
    s->left = s->in.limit;
    job_walk_init(&s->jobs, &s->in.wish, true);
    s->jobs.walk.cursor = s->in.cursor.id;
    s->jobs.walk.within = s->in.cursor.index >= 0;
    s->jobs.walk.index = s->in.cursor.index;
    s->begun = true;
    return begin_page(s);
}

/* Fills an answer. READY: it is full, or the walk has ended; *ret: 0 or -errno. */
static enum volt_poll fill_page(struct volt_cx *cx, struct call *call,
                                struct list_state *s, int *ret)
{
    const size_t most = call_more(call) ? MORE_BYTES : LIST_BYTES;

    *ret = 0;
    while (*ret == 0 && !s->jobs.walk.end && wire_buf_len(&s->text) < most) {
        if (call_turn_poll(cx, call) == VOLT_PENDING ||
            (call_more(call) && call_drained_poll(cx, call) == VOLT_PENDING))
            return VOLT_PENDING;
        const size_t room = s->text.cap;
        *ret = job_walk_portion(cx, call, &s->filter, &s->jobs, &s->text);
        call_holds(call, s->text.cap - room);
    }
    return VOLT_READY;
}

/* Sends the answer. READY: it was the last, or there is no memory for the next. */
static enum volt_poll end_page(struct call *call, struct list_state *s)
{
    struct wire_writer reply = {.out = &s->text};
    const size_t room = s->text.cap;
    const struct query_walk *walk = &s->jobs.walk;
    char cursor[JOB_KEY_TEXT_MAX];
    int r;

    s->left -= (s->left < LIST_MAX ? s->left : LIST_MAX) - s->jobs.walk.limit;
    wire_close(&reply, ']');
    if (walk->cursor) {
        const struct job_key at = {.id = walk->cursor,
                                   .index = walk->within ? walk->index : JOB_NO_INDEX};

        (void)job_key_format_job(&at, cursor);
        wire_put_text(&reply, "cursor", cursor);
    }
    wire_close(&reply, '}');
    if (!call_more(call) || !s->jobs.walk.cursor || !s->left)
        return call_reply_text(call, &reply);
    r = call_continue_text(call, &reply);
    call_gives_back(call, room);
    s->text = (struct wire_buf){0};
    return r < 0 || begin_page(s) < 0 ? call_abort(call) : VOLT_PENDING;
}

static enum volt_poll list_poll(struct volt_cx *cx, struct call *call, void *state)
{
    struct list_state *s = state;
    int r;

    if (!s->begun && begin_list(cx, call, s) < 0)
        return s->begun ? call_abort(call) : VOLT_READY;
    do {
        if (fill_page(cx, call, s, &r) == VOLT_PENDING)
            return VOLT_PENDING;
        if (r < 0)
            return no_answer(call, r, NULL);
    } while (end_page(call, s) == VOLT_PENDING);
    return VOLT_READY;
}

static void list_drop(struct call *call, void *state)
{
    struct list_state *s = state;

    (void)call;
    filter_fini(&s->in.filter);
    wire_buf_fini(&s->text);
}

const struct method method_list = {
    METHOD_IS(jobs, List),
    .flags = METHOD_MORE | METHOD_BULKY | METHOD_READS,
    .state_size = sizeof(struct list_state),
    .poll = list_poll,
    .drop = list_drop,
};

/* --- Forget ------------------------------------------------------------------------- */

struct forget_state {
    struct forget_params {
        struct filter filter;
        uint64_t older_than_usec, keep;
    } in;
    struct job_filter filter;
    struct steer_forget leaf;
    size_t checked; /* of the ids */
    bool begun;
};

/* Returns why a job that was named stays. NULL: it may go. */
static const char *why_kept(struct call *call, const struct job_key *key, bool ended)
{
    if (!ended)
        return "has not ended";
    if (key->index >= 0)
        return "is an element: arrays are forgotten as a whole";
    return steer_is_followed(call_service(call)->core, key->id)
               ? "is needed: another array waits for it, element to element"
               : NULL;
}

/* Checks that an id given is a job that may go. 0, or the call is answered. */
static int check_ended(struct volt_cx *cx, struct call *call, const struct job_key *key)
{
    char id[JOB_KEY_TEXT_MAX], reason[JOB_KEY_TEXT_MAX + 64];
    struct job_view view;
    int r = look_or_refuse(cx, call, key, &view);

    if (r < 0)
        return r;
    bool ended = view.status.state == JOB_DONE && !view.orphan;
    job_view_fini(&view);
    const char *why = why_kept(call, key, ended);
    if (!why)
        return 0;
    (void)job_key_format_job(key, id);
    (void)snprintf(reason, sizeof(reason), "job %s %s", id, why);
    (void)call_error(call, "org.voltd.jobs.Refused",
                     json_pack("{s:s}", "reason", reason));
    return -EBUSY;
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
        filter_resolve(cx, call, &s->in.filter, false) < 0)
        return -EINVAL;
    call_holds(call, filter_size(&s->in.filter));
    s->filter = filter_for_query(&s->in.filter);
    s->leaf = (struct steer_forget){.core = call_service(call)->core,
                                    .asker = *call_asker(call),
                                    .filter = &s->filter,
                                    .older_usec = s->in.older_than_usec,
                                    .keep = s->in.keep,
                                    .quota = call_quota(call)};
    s->begun = true;
    return 0;
}

static enum volt_poll forget_poll(struct volt_cx *cx, struct call *call, void *state)
{
    struct forget_state *s = state;
    static const struct job_key none = {.index = JOB_NO_INDEX};

    if (!s->begun && begin_forget(cx, call, s) < 0)
        return VOLT_READY;
    for (; s->checked < s->filter.nkeys; s->checked++) {
        if (call_turn_poll(cx, call) == VOLT_PENDING)
            return VOLT_PENDING;
        if (check_ended(cx, call, &s->filter.keys[s->checked]) < 0)
            return VOLT_READY;
    }
    if (call_turn_poll(cx, call) == VOLT_PENDING)
        return VOLT_PENDING;
    if (steer_forget_poll(cx, &s->leaf) == VOLT_PENDING)
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
        steer_forget_fini(&s->leaf);
    filter_fini(&s->in.filter);
}

const struct method method_forget = {
    METHOD_IS(jobs, Forget),
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
    struct steer_signal leaf;
    bool begun;
};

static int begin_signal(struct call *call, struct signal_state *s)
{
    static const char *const whom[] = {"tree", "main", NULL};
    static const struct field fields[] = {
        FIELD(struct signal_params, id, FIELD_CUSTOM, .read = read_job_id,
              .required = true),
        FIELD(struct signal_params, signal, FIELD_CUSTOM, .read = read_signal,
              .required = true),
        FIELD(struct signal_params, whom, FIELD_ENUM, .names = whom),
        {.name = NULL},
    };

    if (params_read(call, fields, &s->in) < 0)
        return -EINVAL;
    s->leaf.core = call_service(call)->core;
    s->leaf.asker = *call_asker(call);
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
    int r = query_look(cx, call_service(call)->core, call_asker(call), key->id,
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
    if (steer_signal_poll(cx, &s->leaf) == VOLT_PENDING)
        return VOLT_PENDING;
    switch (s->leaf.ret) {
    case 0:
        return call_reply(call, json_object());
    case -ENOENT: /* or it ended long ago */
    case -ESRCH:
        return not_running(cx, call, &s->in.id);
    case -ENOMEM:
        return call_abort(call);
    case -EISDIR:
        why = "it is an array: name an element of it, ID_INDEX; voltctl also takes "
              "several, ID_FIRST-LAST";
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
        steer_signal_fini(&s->leaf);
}

const struct method method_signal = {
    METHOD_IS(jobs, Signal),
    .state_size = sizeof(struct signal_state),
    .poll = signal_poll,
    .drop = signal_drop,
};
