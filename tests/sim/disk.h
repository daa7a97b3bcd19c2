/* What is on the disk of the simulated machine: the rows of the store. image.c keeps and
 * reads them, disk.c is the store of one voltd over them. */
#ifndef TESTS_SIM_DISK_H
#define TESTS_SIM_DISK_H

#include "daemon/job/news.h"
#include "daemon/store/blobs.h"
#include "daemon/store/fact.h"
#include "daemon/store/reader.h"
#include "tests/sim/sim.h"

/* One row, on its way to the disk or there. */
struct row {
    enum {
        ROW_JOB,    /* number: uid; bytes: own, env and argv of the spec */
        ROW_EVENT,  /* item; bytes: the event */
        ROW_ENDED,  /* number: how many it counts as */
        ROW_OUTPUT, /* item; number: the stream */
        ROW_FORGET,
        ROW_NEWS,
        ROW_KEY,   /* bytes: a struct store_key */
        ROW_QUEUE, /* id: its place in image.c; number: what is kept of it */
    } type;
    uint64_t id;
    int64_t item;
    uint32_t attempt; /* of an event, as its news say */
    uint64_t number, at_usec;
    uint64_t life; /* of STARTING */
    uint64_t seq;  /* of its news; 0: it has none yet, or has none */
    bool has_news;
    struct job_news news;
    uint8_t *bytes;      /* owned */
    size_t n, env, argv; /* bytes of own and all; where the other parts begin */
};

/* Rows that become durable together. */
struct entry {
    struct row *rows;
    size_t n;
    bool submits;
    struct entry *next;
};

void image_reset(void);
struct entry *entry_new(void);
void entry_free(struct entry *e);
void entry_add(struct entry *e, const struct store_fact *facts, size_t n, uint64_t life);
void entry_add_forget(struct entry *e, uint64_t id);
/* The entry is on the disk: its news get their numbers, and are appended to *ret. */
struct news_list {
    struct job_news *all;
    size_t n;
};
void image_apply(const struct entry *e, struct news_list *ret);
/* The oldest ended jobs beyond so many, or NULL as told; 0: none. */
uint64_t image_beyond(uint64_t keep);
/* An ended job leaves. False: it is not there, or has not ended. */
bool image_forget(uint64_t id, bool *ret_exec);
uint64_t image_seq(void);
/* The news of that number, as it became durable; NULL: not yet. */
const struct job_news *image_news(uint64_t seq);
uint64_t image_last_id(void);
/* The latest durable fact of "default" (0) or "night" (1) says so. */
bool image_is_paused(int i);
bool image_has(uint64_t id);
/* As store_load() and store_history(). life: of the voltd that reads. */
int image_load(uint64_t life, store_load_fn *fn, void *arg);
int image_history(uint64_t life, const struct store_range *range, store_load_fn *fn,
                  void *arg, uint64_t *ret_at);
/* A copy; -ENODATA. */
int image_output(const struct job_key *key, unsigned stream, void **ret, size_t *ret_n);

#endif
