/* Facts for tests that write a store by hand. What is not an argument is zero. */
#ifndef TESTS_SUPPORT_FACTS_H
#define TESTS_SUPPORT_FACTS_H

#include "daemon/store/fact.h"

static inline struct store_fact fact_submit(uint64_t id, uint64_t at_usec,
                                            struct job_spec *spec)
{
    return (struct store_fact){.type = STORE_SUBMIT,
                               .submit = {.id = id, .at_usec = at_usec, .spec = spec}};
}

/* index: JOB_NO_INDEX, or of an element. ev is borrowed. */
static inline struct store_fact fact_event(uint64_t id, int64_t index,
                                           const struct job_event *ev)
{
    return (struct store_fact){.type = STORE_EVENT,
                               .event = {.key = {.id = id, .index = index}, .event = ev}};
}

/* STORE_STREAMS pieces, borrowed. */
static inline struct store_fact fact_output(uint64_t id, const struct store_piece *piece)
{
    return (struct store_fact){
        .type = STORE_OUTPUT,
        .output = {.key = {.id = id, .index = JOB_NO_INDEX}, .piece = piece}};
}

static inline struct store_fact fact_last(uint64_t id, uint64_t at_usec, uid_t uid)
{
    return (struct store_fact){.type = STORE_LAST,
                               .last = {.id = id, .at_usec = at_usec, .uid = uid}};
}

#endif
