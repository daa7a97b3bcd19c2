/* START of an attempt: where it may begin, and what the answer means. The whole of it is
 * in attempt.c. */
#include "daemon/exec/attempt.h"

#include <errno.h>

static enum after_start judge_start(struct attempt *a)
{
    int r = keeper_call_status(&a->call);

    a->armed &= r == 0;
    a->start = keeper_call_serial(&a->call);
    keeper_call_fini(&a->call);
    if (r == -ECANCELED) /* withdrawn: it is to stop */
        return START_AGAIN;
    if (r == 0 || (r == -EEXIST && a->asked)) /* left by an earlier START */
        return START_DONE;
    a->asked = true;
    if (r == -ESRCH && a->args.after > 0)
        return START_ELSEWHERE;
    if (r == -ECONNRESET) {
        a->resent = true;
        tries_lost(&a->tries);
        return a->args.after > 0 ? START_UNKNOWN : START_AGAIN;
    }
    tries_refused(&a->tries,
                  r == -EBADMSG  ? "launch"
                  : r == -EEXIST ? "record"
                                 : "keeper",
                  -r);
    if (!tries_are_over(&a->tries))
        return START_AGAIN;
    if (a->resent) /* one of the STARTs may have worked: only the record knows */
        return START_DONE;
    attempt_fail(a, a->tries.refuser, a->tries.error);
    return START_OVER;
}

/* False: there is none. */
bool attempt_begin_rest(struct attempt *a)
{
    uint64_t usec = tries_rest(&a->tries);

    volt_sleep_fini(&a->limit);
    if (usec > 0)
        volt_sleep_init(&a->limit, usec);
    return usec > 0;
}

enum volt_poll attempt_rest_poll(struct volt_cx *cx, struct work *w)
{
    if (work_stop_poll(cx, w) == VOLT_READY)
        return VOLT_READY;
    return volt_sleep_poll(cx, &w->attempt->limit);
}

/* READY: START is answered, or withdrawn: while there is no keeper, a job that is to
 * stop does not wait for one. */
static enum volt_poll answer_poll(struct volt_cx *cx, struct work *w)
{
    struct keeper_call *call = &w->attempt->call;

    if (keeper_call_poll(cx, call) == VOLT_READY)
        return VOLT_READY;
    if (keeper_call_is_unsent(call) && work_stop_poll(cx, w) == VOLT_READY &&
        keeper_call_withdraw(call))
        return VOLT_READY;
    return VOLT_PENDING;
}

/* Whether it still has a slot or a job to follow. One that is to stop and has been sent
 * goes on whatever it has. */
static bool take_place(struct work *w)
{
    struct aftermath after = {0};

    manager_lock(w->manager);
    bool follows = !w->granted && w->relay.before;
    bool placed =
        w->granted || follows || jobs_status(w->job, w->offset)->state >= JOB_STOPPING;
    w->attempt->args.after = follows ? w->relay.after : 0;
    manager_unlock(w->manager, &after);
    return placed;
}

/* One that follows runs later, and its record need not be looked at before it ends. */
static void call_start(struct volt_cx *cx, struct work *w)
{
    struct attempt *a = w->attempt;
    struct job_key key = attempt_key(w);

    a->armed = a->args.after > 0;
    record_wait_fini(&a->wait);
    record_wait_init(&a->wait, w->manager->watch, &key);
    if (a->armed)
        record_wait_arm(cx, &a->wait);
    if (!a->sent)
        keeper_call_init_start(&a->call, w->manager->link, &key, &a->args);
    a->sent = false;
}

void work_send_start(struct work *w)
{
    struct attempt *a = w->attempt;
    struct job_key key = attempt_key(w);

    if (!a || a->over)
        return;
    keeper_call_init_start(&a->call, w->manager->link, &key, &a->args);
    keeper_call_send(&a->call);
    a->sent = true;
}

/* The START was taken, or is to find another place. */
static void note_place(struct work *w, enum after_start next)
{
    struct attempt *a = w->attempt;
    struct aftermath after = {0};

    a->follows = next == START_DONE && a->args.after > 0;
    a->recalled = false;
    manager_lock(w->manager);
    if (next == START_DONE && !a->tries.alone)
        relay_enter(w->manager, w, a->start, &after);
    else if (next == START_ELSEWHERE)
        relay_part(w->manager, w);
    manager_unlock(w->manager, &after);
}

/* It may have been started, and is to stop: it is not started again to learn that. */
static bool is_to_be_sought(struct work *w)
{
    return w->attempt->resent && attempt_is_to_stop(w);
}

enum volt_poll attempt_start_poll(struct volt_cx *cx, struct work *w)
{
    struct attempt *a = w->attempt;

    VOLT_BEGIN(a->start_at);
    a->next = START_UNKNOWN;
    if (!is_to_be_sought(w)) {
        a->next = START_AGAIN;
        if (!take_place(w))
            return VOLT_READY;
        call_start(cx, w);
        VOLT_AWAIT(a->start_at, answer_poll(cx, w));
        a->next = judge_start(a);
        if (a->next == START_OVER && a->tries.error == ENOENT)
            record_watch_check(w->manager->watch);
    }
    if (a->next == START_UNKNOWN) { /* the record knows, once a keeper answers */
        do {
            attempt_call_recall(w);
            VOLT_AWAIT(a->start_at, keeper_call_poll(cx, &a->call));
        } while (keeper_call_status(&a->call) == -ECONNRESET);
        a->next = START_DONE;
    }
    note_place(w, a->next);
    VOLT_END(a->start_at);
}
