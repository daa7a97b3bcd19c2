/* See job_json.h. What is not known is absent. */
#include "daemon/method/job_json.h"

#include "daemon/method/spec_json.h"
#include "wire/json.h"

json_t *job_id_to_json(uint64_t id, int64_t index)
{
    struct job_key key = {.id = id, .index = index};
    char text[JOB_KEY_TEXT_MAX];

    (void)job_key_format_job(&key, text);
    return json_string(text);
}

static void set_int(json_t **to, const char *key, uint64_t value)
{
    wire_set(to, key, json_integer((json_int_t)value));
}

/* Times and the like, for which 0 is "not yet". */
static void set_known(json_t **to, const char *key, uint64_t value)
{
    if (value)
        set_int(to, key, value);
}

static void set_result(json_t **to, enum job_result result, int32_t code)
{
    if (result == JOB_RESULT_NONE)
        return;
    wire_set(to, "result", json_string(job_result_name(result)));
    wire_set(to, "code", json_integer(code));
}

static void set_spec(json_t **to, const struct job_spec *spec, bool whole)
{
    wire_set(to, "name", wire_text(spec ? job_spec_display_name(spec) : ""));
    if (!spec)
        return;
    wire_set(to, "kind", json_string(spec_kind_names[spec->kind]));
    wire_set(to, "queue", wire_text(spec->queue ? spec->queue : "default"));
    wire_set(to, "priority", json_integer(spec->priority));
    if (whole)
        wire_set(to, "spec", spec_to_json(spec));
}

static void set_status(json_t **to, const struct job_view *v)
{
    const struct job_status *st = &v->status;

    wire_set(to, "state", json_string(job_state_name(st->state)));
    if (st->state == JOB_QUEUED && v->wait != JOB_WAIT_NONE) {
        wire_set(to, "wait", json_string(job_wait_name(v->wait)));
        set_int(to, "wait_position", v->wait_position);
    }
    set_result(to, st->result, st->code);
    if (st->step)
        wire_set(to, "step", wire_text(st->step));
    if (st->state == JOB_DONE)
        wire_set(to, "exit_code", json_integer(v->exit_code));
    set_int(to, "attempt", st->attempt);
    set_known(to, "lost_attempts", st->lost);
    if (st->pid > 0 && st->state != JOB_DONE)
        set_int(to, "pid", (uint64_t)st->pid);
    set_known(to, "survivors", st->survivors);
    set_known(to, "submitted_at_usec", st->submitted_usec);
    set_known(to, "started_at_usec", st->started_usec);
    set_known(to, "ended_at_usec", st->ended_usec);
    if (st->state == JOB_DONE && st->started_usec)
        wire_set(to, "usage",
                 json_pack("{s:I,s:I,s:I}", "user_usec", (json_int_t)st->usage.user_usec,
                           "system_usec", (json_int_t)st->usage.system_usec,
                           "max_rss_bytes", (json_int_t)st->usage.max_rss_bytes));
}

json_t *job_to_json(const struct job_view *v, bool with_spec)
{
    json_t *o = json_object();

    wire_set(&o, "id", job_id_to_json(v->key.id, v->key.index));
    set_spec(&o, v->spec, with_spec);
    set_status(&o, v);
    set_int(&o, "uid", v->owner.uid);
    wire_set(&o, "durable", json_boolean(v->durable));
    if (v->orphan)
        wire_set(&o, "orphan", json_true());
    if (v->forgotten)
        wire_set(&o, "forgotten", json_true());
    if (v->has_counts)
        wire_set(&o, "counts",
                 json_pack("{s:I,s:I,s:I,s:I,s:I}", "total", (json_int_t)v->total,
                           "queued", (json_int_t)v->queued, "running",
                           (json_int_t)v->running, "done", (json_int_t)v->done, "failed",
                           (json_int_t)v->failed));
    return o;
}

json_t *job_event_to_json(const struct job_news *ev)
{
    json_t *o = json_object();

    set_int(&o, "cursor", ev->seq);
    set_int(&o, "at_usec", ev->at_usec);
    wire_set(&o, "id", job_id_to_json(ev->key.id, ev->key.index));
    wire_set(&o, "event", json_string(job_event_name(ev->type)));
    wire_set(&o, "state", json_string(job_state_name(ev->state)));
    set_result(&o, ev->result, ev->code);
    return o;
}
