/* org.voltd.queues: the queues that jobs wait in. */
#include "daemon/method/methods.h"

#include "daemon/life/allowed.h"
#include "daemon/method/params.h"
#include "daemon/query/queues.h"
#include "daemon/steer/steer.h"
#include "wire/json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- List --------------------------------------------------------------------------- */

/* Only "default" shows its slots. */
static bool is_shown(const struct queue_view *q, int s, const bool *which)
{
    return (s != QUEUE_SLOTS || strcmp(q->name, QUEUE_DEFAULT) == 0) &&
           (!which || which[s]);
}

static void put_names(struct wire_writer *to, const char *key, const char *names)
{
    char text[QUEUE_NAMES_BYTES + 1], *rest = text, *name;

    memcpy(text, names, sizeof(text));
    wire_open(to, key, '[');
    while ((name = strsep(&rest, " ,\t")))
        if (*name)
            wire_put_text(to, NULL, name);
    wire_close(to, ']');
}

/* Lists of names. names NULL: none. which NULL: those that are not empty. */
struct lists {
    const char (*names)[QUEUE_NAMES_BYTES + 1];
    const bool *which;
};

static void put_lists(struct wire_writer *to, const struct lists *lists)
{
    for (int i = 0; lists->names && i < QUEUE_LISTS; i++)
        if (lists->which ? lists->which[i] : *lists->names[i])
            put_names(to, queue_list_names[i], lists->names[i]);
}

/* Writes settings; which NULL: all. */
static void put_settings(struct wire_writer *to, const char *name,
                         const struct queue_view *q, const uint64_t *values,
                         const bool *which, const struct lists *lists)
{
    wire_open(to, name, '{');
    for (int s = 0; s < QUEUE_SETTINGS; s++) {
        const struct queue_setting_row *row = &queue_setting_rows[s];

        if (is_shown(q, s, which) && row->type == SETTING_FLAG)
            wire_put_bool(to, row->name, values[s]);
        else if (is_shown(q, s, which))
            wire_put_int(to, row->name, (int64_t)values[s]);
    }
    put_lists(to, lists);
    wire_close(to, '}');
}

/* Writes a queue. Only users who may change it see which users it lists. */
static void put_queue(struct wire_writer *to, const struct queue_view *q, bool may_change)
{
    const struct lists none = {NULL, NULL}, set = {q->names, NULL},
                       configured = {q->names_configured, q->list_by_hand};

    wire_open(to, NULL, '{');
    wire_put_text(to, "name", q->name);
    wire_put_bool(to, "paused", q->paused);
    wire_put_bool(to, "drained", q->drained);
    if (q->gone)
        wire_put_bool(to, "gone", true);
    put_settings(to, "settings", q, q->value, NULL, may_change ? &set : &none);
    put_settings(to, "overridden", q, q->configured, q->by_hand,
                 may_change ? &configured : &none);
    wire_put_int(to, "used", (int64_t)q->used);
    wire_put_int(to, "waiting", (int64_t)q->waiting);
    wire_close(to, '}');
}

static enum volt_poll list_poll(struct volt_cx *cx, struct call *call, void *state)
{
    static const struct field none[] = {{.name = NULL}};
    struct queue_view *all = state;
    struct wire_buf text = {0};
    struct wire_writer reply = {&text, 0};

    if (call_turn_poll(cx, call) == VOLT_PENDING)
        return VOLT_PENDING;
    if (params_read(call, none, NULL) < 0)
        return VOLT_READY;
    const size_t n = query_queues(call_service(call)->core, all);
    const bool may_change = auth_has(call_asker(call), AUTH_QUEUE_CHANGES);
    call_did(call, n, 0);
    wire_open(&reply, NULL, '{');
    wire_open(&reply, "queues", '[');
    for (size_t i = 0; i < n; i++)
        put_queue(&reply, &all[i], may_change);
    wire_close(&reply, ']');
    wire_close(&reply, '}');
    return call_reply_text(call, &reply);
}

/* --- what changes one --------------------------------------------------------------- */

struct change_state {
    char *name;
    struct queue_change change;
    struct store_commit commit;
    bool flag[QUEUE_SETTINGS], begun;
};

#define NAME_FIELD                                                                       \
    FIELD(struct change_state, name, FIELD_STRDUP, .required = true, .min = 1,           \
          .max = QUEUE_NAME_BYTES)

/* Answers NoSuchQueue with the names of the queues. */
static enum volt_poll no_such_queue(struct call *call, const char *name)
{
    struct queue_view *all = calloc(QUEUES_MOST, sizeof(*all));
    json_t *names = json_array();

    if (!all || !names) {
        free(all);
        json_decref(names);
        return call_abort(call);
    }
    const size_t n = query_queues(call_service(call)->core, all);
    for (size_t i = 0; i < n; i++)
        (void)json_array_append_new(names, wire_text(all[i].name));
    free(all);
    call_did(call, n, 0);
    return call_error(call, "org.voltd.queues.NoSuchQueue",
                      json_pack("{s:o,s:o}", "name", wire_text(name), "queues", names));
}

static const char *reason_of(int r)
{
    switch (r) {
    case -EINVAL:
        return "slots are those of the machine: they are set of the queue default; max=N is "
               "how many of them the jobs of a queue have at most";
    case -ERANGE:
        return "queues would have more slots of their own (nominal) than there are";
    case -EEXIST:
        return "there is a queue of this name";
    case -ENAMETOOLONG:
        return "a name has 1 to 32 letters, digits, '-', '_' and '.', and none of '-' and "
               "'.' first";
    case -E2BIG:
        return "there are too many queues";
    case -EBUSY:
        return "the configuration has it";
    case -ENOTEMPTY:
        return "it has jobs: drain it, and delete it when they have ended";
    default:
        return store_refusal_text(r)
                   ? store_refusal_text(r)
                   : "the store did not take it; the log of voltd says why";
    }
}

static enum volt_poll refuse(struct call *call, const struct change_state *s, int r)
{
    if (r == -ENOMEM)
        return call_abort(call);
    if (r == -ENOENT)
        return no_such_queue(call, s->name);
    return call_error(call, "org.voltd.queues.Refused",
                      json_pack("{s:s}", "reason", reason_of(r)));
}

/* Look-up of the user and group names in a change. */
struct finding {
    struct queue_change *change;
    enum queue_list list; /* of the latest name */
    int r;                /* from allowed_find(), like the next */
    char missing[QUEUE_NAMES_BYTES + 1];
};

static void find(void *arg)
{
    struct finding *f = arg;

    for (enum queue_list i = 0; i < QUEUE_LISTS && f->r == 0; i++) {
        f->list = i;
        f->r = allowed_find(&f->change->allowed[i], i, f->missing);
    }
}

/* Looks up the names. Negative: the call has been answered. */
static int find_names(struct volt_cx *cx, struct call *call, struct change_state *s)
{
    struct finding f = {.change = &s->change};
    char reason[QUEUE_NAMES_BYTES + 32];

    if (!s->change.given_list[QUEUE_USERS] && !s->change.given_list[QUEUE_GROUPS])
        return 0;
    volt_block_in_place(cx, find, &f);
    if (f.r == -ENOENT) {
        (void)snprintf(reason, sizeof(reason), "there is no %s %s",
                       f.list == QUEUE_USERS ? "user" : "group", f.missing);
        (void)call_error(call, "org.voltd.queues.Refused",
                         json_pack("{s:o}", "reason", wire_text(reason)));
    } else if (f.r < 0) {
        (void)call_abort(call);
    }
    return f.r;
}

/* Begins a change. Negative: the call has been answered. */
static int begin(struct volt_cx *cx, struct call *call, struct change_state *s,
                 enum queue_verb verb, const struct field *fields)
{
    if (params_read(call, fields, s) < 0 || find_names(cx, call, s) < 0)
        return -EINVAL;
    s->change.verb = verb;
    for (int i = 0; i < QUEUE_SETTINGS; i++)
        if (queue_setting_rows[i].type == SETTING_FLAG)
            s->change.value[i] = s->flag[i];
    int r = steer_queue(call_service(call)->core, s->name, &s->change, &s->commit);
    if (r < 0) {
        (void)refuse(call, s, r);
        return r;
    }
    quota_charge(call_quota(call), 0, 0, 1);
    s->begun = true;
    return 0;
}

static enum volt_poll change_poll(struct volt_cx *cx, struct call *call,
                                  struct change_state *s, enum queue_verb verb,
                                  const struct field *fields)
{
    if (!s->begun && begin(cx, call, s, verb, fields) < 0)
        return VOLT_READY;
    if (store_commit_poll(cx, &s->commit) == VOLT_PENDING)
        return VOLT_PENDING;
    return s->commit.status < 0 ? refuse(call, s, s->commit.status)
                                : call_reply(call, json_object());
}

static const struct field name_fields[] = {NAME_FIELD, {.name = NULL}};

/* Reads a list of names, and joins them with blanks. */
static int read_names(json_t *value, void *member, struct field_error *err)
{
    char *to = member, path[24];
    json_t *entry;
    size_t i, n = 0;

    if (!json_is_array(value))
        return field_fail(err, "", "must be an array of names");
    json_array_foreach(value, i, entry)
    {
        (void)snprintf(path, sizeof(path), "[%zu]", i);
        const char *name = field_string(entry, path, err);
        if (!name)
            return err->code;
        if (!*name || strpbrk(name, " ,\t"))
            return field_fail(err, path, "must be a name, without blanks and commas");
        if (n + (n > 0) + strlen(name) > QUEUE_NAMES_BYTES)
            return field_fail(err, "", "must be of at most %d bytes together",
                              QUEUE_NAMES_BYTES);
        n += (size_t)snprintf(to + n, QUEUE_NAMES_BYTES + 1 - n, "%s%s", n ? " " : "",
                              name);
    }
    return 0;
}

/* Types of queue_settings.def. */
#define PRESENT(s_)                                                                      \
    .present = FIELD_PRESENT(struct change_state, change.given[QUEUE_##s_])
#define NUMBER(s_, name_, min_, max_)                                                    \
    FIELD_AS(struct change_state, change.value[QUEUE_##s_], name_, FIELD_INT,            \
             .min = (min_), .max = (max_), PRESENT(s_)),
#define TIME NUMBER
#define FLAG(s_, name_, min_, max_)                                                      \
    FIELD_AS(struct change_state, flag[QUEUE_##s_], name_, FIELD_BOOL, PRESENT(s_)),

static const struct field setting_fields[] = {
    NAME_FIELD,
#define SETTING(name, json, key, word, fallback, least, most, type)                      \
    type(name, json, least, most)
#include "daemon/job/queue_settings.def"
#define LIST(list_, name_)                                                               \
    FIELD_AS(struct change_state, change.allowed[list_].names, name_, FIELD_CUSTOM,      \
             .read = read_names,                                                         \
             .present = FIELD_PRESENT(struct change_state, change.given_list[list_]))
    LIST(QUEUE_USERS, "users"),
    LIST(QUEUE_GROUPS, "groups"),
    {.name = NULL},
};

static enum volt_poll set_poll(struct volt_cx *cx, struct call *call, void *state)
{
    return change_poll(cx, call, state, QUEUE_DO_SET, setting_fields);
}

static enum volt_poll create_poll(struct volt_cx *cx, struct call *call, void *state)
{
    return change_poll(cx, call, state, QUEUE_DO_CREATE, setting_fields);
}

static enum volt_poll delete_poll(struct volt_cx *cx, struct call *call, void *state)
{
    return change_poll(cx, call, state, QUEUE_DO_DELETE, name_fields);
}

static enum volt_poll pause_poll(struct volt_cx *cx, struct call *call, void *state)
{
    return change_poll(cx, call, state, QUEUE_DO_PAUSE, name_fields);
}

static enum volt_poll drain_poll(struct volt_cx *cx, struct call *call, void *state)
{
    return change_poll(cx, call, state, QUEUE_DO_DRAIN, name_fields);
}

static enum volt_poll resume_poll(struct volt_cx *cx, struct call *call, void *state)
{
    return change_poll(cx, call, state, QUEUE_DO_RESUME, name_fields);
}

static enum volt_poll reset_poll(struct volt_cx *cx, struct call *call, void *state)
{
    return change_poll(cx, call, state, QUEUE_DO_RESET, name_fields);
}

static void change_drop(struct call *call, void *state)
{
    struct change_state *s = state;

    (void)call;
    store_commit_fini(&s->commit);
    for (int i = 0; i < QUEUE_LISTS; i++)
        queue_allowed_fini(&s->change.allowed[i]);
    free(s->name);
}

/* --- the interface ------------------------------------------------------------------ */

static const char description[] =
#include "org.voltd.queues.varlink.inc"
    ;

static const struct method method_list_queues = {
    METHOD_IS(queues, List),
    .flags = METHOD_READS,
    .state_size = QUEUES_MOST * sizeof(struct queue_view),
    .poll = list_poll,
};

#define CHANGE(variable_, name_, poll_)                                                  \
    static const struct method variable_ = {METHOD_IS(queues, name_),                    \
                                            .state_size = sizeof(struct change_state),   \
                                            .poll = (poll_), .drop = change_drop}
CHANGE(method_set, Set, set_poll);
CHANGE(method_pause, Pause, pause_poll);
CHANGE(method_drain, Drain, drain_poll);
CHANGE(method_resume, Resume, resume_poll);
CHANGE(method_reset, Reset, reset_poll);
CHANGE(method_create, Create, create_poll);
CHANGE(method_delete, Delete, delete_poll);

const struct interface interface_queues = {
    .name = "org.voltd.queues",
    .description = description,
    .methods =
        (const struct method *const[]){&method_list_queues, &method_set, &method_pause,
                                       &method_drain, &method_resume, &method_reset,
                                       &method_create, &method_delete, NULL},
};
