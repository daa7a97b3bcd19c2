/* See event_pack.h. */
#include <errno.h>
#include <string.h>

#include "daemon/job/event_pack.h"

#define KEPT_BIT 4 /* behind the type: what is kept of an EXITED */
#define KEPT_MAX 15

static void pack_exited(struct pack *p, const struct job_event *ev)
{
    pack_number(p, ev->result);
    pack_signed(p, ev->code);
    pack_string(p, ev->step ? ev->step : "");
    pack_number(p, ev->usage.user_usec);
    pack_number(p, ev->usage.system_usec);
    pack_number(p, ev->usage.max_rss_bytes);
    pack_number(p, ev->survivors);
}

void job_event_pack(struct pack *p, const struct job_event *ev, uint64_t life)
{
    pack_number(p, (uint64_t)ev->type | (uint64_t)ev->kept << KEPT_BIT);
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

static void unpack_exited(struct unpack *u, struct job_event *ret,
                          char step_buf[JOB_STEP_MAX])
{
    ret->result = (enum job_result)unpack_number_max(u, JOB_RESULT_COUNT - 1);
    ret->code = (int32_t)unpack_signed(u);
    size_t n = unpack_number_max(u, JOB_STEP_MAX - 1);
    const uint8_t *step = unpack_raw(u, n);
    if (step && n) {
        memcpy(step_buf, step, n);
        step_buf[n] = '\0';
        ret->step = step_buf;
    }
    ret->usage.user_usec = unpack_number(u);
    ret->usage.system_usec = unpack_number(u);
    ret->usage.max_rss_bytes = unpack_number(u);
    ret->survivors = (uint32_t)unpack_number_max(u, UINT32_MAX);
}

int job_event_unpack(struct unpack *u, struct job_event *ret, uint64_t *ret_life,
                     char step_buf[JOB_STEP_MAX])
{
    uint64_t word = unpack_number_max(u, KEPT_MAX << KEPT_BIT | (JOB_EV_COUNT - 1));

    *ret = (struct job_event){.type = (enum job_event_type)(word & ((1 << KEPT_BIT) - 1)),
                              .kept = (uint8_t)(word >> KEPT_BIT)};
    *ret_life = 0;
    u->failed |= ret->type >= JOB_EV_COUNT || (ret->kept && ret->type != JOB_EV_EXITED);
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
        unpack_exited(u, ret, step_buf);
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
