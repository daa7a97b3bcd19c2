/* Facts: the records that are appended to the store. A tagged union: each kind has a
 * struct with its own fields only. A file that makes or reads facts names each tag in a
 * switch without default, so a new kind does not compile until every reader handles it.
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
    STORE_EVENT,     /* an event of the job or of an element */
    STORE_OUTPUT,    /* output of the job, with the event of its end */
    STORE_LAST,      /* no more facts of this job follow: it is history */
    STORE_ARRAY_END, /* likewise for a whole array, whose end is no event */
    STORE_NEWS,      /* not durable: gets a number and notifies */
    STORE_RESOURCE,  /* the size of a semaphore, set by hand; how much of a rate is spent;
                      * has no news */
    STORE_QUEUE,     /* settings of a queue, made by hand; has no news */
    STORE_KEY,       /* the key of a job that ends now; has no news */
};

/* For a job or a whole array; elements have no SUBMIT of their own. */
struct store_fact_submit {
    uint64_t id;
    uint64_t at_usec;
    struct job_spec *spec;
    uid_t uid; /* the owner */
    gid_t gid;
};

/* The state of the job after the fact, for its news. */
struct store_after {
    uid_t owner;
    struct job_end end;
    uint8_t state;
};

/* CANCEL of a whole array ends its elements that have not started. STARTING may be a base
 * (job_base): the store then deletes the earlier events of the job or element, up to the
 * previous base. MET (a wait is over) and EDIT are not deleted, as they outlast an
 * attempt. */
struct store_fact_event {
    struct job_key key; /* attempt: for the news; the store gets it from STARTING */
    const struct job_event *event; /* not SUBMIT */
    struct store_after after;
};

struct store_fact_output {
    struct job_key key;
    const struct store_piece *piece; /* STORE_STREAMS pieces; empty ones are not stored */
};

struct store_fact_last {
    uint64_t id;
    uint64_t at_usec; /* its end, by which retention orders */
    uid_t uid;        /* the owner */
};

/* Its news are of type EXITED. */
struct store_fact_array_end {
    uint64_t id;
    uint64_t at_usec;
    uint64_t count; /* its elements, which retention counts */
    struct store_after after;
};

/* The latest fact of an owner and name is in force. */
struct store_fact_resource {
    uid_t owner;
    const char *name;
    uint64_t capacity;  /* of a rate its burst; 0: the row is deleted */
    uint64_t per_usec;  /* of a rate: time for one token; 0: a semaphore */
    uint64_t full_usec; /* of a rate: when it is full again, by CLOCK_REALTIME */
};

/* The latest fact of a name is in force. */
struct store_fact_queue {
    const char *name;
    const uint64_t *numbers; /* core/queues.c knows their meaning */
    size_t n;                /* at most STORE_QUEUE_NUMBERS; 0: the row is deleted */
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

/* Fills in the news of a fact, without their number. Returns false if the fact has no
 * news. */
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
