/* An append as an entry of a group (group.h), with its rows packed behind its head. The
 * caller's thread makes it; sqlite_apply.c applies it on the writer's thread. Knows no
 * SQLite. */
#ifndef VOLTD_STORE_SQLITE_ENTRY_H
#define VOLTD_STORE_SQLITE_ENTRY_H

#include <stddef.h>
#include <stdint.h>
#include "daemon/job/pack.h"
#include "daemon/job/spec_pack.h"
#include "daemon/store/fact.h"
#include "daemon/store/group.h"

/* Kinds of rows and their fields. */
enum entry_row {
    ENTRY_JOB = 1,  /* id, uid, gid, at, length and bytes of own, env, argv; has news */
    ENTRY_EVENT,    /* job, item (signed), length and bytes of the events */
    ENTRY_LAST,     /* id, at, uid, number of elements or 1, whether its news follow */
    ENTRY_OUTPUT,   /* job, item (signed), stream, length and bytes */
    ENTRY_FORGET,   /* id */
    ENTRY_NEWS,     /* bytes of a struct job_news */
    ENTRY_RESOURCE, /* owner, length and bytes of the name, capacity, per, full */
    ENTRY_QUEUE,    /* length and bytes of the name, number of numbers, numbers */
    ENTRY_KEY,      /* bytes of a struct store_key */
};

struct entry {
    struct group_entry head;
    uint32_t size; /* bytes after the struct */
};

/* An entry that is being packed. */
struct entry_packing {
    struct entry head;
    struct pack p;
    struct spec_pack part;            /* scratch */
    uint64_t life;                    /* stored with STARTING */
    uint8_t room[512], own_room[128]; /* enough for most entries that are no drafts */
};

void entry_begin(struct entry_packing *e, uint64_t life);
/* Packs facts. May be called any number of times; entry_end() reports a failure. */
void entry_add(struct entry_packing *e, const struct store_fact *facts, size_t n);
void entry_add_forget(struct entry_packing *e, const uint64_t *ids, size_t n);
/* Ends the packing. Returns the entry, which is new, from malloc() and of exact size.
 * NULL: no memory. */
struct group_entry *entry_end(struct entry_packing *e);

#endif
