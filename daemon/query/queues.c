/* See queues.h. */
#include "daemon/query/queues.h"

#include <string.h>

#include "daemon/core/parts.h"
#include "daemon/admit/admission.h"
#include "daemon/core/queues.h"
#include "daemon/core/tx.h"

static uint64_t in_words(enum queue_setting s, uint64_t value)
{
    return s == QUEUE_SLOTS ? queue_slots(value) : value;
}

static void view(const struct queue *q, struct queue_view *ret)
{
    const struct admission_queue_counts counts = admission_count_queue(q->admitted);

    *ret = (struct queue_view){.paused = q->hand.paused,
                               .drained = q->hand.drained,
                               .gone = queue_is_gone(q),
                               .used = counts.slots,
                               .waiting = counts.waiting};
    memcpy(ret->name, q->as_read.name, sizeof(ret->name));
    for (enum queue_setting s = 0; s < QUEUE_SETTINGS; s++) {
        ret->value[s] = in_words(s, queue_value(q, s));
        ret->configured[s] = in_words(s, q->as_read.value[s]);
        ret->by_hand[s] = ret->value[s] != ret->configured[s];
    }
    for (enum queue_list i = 0; i < QUEUE_LISTS; i++) {
        memcpy(ret->names[i], queue_allows(q, i)->names, sizeof(ret->names[i]));
        memcpy(ret->names_configured[i], q->as_read.allowed[i].names,
               sizeof(ret->names_configured[i]));
        ret->list_by_hand[i] = strcmp(ret->names[i], ret->names_configured[i]) != 0;
    }
}

size_t query_queues(struct core *core, struct queue_view *ret)
{
    size_t n = 0;

    core_lock(core);
    for (const struct queue *q = queues_first(core); q; q = queues_next(q))
        if (!queue_is_over(q))
            view(q, &ret[n++]);
    core_did(core, queues_count(core), 0, 0);
    core_unlock(core);
    return n;
}
