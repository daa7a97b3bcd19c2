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

static void put_id(struct wire_writer *to, const struct job_key *key)
{
    char text[JOB_KEY_TEXT_MAX];

    (void)job_key_format_job(key, text);
    wire_put_text(to, "id", text);
}

static void put_uint(struct wire_writer *to, const char *key, uint64_t value)
{
    wire_put_int(to, key, (int64_t)value);
}

/* Times and the like, for which 0 is "not yet". */
static void put_known(struct wire_writer *to, const char *key, uint64_t value)
{
    if (value)
        put_uint(to, key, value);
}

static void put_result(struct wire_writer *to, enum job_result result, int32_t code)
{
    if (result == JOB_RESULT_NONE)
        return;
    wire_put_text(to, "result", job_result_name(result));
    wire_put_int(to, "code", code);
}

static void put_spec(struct wire_writer *to, const struct job_spec *spec, uint32_t fields)
{
    wire_put_text(to, "name", spec ? job_spec_display_name(spec) : "");
    if (!spec)
        return;
    wire_put_text(to, "kind", spec_kind_names[spec->kind]);
    wire_put_text(to, "queue", spec->queue ? spec->queue : "default");
    wire_put_int(to, "priority", spec->priority);
    if (fields)
        spec_write(to, "spec", spec, fields);
}

static void put_usage(struct wire_writer *to, const struct job_status *st)
{
    wire_open(to, "usage", '{');
    put_uint(to, "user_usec", st->usage.user_usec);
    put_uint(to, "system_usec", st->usage.system_usec);
    put_uint(to, "max_rss_bytes", st->usage.max_rss_bytes);
    wire_close(to, '}');
}

static void put_survivors(struct wire_writer *to, const struct job_view *v)
{
    if (!v->survivors)
        return;
    wire_open(to, "survivors", '[');
    for (size_t i = 0; i < JOB_NAMED_MAX && v->named.pid[i]; i++)
        wire_put_int(to, NULL, v->named.pid[i]);
    wire_close(to, ']');
    if (v->survivors == JOB_SURVIVORS_UNKNOWN)
        wire_put_bool(to, "survivors_unknown", true);
    else
        put_uint(to, "survivor_count", v->survivors);
}

static void put_status(struct wire_writer *to, const struct job_view *v)
{
    const struct job_status *st = &v->status;

    wire_put_text(to, "state", job_state_name(st->state));
    if (v->wait != JOB_WAIT_NONE)
        wire_put_text(to, "wait", job_wait_name(v->wait));
    if (v->wait != JOB_WAIT_NONE && st->state == JOB_QUEUED)
        put_uint(to, "wait_position", v->wait_position);
    put_result(to, st->result, st->code);
    if (st->step)
        wire_put_text(to, "step", st->step);
    if (st->state == JOB_DONE)
        wire_put_int(to, "exit_code", v->exit_code);
    put_uint(to, "attempt", st->attempt);
    put_known(to, "lost_attempts", st->lost);
    if (st->pid > 0 && st->state != JOB_DONE)
        put_uint(to, "pid", (uint64_t)st->pid);
    put_survivors(to, v);
    put_known(to, "overshoot_bytes", (uint64_t)st->over_kib * 1024);
    put_known(to, "submitted_at_usec", st->submitted_usec);
    put_known(to, "started_at_usec", st->started_usec);
    put_known(to, "ended_at_usec", st->ended_usec);
    if (st->state == JOB_DONE && st->started_usec)
        put_usage(to, st);
}

static void put_counts(struct wire_writer *to, const struct job_view *v)
{
    wire_open(to, "counts", '{');
    put_uint(to, "total", v->total);
    put_uint(to, "queued", v->queued);
    put_uint(to, "running", v->running);
    put_uint(to, "done", v->done);
    put_uint(to, "failed", v->failed);
    wire_close(to, '}');
}

void job_write(struct wire_writer *to, const char *key, const struct job_view *v,
               uint32_t spec)
{
    wire_open(to, key, '{');
    put_id(to, &v->key);
    put_spec(to, v->spec, spec);
    put_status(to, v);
    put_uint(to, "uid", v->owner.uid);
    wire_put_bool(to, "durable", v->durable);
    if (v->orphan)
        wire_put_bool(to, "orphan", true);
    if (v->forgotten)
        wire_put_bool(to, "forgotten", true);
    if (v->has_counts)
        put_counts(to, v);
    wire_close(to, '}');
}

void job_event_write(struct wire_writer *to, const struct job_news *ev)
{
    wire_open(to, NULL, '{');
    put_uint(to, "cursor", ev->seq);
    put_uint(to, "at_usec", ev->at_usec);
    put_id(to, &ev->key);
    wire_put_text(to, "event", job_event_name(ev->type));
    wire_put_text(to, "state", job_state_name(ev->state));
    put_result(to, ev->result, ev->code);
    wire_close(to, '}');
}
