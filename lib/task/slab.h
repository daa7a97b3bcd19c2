/* Memory of tasks: slabs of equal slots, per thread, type-stable.
 *
 * A heap belongs to one runtime and has a store for each worker, and a few with a lock
 * that other threads share by turns. A store has slabs, by size class, and a free list
 * for each class that only its owner touches.
 *
 *   allocate   the owner's free list; else a batch of what others have given back; else a
 *              slot never used; else a batch of what was given back to other stores; else
 *              a new slab
 *   free       by the owner: its free list, while that is short; otherwise, and by other
 *              threads: the stack `remote` of the slot's store and class, one CAS, for a
 *              whole batch of them when that thread is a worker
 *
 * A batch is linked through next, and a stack of batches through the joiner of each one's
 * first slot, so that nobody touches the others before they are used. The joiner of the
 * others is the slot some places on, which is fetched ahead. Anybody pushes to
 * `remote`; a popper holds its lock, so only what is above it can change meanwhile.
 * What is free is thus within the reach of all stores but for SLAB_KEEP slots each: tasks
 * that are made now by one worker, now by another do not cost the memory of both.
 *
 * After a burst memory goes back to the system. A worker with nothing to do, a second
 * after it has found more than SLAB_SPARE bytes of slabs, calls slab_trim(): its own free
 * lists, and all that was given back, are put in order by slab, a portion at a time. A
 * slab that is whole is freed. What lies in the others is used before a new slab is made.
 * So allocating and freeing count nothing, and a slab is freed only if every one of its
 * slots has been in the trimmer's hands: nobody else can have one of them.
 *
 * A slot is a task for as long as its slab lives: between two lives its state word keeps
 * COMPLETE, so that a stray wake touches nothing, and closing the runtime may walk over
 * all slots (slab_each) instead of keeping a list of the tasks that live. The word of a
 * slot that was never used is 0. Nobody but spawn begins a life, by an exchange.
 *
 * Tasks of more than SLAB_LARGE bytes have a slab each, which goes with them.
 *
 * Life: heap_release() closes the stacks. Slots that wakers and join handles still hold
 * are counted then, and the last of them frees the heap. */
#ifndef VOLT_TASK_SLAB_H
#define VOLT_TASK_SLAB_H

#include "base/list.h"
#include "base/lock.h"
#include "base/poison.h"
#include "task/task.h"

#define SLAB_CLASSES 16
#define SLAB_LARGE   2048 /* bytes, header included; the largest class */
#ifndef SLAB_FIRST
#define SLAB_FIRST 8192 /* bytes of a class's first slab; each is twice the last, up to */
#define SLAB_MOST  262144
#endif
/* Stores that threads which are no workers share. */
#ifndef SLAB_OUTSIDE
#define SLAB_OUTSIDE 4
#endif
/* A worker's frees for other stores, gathered before they are given back. */
#ifndef SLAB_BATCH
#define SLAB_BATCH 32
#endif
#define SLAB_BATCHES 8 /* destinations at a time */
#define SLAB_AHEAD   4
/* Slots that one call of slab_trim() puts in order: about 20 us, where memory is cold. */
#ifndef SLAB_TRIM
#define SLAB_TRIM 64
#endif
#define SLAB_SPARE (UINT64_C(4) << 20)
/* What an owner keeps at most of its own frees. */
#ifndef SLAB_KEEP
#define SLAB_KEEP 512
#endif

struct slab {
    struct store *store;
    struct slab *next, *prev; /* the store's list, under its lock */
    char *slots, *end;
    size_t bytes;   /* of all of it */
    uint32_t size;  /* of a slot */
    uint32_t class; /* SLAB_CLASSES: large */
    /* Instead of being freed: of what is no slot, but part of one (scope.c). Or NULL. */
    void (*gone)(struct volt_task *t);
    /* 1: its store makes slots of another one now, and touches it no more; owner rel,
     * slab_trim() acq */
    vat_u32 full;
    /* Under the store's `pop`: the slots that slab_trim() has found, linked through next,
     * and the place in the store's list of slabs that have such. */
    struct volt_task *idle;
    uint32_t idle_count;
    struct list_node idle_node;
};

struct slab_batch {
    struct store *to;
    uint32_t class;
    struct volt_task *first; /* linked through next */
    uint32_t count;
    struct volt_task *recent[SLAB_AHEAD];
};

struct store {
    /* only read; apart from what the owner writes, because a thread that frees a slot of
     * another store comes here */
    _Alignas(VOLT_CACHE_LINE) struct heap *heap;
    uint32_t index;
    bool outside;
    /* slots given back, newest first, or CLOSED; push rel, pop acq under `pop` */
    _Alignas(VOLT_CACHE_LINE) vat_ptr remote[SLAB_CLASSES];
    vlock pop;
    struct list idle[SLAB_CLASSES]; /* of slabs with idle slots; under `pop` */
    /* the owner's; in an outside store, the holder of `alloc` */
    _Alignas(VOLT_CACHE_LINE) struct volt_task *free[SLAB_CLASSES];
    int32_t kept[SLAB_CLASSES]; /* own frees less takes since a batch was the list */
    char *fresh[SLAB_CLASSES];  /* never used slots of the newest slab, up to */
    struct slab *newest[SLAB_CLASSES];
    uint64_t taken; /* slots ever made from slabs */
    struct slab_batch batch[SLAB_BATCHES];
    vlock alloc;                          /* outside stores only */
    _Alignas(VOLT_CACHE_LINE) vlock lock; /* protects what follows */
    struct slab *slabs;
    uint64_t large;    /* length of the list of large ones, which is part of it */
    uint64_t released; /* slots that went with their slabs */
    bool closed;
};

struct heap {
    uint32_t workers, stores;
    uint32_t extra; /* bytes behind the state of each task: leaves.h; or 0 */
    /* slots in use after heap_release(); until then far from 0 */
    vat_u64 in_use;
    vat_u64 bytes; /* of all slabs; rlx */
    struct store store[];
};

/* NULL: out of memory. */
struct heap *heap_new(uint32_t workers);
/* After the last worker. Frees the heap, or leaves that to the last slot in use. NULL is
 * allowed. */
void heap_release(struct heap *h);

/* The calling thread owns worker i's store from now on, until slab_unbind(). */
void slab_bind(struct heap *h, uint32_t i);
void slab_unbind(void);
/* Owner thread only. Gives back what was gathered for other stores. */
void slab_flush(void);

/* A worker that is bound to h. Puts a portion of what is free in order, and frees the
 * slabs that are whole. True: there is more to do. */
bool slab_trim(struct heap *h) __attribute__((warn_unused_result));
/* Any thread. Bytes of all slabs at this moment. */
static inline uint64_t slab_bytes(const struct heap *h)
{
    return vat_u64_load(&h->bytes, VAT_RLX);
}

/* --- inside; the rest of it is in slab.c -------------------------------------------- */

/* The store whose owner the calling thread is. */
extern VAT_THREAD_LOCAL struct store *slab_mine;

struct volt_task *slab_alloc_slow(struct heap *h, size_t size);
void slab_free_slow(struct volt_task *t);

/* Steps of 64 up to 512, then four to each doubling... of which two remain. */
static inline uint32_t slab_class_of(size_t size)
{
    if (size <= 512)
        return (uint32_t)(size - 1) / 64;
    if (size <= 1024)
        return 8 + (uint32_t)(size - 513) / 128;
    return 12 + (uint32_t)(size - 1025) / 256;
}

/* Owner; the list is not empty. */
static inline struct volt_task *slab_from_list(struct store *s, uint32_t class)
{
    struct volt_task *t = s->free[class];

    VAT_RD(&t->next);
    s->free[class] = t->next;
    __builtin_prefetch(t->joiner, 1);
    s->kept[class]--;
    return t;
}

/* --- operations --------------------------------------------------------------------- */

/* Any thread. A slot of `size` bytes, header included; NULL: out of memory. All but state
 * and home is as its last life left it. h NULL: memory of its own, which tests use. */
static inline struct volt_task *slab_alloc(struct heap *h, size_t size)
{
    struct store *s = slab_mine;

    if (s && s->heap == h && size <= SLAB_LARGE) {
        uint32_t class = slab_class_of(size);

        if (s->free[class]) {
            struct volt_task *t = slab_from_list(s, class);

            mem_unpoison(t, size);
            return t;
        }
    }
    return slab_alloc_slow(h, size);
}

/* Any thread. */
static inline void slab_free(struct volt_task *t)
{
    struct slab *b = t->home;
    struct store *s = slab_mine;

    if (!b || b->store != s || b->class == SLAB_CLASSES ||
        s->kept[b->class] >= SLAB_KEEP) {
        slab_free_slow(t);
        return;
    }
    VAT_WR(&t->next);
    t->next = s->free[b->class];
    t->joiner = NULL;
    s->free[b->class] = t;
    s->kept[b->class]++;
    mem_poison(t + 1, b->size - sizeof(*t));
}

/* Any thread. Calls f for every slot, used or not; slots of slabs made meanwhile are left
 * out, but the thread that made them has seen what the caller did before. */
void slab_each(struct heap *h, void (*f)(struct volt_task *t, void *arg), void *arg);

#endif
