/* See event_pack.h. */
#include <errno.h>
#include <string.h>

#include "daemon/job/event_pack.h"

#define KEPT_BIT   4 /* behind the type: what is kept of an EXITED */
#define KEPT_MAX   15
#define NAMED_BIT  8 /* an EXITED that ends with the pids of survivors ... */
#define OVER_BIT   9 /* ... and then with what was printed beyond the limit */
#define EXITED_MAX (1 << OVER_BIT | 1 << NAMED_BIT | KEPT_MAX << KEPT_BIT)

static void pack_exited(struct pack *p, const struct job_event *ev)
{
    pack_number(p, ev->result);
    pack_signed(p, ev->code);
    pack_string(p, ev->step ? ev->step : "");
    pack_number(p, ev->usage.user_usec);
    pack_number(p, ev->usage.system_usec);
    pack_number(p, ev->usage.max_rss_bytes);
    pack_number(p, ev->survivors);
    for (size_t i = 0; ev->named && i < JOB_NAMED_MAX; i++)
        pack_number(p, ev->named->pid[i]);
    if (ev->over_kib)
        pack_number(p, ev->over_kib);
}

void job_event_pack(struct pack *p, const struct job_event *ev, uint64_t life)
{
    bool named = ev->type == JOB_EV_EXITED && ev->named;
    bool over = ev->type == JOB_EV_EXITED && ev->over_kib;

    pack_number(p, (uint64_t)ev->type | (uint64_t)ev->kept << KEPT_BIT |
                       (uint64_t)named << NAMED_BIT | (uint64_t)over << OVER_BIT);
    pack_number(p, ev->at_usec);
    switch (ev->type) {
    case JOB_EV_STARTING:
        pack_number(p, ev->attempt);
        pack_number(p, life);
        return;
    case JOB_EV_STARTED:
        pack_number(p, (uint32_t)ev->pid);
        return;
    case JOB_EV_EXITED:
        pack_exited(p, ev);
        return;
    case JOB_EV_SUBMIT:
    case JOB_EV_TIMEOUT:
    case JOB_EV_CANCEL:
    case JOB_EV_OUTPUT_LIMIT:
    case JOB_EV_DEFERRED:
    case JOB_EV_COUNT:
        return;
    }
}

static void unpack_exited(struct unpack *u, struct job_event *ret, uint64_t word,
                          struct job_event_room *room)
{
    bool named = word & 1 << NAMED_BIT, over = word & 1 << OVER_BIT;

    ret->result = (enum job_result)unpack_number_max(u, JOB_RESULT_COUNT - 1);
    ret->code = (int32_t)unpack_signed(u);
    size_t n = unpack_number_max(u, JOB_STEP_MAX - 1);
    const uint8_t *step = unpack_raw(u, n);
    if (step && n) {
        memcpy(room->step, step, n);
        room->step[n] = '\0';
        ret->step = room->step;
    }
    ret->usage.user_usec = unpack_number(u);
    ret->usage.system_usec = unpack_number(u);
    ret->usage.max_rss_bytes = unpack_number(u);
    ret->survivors = (uint32_t)unpack_number_max(u, UINT32_MAX);
    for (size_t i = 0; named && i < JOB_NAMED_MAX; i++)
        room->named.pid[i] = (uint32_t)unpack_number_max(u, UINT32_MAX);
    ret->named = named ? &room->named : NULL;
    ret->over_kib = over ? (uint32_t)unpack_number_max(u, UINT32_MAX) : 0;
}

int job_event_unpack(struct unpack *u, struct job_event *ret, uint64_t *ret_life,
                     struct job_event_room *room)
{
    uint64_t word = unpack_number_max(u, EXITED_MAX | (JOB_EV_COUNT - 1));

    *ret = (struct job_event){.type = (enum job_event_type)(word & ((1 << KEPT_BIT) - 1)),
                              .kept = word >> KEPT_BIT & KEPT_MAX};
    *ret_life = 0;
    u->failed |=
        ret->type >= JOB_EV_COUNT || ((word & EXITED_MAX) && ret->type != JOB_EV_EXITED);
    ret->at_usec = unpack_number(u);
    switch (ret->type) {
    case JOB_EV_STARTING:
        ret->attempt = (uint32_t)unpack_number_max(u, UINT32_MAX);
        *ret_life = unpack_number(u);
        break;
    case JOB_EV_STARTED:
        ret->pid = (int32_t)unpack_number_max(u, INT32_MAX);
        break;
    case JOB_EV_EXITED:
        unpack_exited(u, ret, word, room);
        break;
    case JOB_EV_TIMEOUT:
    case JOB_EV_CANCEL:
    case JOB_EV_OUTPUT_LIMIT:
    case JOB_EV_DEFERRED:
        break;
    case JOB_EV_SUBMIT: /* is not an event of its own: the job's row says it */
    case JOB_EV_COUNT:
        u->failed = true;
        break;
    }
    return u->failed ? -EBADMSG : 0;
}
