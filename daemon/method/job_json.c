/* See job_json.h. Unknown values are absent. */
#include "daemon/method/job_json.h"

#include "daemon/job/queue.h"
#include "daemon/job/spec_edit.h"
#include "daemon/method/spec_json.h"
#include "daemon/query/attempts.h"
#include "wire/error_name.h"
#include "wire/json.h"
#include "wire/signal_name.h"

json_t *job_id_to_json(uint64_t id, int64_t index)
{
    struct job_key key = {.id = id, .index = index};
    char text[JOB_KEY_TEXT_MAX];

    (void)job_key_format_job(&key, text);
    return json_string(text);
}

#define FIELD_NAME(name_) #name_,
const char *const job_field_names[] = {JOB_FIELDS(FIELD_NAME) NULL};
_Static_assert(JOB_FIELD_COUNT < 64, "a set of them is a uint64_t");

/* Fields to write of a job, and where to. */
struct shown {
    struct wire_writer *to;
    uint64_t fields;
};

static bool shows(const struct shown *s, enum job_field field)
{
    return s->fields & UINT64_C(1) << field;
}

static void put_text(const struct shown *s, enum job_field field, const char *text)
{
    if (shows(s, field))
        wire_put_text(s->to, job_field_names[field], text);
}

static void put_int(const struct shown *s, enum job_field field, int64_t value)
{
    if (shows(s, field))
        wire_put_int(s->to, job_field_names[field], value);
}

/* Writes a value unless it is 0 ("not yet"). */
static void put_known(const struct shown *s, enum job_field field, uint64_t value)
{
    if (value)
        put_int(s, field, (int64_t)value);
}

/* Writes a flag if it is true. */
static void put_true(const struct shown *s, enum job_field field, bool value)
{
    if (value && shows(s, field))
        wire_put_bool(s->to, job_field_names[field], true);
}

static void put_id(struct wire_writer *to, const struct job_key *key)
{
    char text[JOB_KEY_TEXT_MAX];

    (void)job_key_format_job(key, text);
    wire_put_text(to, "id", text);
}

static void put_end(const struct shown *s, const struct job_end *end)
{
    char signal[SIGNAL_NAME_MAX], error[ERROR_NAME_MAX];

    if (end->result == JOB_RESULT_NONE)
        return;
    put_text(s, JOB_FIELD_result, job_result_name(end->result));
    switch ((enum job_code)end->code_is) {
    case JOB_CODE_STATUS:
        put_int(s, JOB_FIELD_exit_status, end->code);
        break;
    case JOB_CODE_SIGNAL:
        put_text(s, JOB_FIELD_signal, signal_name(end->code, signal));
        break;
    case JOB_CODE_ERROR:
        put_text(s, JOB_FIELD_error, error_name(end->code, error));
        break;
    case JOB_CODE_NONE:
        break;
    }
}

static void put_spec(const struct shown *s, const struct job_view *v, uint64_t fields)
{
    const struct job_spec *spec = v->spec;
    char name[JOB_NAME_BYTES + 1];

    put_text(s, JOB_FIELD_name,
             spec ? job_spec_element_name(spec, v->key.index, name) : "");
    if (!spec)
        return;
    put_text(s, JOB_FIELD_kind, job_kinds[spec->kind].name);
    put_text(s, JOB_FIELD_queue, spec->queue ? spec->queue : QUEUE_DEFAULT);
    put_int(s, JOB_FIELD_priority, spec->priority);
    if (fields)
        spec_write(s->to, "spec", spec, fields);
}

/* Nobody has measured what a lost job has used. */
static void put_usage(const struct shown *s, const struct job_status *st)
{
    if (!shows(s, JOB_FIELD_usage) || st->result == JOB_RESULT_LOST)
        return;
    wire_open(s->to, "usage", '{');
    wire_put_int(s->to, "user_usec", (int64_t)st->usage.user_usec);
    wire_put_int(s->to, "system_usec", (int64_t)st->usage.system_usec);
    wire_put_int(s->to, "max_rss_bytes", (int64_t)st->usage.max_rss_bytes);
    wire_close(s->to, '}');
}

/* Writes what the record says of its cgroup. */
static void put_contained(const struct shown *s, const struct job_usage *usage)
{
    if (usage->contained == JOB_CONTAINED_UNKNOWN)
        return;
    if (shows(s, JOB_FIELD_contained))
        wire_put_bool(s->to, "contained", usage->contained == JOB_CONTAINED_YES);
    put_known(s, JOB_FIELD_memory_peak_bytes, usage->memory_peak_kib * 1024);
    put_known(s, JOB_FIELD_oom_kills, usage->oom_kills);
}

static void put_cause(const struct shown *s, uint64_t job, enum job_result result)
{
    if (!shows(s, JOB_FIELD_cause))
        return;
    wire_open(s->to, "cause", '{');
    put_id(s->to, &(struct job_key){.id = job, .index = JOB_NO_INDEX});
    if (result != JOB_RESULT_NONE)
        wire_put_text(s->to, "result", job_result_name(result));
    wire_close(s->to, '}');
}

static void put_survivors(const struct shown *s, const struct job_view *v)
{
    const bool unknown = v->survivors == JOB_SURVIVORS_UNKNOWN;

    if (!v->survivors)
        return;
    if (shows(s, JOB_FIELD_survivors)) {
        wire_open(s->to, "survivors", '[');
        for (size_t i = 0; i < JOB_NAMED_MAX && v->named.pid[i]; i++)
            wire_put_int(s->to, NULL, v->named.pid[i]);
        wire_close(s->to, ']');
    }
    put_true(s, JOB_FIELD_survivors_unknown, unknown);
    if (!unknown)
        put_int(s, JOB_FIELD_survivor_count, v->survivors);
}

static bool is_of_line(enum job_wait wait)
{
    return wait == JOB_WAIT_TURN || wait == JOB_WAIT_SLOT || wait == JOB_WAIT_ARRAY;
}

static void put_edited(const struct shown *s, uint32_t edited)
{
    if (!edited || !shows(s, JOB_FIELD_edited))
        return;
    wire_open(s->to, "edited", '[');
    for (unsigned bit = 0; job_edit_names[bit]; bit++)
        if (edited >> bit & 1)
            wire_put_text(s->to, NULL, job_edit_names[bit]);
    wire_close(s->to, ']');
}

static void put_status(const struct shown *s, const struct job_view *v)
{
    const struct job_status *st = &v->status;
    const struct job_end end = job_end_of(st);

    put_text(s, JOB_FIELD_state, job_state_name(st->state));
    if (v->wait != JOB_WAIT_NONE)
        put_text(s, JOB_FIELD_wait, job_wait_name(v->wait));
    if (is_of_line(v->wait))
        put_int(s, JOB_FIELD_wait_position, (int64_t)v->wait_position);
    if (v->wait == JOB_WAIT_LOCK || v->wait == JOB_WAIT_RATE)
        put_text(s, JOB_FIELD_wait_lock, v->wait_lock);
    put_known(s, JOB_FIELD_wait_ends_at_usec, v->wait_ends_usec);
    put_true(s, JOB_FIELD_held_by_admin, v->held_by_admin);
    put_end(s, &end);
    if (st->step)
        put_text(s, JOB_FIELD_step, st->step);
    if (st->state == JOB_DONE)
        put_int(s, JOB_FIELD_exit_code, v->exit_code);
    put_int(s, JOB_FIELD_attempt, st->attempt);
    put_known(s, JOB_FIELD_lost_attempts, st->lost);
    if (st->pid > 0 && st->state != JOB_DONE)
        put_int(s, JOB_FIELD_pid, st->pid);
    put_survivors(s, v);
    if (!v->has_counts)
        put_known(s, JOB_FIELD_left_killed, st->left_killed);
    put_known(s, JOB_FIELD_overshoot_bytes, (uint64_t)st->over_kib * 1024);
    if (st->state == JOB_DONE && !v->has_counts && st->result != JOB_RESULT_DEPENDENCY)
        put_contained(s, &st->usage);
    put_known(s, JOB_FIELD_submitted_at_usec, st->submitted_usec);
    put_known(s, JOB_FIELD_started_at_usec, st->started_usec);
    if (!v->has_counts) {
        put_known(s, JOB_FIELD_paused_at_usec, job_paused_at(st));
        put_known(s, JOB_FIELD_paused_usec, st->paused_usec);
    }
    put_known(s, JOB_FIELD_ended_at_usec, st->ended_usec);
    put_edited(s, st->edited);
    if (st->state == JOB_DONE && st->started_usec)
        put_usage(s, st);
    if (st->result == JOB_RESULT_DEPENDENCY && !v->forgotten)
        put_cause(s, st->cause.job, (enum job_result)st->cause.result);
}

static void put_counts(const struct shown *s, const struct job_view *v)
{
    if (!v->has_counts || !shows(s, JOB_FIELD_counts))
        return;
    wire_open(s->to, "counts", '{');
    wire_put_int(s->to, "total", (int64_t)v->total);
    wire_put_int(s->to, "queued", (int64_t)v->queued);
    wire_put_int(s->to, "running", (int64_t)v->running);
    wire_put_int(s->to, "done", (int64_t)v->done);
    wire_put_int(s->to, "failed", (int64_t)v->failed);
    if (v->cancelled)
        wire_put_int(s->to, "cancelled", (int64_t)v->cancelled);
    if (v->paused)
        wire_put_int(s->to, "paused", (int64_t)v->paused);
    if (v->resting)
        wire_put_int(s->to, "backing_off", (int64_t)v->resting);
    wire_close(s->to, '}');
}

void job_write(struct wire_writer *to, const char *key, const struct job_view *v,
               uint64_t fields, uint64_t spec)
{
    const struct shown s = {to, fields};

    wire_open(to, key, '{');
    put_id(to, &v->key);
    put_spec(&s, v, spec);
    put_status(&s, v);
    put_int(&s, JOB_FIELD_uid, v->owner.uid);
    if (shows(&s, JOB_FIELD_durable))
        wire_put_bool(to, "durable", v->durable);
    put_true(&s, JOB_FIELD_lends, v->lends);
    put_true(&s, JOB_FIELD_orphan, v->orphan);
    put_true(&s, JOB_FIELD_forgotten, v->forgotten);
    put_counts(&s, v);
    wire_close(to, '}');
}

void job_event_write(struct wire_writer *to, const struct job_news *ev, const char *name)
{
    const struct shown all = {to, JOB_ALL_FIELDS};

    wire_open(to, NULL, '{');
    wire_put_int(to, "cursor", (int64_t)ev->seq);
    wire_put_int(to, "at_usec", (int64_t)ev->at_usec);
    put_id(to, &ev->key);
    if (name)
        wire_put_text(to, "name", name);
    wire_put_text(to, "event", job_event_name(ev->type));
    wire_put_text(to, "state", job_state_name(ev->state));
    put_end(&all, &ev->end);
    if (ev->type == JOB_EV_EXITED && ev->state == JOB_QUEUED)
        wire_put_int(to, "again_in_usec", (int64_t)ev->again_usec);
    if (ev->type != JOB_EV_EXITED && ev->cause)
        put_cause(&all, ev->cause, (enum job_result)ev->cause_result);
    if (ev->state == JOB_DONE)
        wire_put_int(to, "exit_code", ev->end.exit_code);
    wire_put_int(to, "attempt", ev->key.attempt);
    wire_close(to, '}');
}

void job_attempt_write(struct wire_writer *to, const struct attempt_view *a)
{
    const struct shown all = {to, JOB_ALL_FIELDS};

    wire_open(to, NULL, '{');
    wire_put_int(to, "attempt", a->number);
    put_end(&all, &a->end);
    put_known(&all, JOB_FIELD_started_at_usec, a->started_usec);
    put_known(&all, JOB_FIELD_ended_at_usec, a->ended_usec);
    if (a->has_printed) {
        wire_put_int(to, "stdout_end", (int64_t)a->printed[JOB_STDOUT]);
        wire_put_int(to, "stderr_end", (int64_t)a->printed[JOB_STDERR]);
    }
    wire_close(to, '}');
}
