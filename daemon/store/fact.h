/* Facts: what is appended to the store. A tagged union; each kind has a struct with its
 * own fields and nothing else. A file that makes or reads one names the tag, in a switch
 * without default: a new kind does not compile until every reader handles it.
 *
 * All pointers are borrowed for the call that appends. */
#ifndef VOLTD_STORE_FACT_H
#define VOLTD_STORE_FACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "daemon/job/job.h"
#include "daemon/job/key.h"
#include "daemon/job/news.h"
#include "daemon/job/spec.h"
#include "daemon/store/blobs.h"
#include "daemon/store/key_row.h"

enum store_fact_type {
    STORE_SUBMIT,    /* a job or an array: the first fact of its id */
    STORE_EVENT,     /* what happened to it, or to an element */
    STORE_OUTPUT,    /* what it has printed; beside the event of its end */
    STORE_LAST,      /* nothing more comes of this job: it is history */
    STORE_ARRAY_END, /* the same of an array as a whole, whose end is no event */
    STORE_NEWS,      /* not durable: gets a number, and subscribers are notified */
    STORE_RESOURCE,  /* the size of a semaphore, set by hand; how much of a rate is
                      * spent; has no news */
    STORE_QUEUE,     /* what was set of a queue by hand; has no news */
    STORE_KEY,       /* the key of a job that ends here; has no news */
};

/* An array's elements have no SUBMIT of their own. */
struct store_fact_submit {
    uint64_t id;
    uint64_t at_usec;
    struct job_spec *spec;
    uid_t uid; /* the owner */
    gid_t gid;
};

/* What the news of a fact say: how the job is after it. */
struct store_after {
    uid_t owner;
    struct job_end end;
    uint8_t state;
};

/* CANCEL of an array as a whole ends what of it has not started. With a STARTING that is
 * a base (job_base) the store forgets what has happened to the job or element before the
 * base before it, but for what does not pass with an attempt: that what it waits for has
 * come (MET), and what was changed of it (EDIT). */
struct store_fact_event {
    struct job_key key; /* attempt: for the news; STARTING says it to the store */
    const struct job_event *event; /* not SUBMIT */
    struct store_after after;
};

struct store_fact_output {
    struct job_key key;
    const struct store_piece
        *piece; /* STORE_STREAMS of them; empty ones are not stored */
};

struct store_fact_last {
    uint64_t id;
    uint64_t at_usec; /* its end: retention goes by it */
    uid_t uid;        /* the owner */
};

/* Its news say EXITED. */
struct store_fact_array_end {
    uint64_t id;
    uint64_t at_usec;
    uint64_t count; /* its elements: retention goes by them */
    struct store_after after;
};

/* The latest of an owner and name counts. */
struct store_fact_resource {
    uid_t owner;
    const char *name;
    uint64_t capacity;  /* of a rate its burst; 0: it is not kept any longer */
    uint64_t per_usec;  /* of a rate: for one token; 0: a semaphore */
    uint64_t full_usec; /* of a rate: when all tokens are back, by CLOCK_REALTIME */
};

/* The latest of a name counts. */
struct store_fact_queue {
    const char *name;
    const uint64_t *numbers; /* what they mean is core/queues.c's */
    size_t n;                /* STORE_QUEUE_NUMBERS at most; 0: nothing is kept */
};

#define STORE_QUEUE_NUMBERS 160

struct store_fact {
    enum store_fact_type type;
    union {
        struct store_fact_submit submit;
        struct store_fact_event event;
        struct store_fact_output output;
        struct store_fact_last last;
        struct store_fact_array_end array_end;
        const struct job_news *news;
        struct store_fact_resource resource;
        struct store_fact_queue queue;
        struct store_key key;
    };
};

/* The news of a fact, without their number. False: it has none. */
static inline bool store_fact_news(const struct store_fact *f, struct job_news *ret)
{
    switch (f->type) {
    case STORE_SUBMIT:
        *ret = (struct job_news){.at_usec = f->submit.at_usec,
                                 .key = {.id = f->submit.id, .index = JOB_NO_INDEX},
                                 .type = JOB_EV_SUBMIT,
                                 .owner = f->submit.uid};
        return true;
    case STORE_EVENT:
        *ret = (struct job_news){.at_usec = f->event.event->at_usec,
                                 .key = f->event.key,
                                 .type = (uint8_t)f->event.event->type,
                                 .state = f->event.after.state,
                                 .end = f->event.after.end,
                                 .owner = f->event.after.owner};
        job_news_set_more(ret, f->event.event);
        return true;
    case STORE_ARRAY_END:
        *ret = (struct job_news){.at_usec = f->array_end.at_usec,
                                 .key = {.id = f->array_end.id, .index = JOB_NO_INDEX},
                                 .type = JOB_EV_EXITED,
                                 .state = f->array_end.after.state,
                                 .end = f->array_end.after.end,
                                 .owner = f->array_end.after.owner};
        return true;
    case STORE_NEWS:
        *ret = *f->news;
        return true;
    case STORE_OUTPUT:
    case STORE_LAST:
    case STORE_RESOURCE:
    case STORE_QUEUE:
    case STORE_KEY:
        break;
    }
    return false;
}

#endif
