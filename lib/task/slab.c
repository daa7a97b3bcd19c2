#include "task/slab.h"

#include <stdlib.h>
#include <sys/mman.h>

#define SLOT_ALIGN 64
#define IN_USE     (UINT64_C(1) << 32) /* more than there can be slots */

VAT_THREAD_LOCAL struct store *slab_mine;

static char closed_mark;
#define CLOSED ((void *)&closed_mark)

static uint32_t class_size(uint32_t class)
{
    if (class < 8)
        return (class + 1) * 64;
    if (class < 12)
        return 512 + (class - 7) * 128;
    return 1024 + (class - 11) * 256;
}

/* --- slabs ------------------------------------------------------------------------ */

static uint32_t capacity(const struct slab *b)
{
    return (uint32_t)((size_t)(b->end - b->slots) / b->size);
}

/* Of malloc()'s memory pieces of this size may stay in its heaps, between others, when
 * they are freed. */
#if defined(POISON) || defined(VOLT_MCX)
#define MAPPED(size) false
#else
#define MAPPED(size) ((size) >= 131072)
#endif

static void *memory_new(size_t size)
{
    if (!MAPPED(size))
        return calloc(1, size);
    void *p =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return p == MAP_FAILED ? NULL : p;
}

static void memory_free(void *p, size_t size)
{
    if (MAPPED(size))
        (void)munmap(p, size);
    else
        free(p);
}

static struct slab *slab_new(struct store *s, uint32_t class, uint32_t size, size_t bytes)
{
    size_t all = sizeof(struct slab) + SLOT_ALIGN + bytes;
    struct slab *b = memory_new(all);

    if (!b)
        return NULL;
    (void)vat_u64_add(&s->heap->bytes, all, VAT_RLX);
    uintptr_t slots =
        ((uintptr_t)(b + 1) + SLOT_ALIGN - 1) & ~(uintptr_t)(SLOT_ALIGN - 1);

    b->store = s;
    b->bytes = all;
    vat_u32_init(&b->full, 0);
    b->slots = (char *)slots;
    b->end = b->slots + bytes / size * size;
    b->size = size;
    b->class = class;
    mem_poison(b->slots, bytes);
    for (char *p = b->slots; p < b->end; p += size)
        mem_unpoison(p, sizeof(struct volt_task));
    vlock_lock(&s->lock);
    b->next = s->slabs;
    if (b->next)
        b->next->prev = b;
    s->slabs = b;
    if (class == SLAB_CLASSES)
        s->large++;
    vlock_unlock(&s->lock);
    return b;
}

static void slab_delete(struct slab *b)
{
    mem_unpoison(b->slots, b->end - b->slots);
    (void)vat_u64_sub(&b->store->heap->bytes, b->bytes, VAT_RLX);
    memory_free(b, b->bytes);
}

/* --- heap ------------------------------------------------------------------------- */

struct heap *heap_new(uint32_t workers)
{
    uint32_t stores = workers + SLAB_OUTSIDE;
    struct heap *h =
        aligned_alloc(_Alignof(struct heap), sizeof(*h) + stores * sizeof(struct store));

    if (!h)
        return NULL;
    h->workers = workers;
    h->stores = stores;
    h->extra = 0;
    vat_u64_init(&h->in_use, IN_USE);
    vat_u64_init(&h->bytes, 0);
    for (uint32_t i = 0; i < stores; i++) {
        h->store[i] = (struct store){.heap = h, .index = i, .outside = i >= workers};
        for (uint32_t c = 0; c < SLAB_CLASSES; c++)
            vat_ptr_init(&h->store[i].remote[c], NULL);
    }
    return h;
}

static void heap_free(struct heap *h)
{
    for (uint32_t i = 0; i < h->stores; i++)
        for (struct slab *b = h->store[i].slabs, *next; b; b = next) {
            next = b->next;
            slab_delete(b);
        }
    free(h);
}

/* n slots less are in use. */
static void heap_less(struct heap *h, uint64_t n)
{
    if (vat_u64_sub(&h->in_use, n, VAT_AR) == n)
        heap_free(h);
}

static uint64_t length(struct volt_task *t)
{
    uint64_t n = 0;

    for (; t; t = t->next)
        n++;
    return n;
}

/* Of a stack of batches. */
static uint64_t stack_length(struct volt_task *t)
{
    uint64_t n = 0;

    for (; t; t = t->joiner)
        n += length(t);
    return n;
}

void heap_release(struct heap *h)
{
    uint64_t in_use = 0;

    if (!h)
        return;
    for (uint32_t i = 0; i < h->stores; i++) {
        struct store *s = &h->store[i];

        /* What others are about to push finds the mark, and counts as in use. */
        in_use += s->taken;
        for (uint32_t c = 0; c < SLAB_CLASSES; c++)
            in_use -= stack_length(vat_ptr_xchg(&s->remote[c], CLOSED, VAT_ACQ)) +
                      length(s->free[c]);
        vlock_lock(&s->lock);
        s->closed = true;
        in_use += s->large - s->released;
        for (struct slab *b = s->slabs; b; b = b->next)
            in_use -= b->idle_count;
        vlock_unlock(&s->lock);
    }
    heap_less(h, IN_USE - in_use);
}

/* --- freeing ---------------------------------------------------------------------- */

/* The store's lock held. */
static void unlink_slab(struct store *s, struct slab *b)
{
    if (b->prev)
        b->prev->next = b->next;
    else
        s->slabs = b->next;
    if (b->next)
        b->next->prev = b->prev;
}

static void free_large(struct slab *b)
{
    struct store *s = b->store;

    vlock_lock(&s->lock);
    unlink_slab(s, b);
    s->large--;
    bool closed = s->closed;
    vlock_unlock(&s->lock);
    slab_delete(b);
    if (closed)
        heap_less(s->heap, 1);
}

/* Any thread. Gives a batch of n slots of a class back to their store. */
static void give_back(struct store *s, uint32_t class, struct volt_task *first,
                      uint32_t n)
{
    vat_ptr *remote = &s->remote[class];
    void *top = vat_ptr_load(remote, VAT_RLX);

    do {
        if (top == CLOSED) {
            heap_less(s->heap, n);
            return;
        }
        VAT_WR(&first->joiner);
        first->joiner = top;
    } while (!vat_ptr_cas(remote, &top, first, VAT_REL, VAT_RLX));
}

static void batch_flush(struct slab_batch *b)
{
    if (b->count)
        give_back(b->to, b->class, b->first, b->count);
    b->count = 0;
}

/* Owner thread of `from`. */
static void gather(struct store *from, struct store *to, struct volt_task *t)
{
    uint32_t class = ((struct slab *)t->home)->class;
    struct slab_batch *b = &from->batch[(to->index + class) % SLAB_BATCHES];

    if (b->to != to || b->class != class || b->count == SLAB_BATCH)
        batch_flush(b);
    VAT_WR(&t->next);
    if (b->count == 0)
        *b = (struct slab_batch){.to = to, .class = class};
    t->next = b->first;
    t->joiner = b->recent[b->count % SLAB_AHEAD];
    b->recent[b->count++ % SLAB_AHEAD] = b->first = t;
}

void slab_flush(void)
{
    for (int i = 0; slab_mine && i < SLAB_BATCHES; i++)
        batch_flush(&slab_mine->batch[i]);
}

void slab_bind(struct heap *h, uint32_t i)
{
    slab_mine = h ? &h->store[i] : NULL;
}

void slab_unbind(void)
{
    slab_flush();
    slab_mine = NULL;
}

void slab_free_slow(struct volt_task *t)
{
    struct slab *b = t->home;

    if (!b) {
        free(t);
        return;
    }
    if (b->gone) {
        b->gone(t);
        return;
    }
    if (b->class == SLAB_CLASSES) {
        free_large(b);
        return;
    }
    struct store *s = b->store;

    mem_poison(t + 1, b->size - sizeof(*t));
    if (slab_mine && slab_mine->heap == s->heap) {
        gather(slab_mine, s, t);
        return;
    }
    VAT_WR(&t->next);
    t->next = NULL;
    give_back(s, b->class, t, 1);
}

/* --- allocating ------------------------------------------------------------------- */

/* Lock `pop` held: nobody else takes away, so what was on top stays where it was. A batch
 * or NULL. */
static struct volt_task *pop_locked(vat_ptr *remote)
{
    void *top = vat_ptr_load(remote, VAT_ACQ);

    while (top && top != CLOSED) {
        struct volt_task *first = top;

        VAT_RD(&first->joiner);
        if (vat_ptr_cas(remote, &top, first->joiner, VAT_ACQ, VAT_ACQ))
            return first;
    }
    return NULL;
}

/* Owner of s, whose list is empty. Takes a batch of what was given back to a store.
 * False: there was nothing. */
static bool collect(struct store *s, struct store *from, uint32_t class)
{
    if (!vat_ptr_load(&from->remote[class], VAT_RLX))
        return false;
    vlock_lock(&from->pop);
    s->free[class] = pop_locked(&from->remote[class]);
    vlock_unlock(&from->pop);
    s->kept[class] = 0;
    return s->free[class] != NULL;
}

/* Owner of s. What was given back to the others, rather than a new slab. */
static bool borrow(struct store *s, uint32_t class)
{
    struct heap *h = s->heap;

    for (uint32_t i = 1; i < h->stores; i++) {
        struct store *from = &h->store[(s->index + i) % h->stores];

        if (collect(s, from, class))
            return true;
    }
    return false;
}

/* Owner of s, whose list is empty. What slab_trim() has put in order: the idle slots of
 * one slab. */
static bool revive(struct store *s, uint32_t class)
{
    struct heap *h = s->heap;

    for (uint32_t i = 0; i < h->stores && !s->free[class]; i++) {
        struct store *from = &h->store[(s->index + i) % h->stores];

        vlock_lock(&from->pop);
        struct list_node *n = list_take_first(&from->idle[class]);
        if (n) {
            struct slab *b = list_thing(n, struct slab, idle_node);

            s->free[class] = b->idle;
            b->idle = NULL;
            b->idle_count = 0;
        }
        vlock_unlock(&from->pop);
    }
    s->kept[class] = 0;
    return s->free[class] != NULL;
}

/* Owner. A slot that was never used, where none is free. */
static struct volt_task *fresh(struct store *s, uint32_t class)
{
    struct slab *b = s->newest[class];

    if (b)
        VAT_RD(&b->end);
    if (!b || s->fresh[class] == b->end) {
        size_t bytes = SLAB_FIRST;

        if (borrow(s, class) || revive(s, class))
            return slab_from_list(s, class);

        struct slab *last = b;
        if (b)
            bytes = (size_t)(b->end - b->slots) * 2;
        if (bytes > SLAB_MOST)
            bytes = SLAB_MOST;
        b = slab_new(s, class, class_size(class), bytes);
        if (!b)
            return NULL;
        if (last)
            vat_u32_store(&last->full, 1, VAT_REL);
        s->newest[class] = b;
        s->fresh[class] = b->slots;
    }
    struct volt_task *t = (struct volt_task *)(void *)s->fresh[class];

    s->fresh[class] += b->size;
    s->taken++;
    t->home = b;
    return t;
}

/* Owner. */
static struct volt_task *take(struct store *s, uint32_t class)
{
    return s->free[class] || collect(s, s, class) ? slab_from_list(s, class)
                                                  : fresh(s, class);
}

/* Threads that are no workers share the stores behind the workers', by turns. */
static struct store *outside(struct heap *h)
{
    static vat_u32 turn;
    static _Thread_local uint32_t my_turn;

    if (my_turn == 0)
        my_turn = vat_u32_add(&turn, 1, VAT_RLX) % SLAB_OUTSIDE + 1;
    return &h->store[h->workers + my_turn - 1];
}

static struct volt_task *take_outside(struct store *s, uint32_t class)
{
    vlock_lock(&s->alloc);
    struct volt_task *t = take(s, class);
    vlock_unlock(&s->alloc);
    return t;
}

struct volt_task *slab_alloc_slow(struct heap *h, size_t size)
{
    struct volt_task *t;

    if (!h)
        return calloc(1, size);
    struct store *s = slab_mine && slab_mine->heap == h ? slab_mine : outside(h);

    if (size > SLAB_LARGE) {
        size = (size + SLOT_ALIGN - 1) & ~(size_t)(SLOT_ALIGN - 1);
        struct slab *b =
            size <= UINT32_MAX ? slab_new(s, SLAB_CLASSES, (uint32_t)size, size) : NULL;
        if (!b)
            return NULL;
        t = (struct volt_task *)(void *)b->slots;
        t->home = b;
    } else {
        t = s->outside ? take_outside(s, slab_class_of(size))
                       : take(s, slab_class_of(size));
    }
    if (t)
        mem_unpoison(t, size);
    return t;
}

/* --- giving memory back ----------------------------------------------------------- */

/* Owner of s, or, of an outside store, the holder of its `alloc`. What is free there goes
 * back to the stores it is of. Returns how many slots that were, at most `most`. */
static uint32_t give_up(struct store *s, uint32_t most)
{
    uint32_t n = 0;

    for (uint32_t c = 0; c < SLAB_CLASSES; c++)
        for (; s->free[c] && n < most; n++)
            slab_free_slow(slab_from_list(s, c));
    return n;
}

static uint32_t give_up_outside(struct heap *h, uint32_t most)
{
    uint32_t n = 0;

    for (uint32_t i = h->workers; i < h->stores; i++) {
        vlock_lock(&h->store[i].alloc);
        n += give_up(&h->store[i], most - n);
        vlock_unlock(&h->store[i].alloc);
    }
    return n;
}

/* Lock `pop` held. A slot goes to its slab, and a slab that is whole to *gone, linked
 * through its idle_node. */
static void put_idle(struct store *s, struct volt_task *t, struct list *gone)
{
    struct slab *b = t->home;

    VAT_WR(&t->next);
    t->next = b->idle;
    b->idle = t;
    if (b->idle_count++ == 0)
        list_add_last(&s->idle[b->class], &b->idle_node);
    if (b->idle_count == capacity(b) && vat_u32_load(&b->full, VAT_ACQ)) {
        list_remove(&s->idle[b->class], &b->idle_node);
        list_add_last(gone, &b->idle_node);
    }
}

/* No slot of theirs is in anybody's hands. */
static void release(struct store *s, struct list *gone)
{
    struct list_node *n;

    while ((n = list_take_first(gone))) {
        struct slab *b = list_thing(n, struct slab, idle_node);

        vlock_lock(&s->lock);
        unlink_slab(s, b);
        s->released += capacity(b);
        vlock_unlock(&s->lock);
        slab_delete(b);
    }
}

/* Of what was given back to s. Returns how many slots, a batch more than `most` at
 * most. */
static uint32_t put_in_order(struct store *s, uint32_t class, uint32_t most)
{
    struct list gone = {0};
    uint32_t n = 0;

    if (!vat_ptr_load(&s->remote[class], VAT_RLX))
        return 0;
    vlock_lock(&s->pop);
    while (n < most) {
        struct volt_task *t = pop_locked(&s->remote[class]), *next;

        if (!t)
            break;
        for (; t; t = next, n++) {
            VAT_RD(&t->next);
            next = t->next;
            put_idle(s, t, &gone);
        }
    }
    vlock_unlock(&s->pop);
    release(s, &gone);
    return n;
}

bool slab_trim(struct heap *h)
{
    uint32_t n = give_up(slab_mine, SLAB_TRIM);

    n += give_up_outside(h, SLAB_TRIM - n);
    slab_flush();
    for (uint32_t i = 0; i < h->stores; i++)
        for (uint32_t c = 0; c < SLAB_CLASSES && n < SLAB_TRIM; c++)
            n += put_in_order(&h->store[i], c, SLAB_TRIM - n);
    return n >= SLAB_TRIM;
}

void slab_each(struct heap *h, void (*f)(struct volt_task *t, void *arg), void *arg)
{
    for (uint32_t i = 0; h && i < h->stores; i++) {
        struct store *s = &h->store[i];

        vlock_lock(&s->lock);
        for (struct slab *b = s->slabs; b; b = b->next)
            for (char *p = b->slots; p < b->end; p += b->size)
                f((struct volt_task *)(void *)p, arg);
        vlock_unlock(&s->lock);
    }
}
