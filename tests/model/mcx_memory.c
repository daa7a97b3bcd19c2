/* Memory: cells with histories, views, futexes, and races on annotated fields.
 *
 * A value in a cell's history carries the view that reading it with acquire brings. A
 * load may read any value from the newest one its thread's view knows to the newest of
 * all, but none more than MOST_STALE before that; choice 0 is the newest. An RMW reads
 * the newest value and continues its release sequence. A sequentially consistent fence
 * leaves what its thread knows of cells in one global view, and takes over what others
 * have left there; so do sequentially consistent stores leave their value, and such loads
 * read nothing older.
 *
 * Bounds beyond those of the search: modification order and the order of sequentially
 * consistent operations are the order of execution; a failing CAS reads the newest value;
 * MOST_STALE.
 *
 * A value found in place that no operation wrote (the memory was cleared for a new use)
 * starts the history over. */
#include <string.h>
#include "mcx_internal.h"

#define SLOTS      4096 /* power of two */
#define LOCKS      64
#define MOST_STALE 3 /* values before the newest that a load may read */

struct message {
    uint64_t v;
    struct view view;
};

/* Plain accesses (initialisation, VAT_RD, VAT_WR): who last, when. */
struct shadow {
    const char *addr;
    uint64_t key; /* hash of the address */
    int address;  /* of mcx_touch.c */
    int writer;
    uint16_t write_clock;
    uint16_t access_clock[MCX_THREADS + 1];
    /* In a state: whose access is feared, and whether the write is. */
    uint8_t feared;
    bool write_feared;
};

struct cell {
    struct shadow shadow;
    unsigned size;
    int n, first;      /* messages; the oldest that may be read */
    struct message *m; /* MCX_HISTORY; these only grow in number */
};

struct lock {
    const uint32_t *word;
    struct view view;
};

enum slot_kind { SLOT_NEW, SLOT_CELL, SLOT_QUIET };

struct slot {
    const void *addr;
    uint64_t generation;
    enum slot_kind kind;
    int index;
};

static struct cell cells[MCX_CELLS];
static struct message messages[MCX_CELLS][MCX_HISTORY];
static struct slot cell_slots[SLOTS], plain_slots[SLOTS];
static struct shadow plains[SLOTS / 2];
static struct lock locks[LOCKS];
static int ncells, nplains, nlocks;
static uint64_t generation;
static struct view sc_view; /* without clocks */

struct thread mcx_threads[MCX_THREADS + 1];
int mcx_current = MCX_MAIN;
bool mcx_running;

static struct thread *self(void)
{
    return &mcx_threads[mcx_current];
}

void mcx_memory_forget(void)
{
    generation++;
    ncells = nplains = nlocks = 0;
    memset(&sc_view, 0, sizeof(sc_view));
    memset(&mcx_threads[MCX_MAIN], 0, sizeof(mcx_threads[MCX_MAIN]));
}

/* Of a view nothing counts beyond the cells that there are: zero. */
static void carry_view(struct view *v, int before)
{
    if (mcx_carry(v, (size_t)(VIEW_CLOCKS + ncells) * sizeof(v->t[0])) && before > ncells)
        memset(&v->t[VIEW_CLOCKS + ncells], 0,
               (size_t)(before - ncells) * sizeof(v->t[0]));
}

static void carry_thread(struct thread *t, int before)
{
    (void)mcx_carry(&t->state, offsetof(struct thread, cur));
    carry_view(&t->cur, before);
    carry_view(&t->acq, before);
    carry_view(&t->rel, before);
}

void mcx_memory_carry(void)
{
    int before = ncells;

    (void)mcx_carry(&ncells, sizeof(ncells));
    (void)mcx_carry(cells, (size_t)ncells * sizeof(cells[0]));
    (void)mcx_carry(&nplains, sizeof(nplains));
    (void)mcx_carry(plains, (size_t)nplains * sizeof(plains[0]));
    (void)mcx_carry(&nlocks, sizeof(nlocks));
    for (int i = 0; i < nlocks; i++) {
        (void)mcx_carry(&locks[i].word, sizeof(locks[i].word));
        carry_view(&locks[i].view, before);
    }
    carry_view(&sc_view, before);
    for (int i = 0; i < mcx_nthreads; i++)
        carry_thread(&mcx_threads[i], before);
    carry_thread(&mcx_threads[MCX_MAIN], before);
}

/* From the entry `from` on, as many as there are, in eights. */
static void join(uint16_t *restrict a, const uint16_t *restrict b, int from)
{
    for (int i = from; i < VIEW_CLOCKS + ncells; i += 8)
        for (int k = i; k < i + 8; k++)
            a[k] = a[k] > b[k] ? a[k] : b[k];
}

void mcx_view_join(struct view *a, const struct view *b)
{
    if (a != b)
        join(a->t, b->t, 0);
}

/* What is known of cells, without what happened before. */
static void join_cells(struct view *a, const struct view *b)
{
    join(a->t, b->t, VIEW_CLOCKS);
}

/* --- finding cells ------------------------------------------------------------------ */

static struct slot *slot_of(struct slot *table, const void *addr)
{
    size_t h = ((uintptr_t)addr >> 2) * 0x9E3779B97F4A7C15u >> 40;

    for (;; h++) {
        struct slot *s = &table[h & (SLOTS - 1)];

        if (s->generation != generation) {
            *s = (struct slot){.addr = addr, .generation = generation};
            if (mcx_is_quiet(addr))
                s->kind = SLOT_QUIET;
            return s;
        }
        if (s->addr == addr)
            return s;
    }
}

/* The slot is of a cell, or a field, that is there: it may have been taken back since. */
static bool is_there(const struct slot *s, bool plain)
{
    if (s->kind != SLOT_CELL)
        return false;
    return plain ? s->index < nplains && plains[s->index].addr == s->addr
                 : s->index < ncells && cells[s->index].shadow.addr == s->addr;
}

static uint64_t in_place(const void *addr, unsigned size)
{
    uint64_t v;
    uint32_t half;

    /* Sizes that the compiler knows: no call. */
    if (size == sizeof(half)) {
        memcpy(&half, addr, sizeof(half));
        return half;
    }
    memcpy(&v, addr, sizeof(v));
    return v;
}

static int cell_index(const struct cell *c)
{
    return VIEW_CLOCKS + (int)(c - cells);
}

static void race(const struct shadow *s, bool write, const char *what)
{
    const struct thread *t = self();
    char name[64];

    if (mcx_running)
        mcx_touch_use(s->address, USE_ANY);
    if (mcx_running && write)
        mcx_touch_use(s->address, USE_PLAIN);
    if (s->write_clock && s->writer != mcx_current &&
        t->cur.t[s->writer] < s->write_clock)
        mcx_fail("data race on %s: %s by %s, plain write by thread %d",
                 mcx_name_of(s->addr, name, sizeof(name)), what,
                 mcx_running ? mcx_scenario->threads[mcx_current].name : "main",
                 s->writer);
    if (!write)
        return;
    for (int i = 0; i <= MCX_THREADS; i++)
        if (i != mcx_current && s->access_clock[i] && t->cur.t[i] < s->access_clock[i])
            mcx_fail("data race on %s: %s by %s, access by thread %d",
                     mcx_name_of(s->addr, name, sizeof(name)), what,
                     mcx_running ? mcx_scenario->threads[mcx_current].name : "main", i);
}

static void append(struct cell *c, uint64_t v, const struct view *view)
{
    int x = cell_index(c);

    if (c->n == MCX_HISTORY)
        mcx_fail("history of %s is full: endless loop?",
                 mcx_name_of(c->shadow.addr, (char[64]){0}, 64));
    struct message *m = &c->m[c->n];
    struct thread *t = self();

    m->v = v;
    m->view = *view;
    m->view.t[x] = (uint16_t)c->n;
    t->cur.t[x] = t->acq.t[x] = (uint16_t)c->n;
    c->n++;
}

/* A plain write of v by the running thread. */
static void initialise(struct cell *c, uint64_t v)
{
    race(&c->shadow, true, "initialisation");
    if (mcx_running) {
        c->shadow.writer = mcx_current;
        c->shadow.write_clock = self()->clock;
    }
    append(c, v, &self()->cur);
}

static struct cell *cell_at(const void *addr, unsigned size, const char *what)
{
    struct slot *s = slot_of(cell_slots, addr);
    struct cell *c;

    mcx_heap_check(addr);
    if (!is_there(s, false)) {
        if (ncells == MCX_CELLS)
            mcx_fail("too many cells");
        s->kind = SLOT_CELL;
        s->index = ncells++;
        c = &cells[s->index];
        memset(&c->shadow, 0, sizeof(c->shadow));
        c->shadow.addr = addr;
        c->shadow.key = mcx_mix((uintptr_t)addr, 1);
        c->shadow.address = mcx_touch_index(addr);
        if (mcx_running)
            mcx_touch_use(c->shadow.address, USE_ANY);
        c->size = size;
        c->m = messages[s->index];
        c->n = 1;
        c->first = 0;
        c->m[0].v = in_place(addr, size);
        memset(&c->m[0].view, 0, sizeof(c->m[0].view));
        return c;
    }
    c = &cells[s->index];
    if (c->size != size)
        mcx_fail("cell used with two sizes");
    if (c->m[c->n - 1].v != in_place(addr, size)) {
        static const struct view nothing;

        append(c, in_place(addr, size), &nothing);
        c->first = c->n - 1;
    }
    race(&c->shadow, false, what);
    return c;
}

static bool quiet(const void *addr)
{
    return slot_of(cell_slots, addr)->kind == SLOT_QUIET;
}

static bool acquires(enum mcx_order o)
{
    return o == VAT_ACQ || o == VAT_AR || o == VAT_SC;
}

static bool releases(enum mcx_order o)
{
    return o == VAT_REL || o == VAT_AR || o == VAT_SC;
}

/* The cell, after a switch point. */
static struct cell *enter(const void *addr, unsigned size, const char *what,
                          unsigned touch, enum mcx_order o)
{
    mcx_point(addr, touch | (o == VAT_SC ? TOUCH_SC : 0));
    struct cell *c = cell_at(addr, size, what);

    c->shadow.access_clock[mcx_current] = self()->clock;
    return c;
}

/* --- reading and writing ------------------------------------------------------------ */

static uint64_t read_message(struct cell *c, int i, enum mcx_order o)
{
    struct thread *t = self();
    const struct message *m = &c->m[i];
    int x = cell_index(c);

    if (t->cur.t[x] < i)
        t->cur.t[x] = (uint16_t)i;
    if (t->acq.t[x] < i)
        t->acq.t[x] = (uint16_t)i;
    mcx_view_join(&t->acq, &m->view);
    if (acquires(o))
        mcx_view_join(&t->cur, &m->view);
    return m->v;
}

static void write_message(struct cell *c, uint64_t v, enum mcx_order o,
                          const struct view *release_sequence)
{
    struct thread *t = self();
    void *addr = (void *)(uintptr_t)c->shadow.addr;
    int i = c->n;

    append(c, v, releases(o) ? &t->cur : &t->rel);
    if (release_sequence)
        mcx_view_join(&c->m[i].view, release_sequence);
    if (o == VAT_SC)
        sc_view.t[cell_index(c)] = (uint16_t)i;
    memcpy(addr, &v, c->size);
}

static const char *order_name(enum mcx_order o)
{
    static const char *const names[] = {"rlx", "acq", "rel", "ar", "sc"};

    return names[o];
}

static void log_op(const void *addr, const char *op, enum mcx_order o, uint64_t old,
                   const uint64_t *new_value, const char *remark)
{
    char name[64];

    if (!mcx_log_on)
        return;
    mcx_name_of(addr, name, sizeof(name));
    if (new_value)
        mcx_log("%-5s %-20s %#lx -> %#lx  %s%s", op, name, old, *new_value, order_name(o),
                remark);
    else
        mcx_log("%-5s %-20s = %#lx  %s%s", op, name, old, order_name(o), remark);
}

void mcx_init(void *cell, unsigned size, uint64_t v)
{
    mcx_heap_check(cell);
    if (quiet(cell) || !mcx_running) {
        memcpy(cell, &v, size);
        return;
    }
    struct cell *c = cell_at(cell, size, "initialisation");

    mcx_touched(cell, TOUCH_WRITE);
    memcpy(cell, &v, size);
    initialise(c, v);
    log_op(cell, "init", VAT_RLX, 0, &v, "");
}

/* How many values before the newest a load by the thread may read. */
static int stale_values(const struct thread *t, const struct cell *c, bool sc)
{
    int x = cell_index(c), oldest = t->cur.t[x];

    if (sc && sc_view.t[x] > oldest)
        oldest = sc_view.t[x];
    if (oldest < c->first)
        oldest = c->first;
    return c->n - 1 - oldest < MOST_STALE ? c->n - 1 - oldest : MOST_STALE;
}

bool mcx_memory_choice(const struct thread *t, const void *addr, bool sc)
{
    const struct slot *s = addr ? slot_of(cell_slots, addr) : NULL;

    return s && is_there(s, false) && stale_values(t, &cells[s->index], sc) > 0;
}

uint64_t mcx_load(const void *cell, unsigned size, enum mcx_order o)
{
    if (quiet(cell))
        return in_place(cell, size);
    struct cell *c = enter(cell, size, "load", TOUCH_READ, o);
    int newest = c->n - 1, back = 0;

    if (mcx_running)
        mcx_touch_use(c->shadow.address, USE_LOAD);
    if (mcx_running && mcx_stale_left > 0) {
        back = mcx_choice_pick(stale_values(self(), c, o == VAT_SC) + 1);
        if (back > 0)
            mcx_stale_left--;
    }
    uint64_t v = read_message(c, newest - back, o);

    log_op(cell, "load", o, v, NULL, back ? "  (stale)" : "");
    return v;
}

void mcx_store(void *cell, unsigned size, uint64_t v, enum mcx_order o)
{
    if (quiet(cell)) {
        memcpy(cell, &v, size);
        return;
    }
    struct cell *c = enter(cell, size, "store", TOUCH_WRITE, o);
    uint64_t old = c->m[c->n - 1].v;

    write_message(c, v, o, NULL);
    log_op(cell, "store", o, old, &v, "");
}

static uint64_t apply(enum mcx_rmw op, uint64_t old, uint64_t v, unsigned size)
{
    uint64_t r = 0;

    switch (op) {
    case MCX_XCHG:
        r = v;
        break;
    case MCX_ADD:
        r = old + v;
        break;
    case MCX_SUB:
        r = old - v;
        break;
    case MCX_OR:
        r = old | v;
        break;
    case MCX_AND:
        r = old & v;
        break;
    }
    return size == 4 ? (uint32_t)r : r;
}

uint64_t mcx_rmw(void *cell, unsigned size, enum mcx_rmw op, uint64_t v, enum mcx_order o)
{
    static const char *const names[] = {"xchg", "add", "sub", "or", "and"};

    if (quiet(cell)) {
        uint64_t old = in_place(cell, size), next = apply(op, old, v, size);

        memcpy(cell, &next, size);
        return old;
    }
    struct cell *c = enter(cell, size, "rmw", TOUCH_WRITE, o);
    self()->locked++;
    int i = c->n - 1;
    uint64_t old = read_message(c, i, o), next = apply(op, old, v, size);

    write_message(c, next, o, &c->m[i].view);
    log_op(cell, names[op], o, old, &next, "");
    return old;
}

bool mcx_cas(void *cell, unsigned size, uint64_t *expected, uint64_t desired,
             enum mcx_order ok, enum mcx_order fail)
{
    if (quiet(cell)) {
        uint64_t now = in_place(cell, size);
        bool same = now == *expected;

        if (same)
            memcpy(cell, &desired, size);
        *expected = now;
        return same;
    }
    struct cell *c = enter(cell, size, "cas", TOUCH_WRITE, ok);
    self()->locked++;
    int i = c->n - 1;

    if (c->m[i].v != *expected) {
        *expected = read_message(c, i, fail);
        log_op(cell, "cas", fail, *expected, NULL, "  (fails)");
        return false;
    }
    read_message(c, i, ok);
    write_message(c, desired, ok, &c->m[i].view);
    log_op(cell, "cas", ok, *expected, &desired, "");
    return true;
}

/* It makes one thread's knowledge of cells another's, but nothing of what the one did
 * happens before what the other does: the clocks stay. */
void mcx_fence(const void *cell)
{
    struct thread *t = self();

    (void)cell;
    mcx_point(NULL, TOUCH_SC);
    t->locked++;
    t->cur = t->acq;
    join_cells(&sc_view, &t->cur);
    join_cells(&t->cur, &sc_view);
    join_cells(&t->acq, &t->cur);
    t->rel = t->cur;
    mcx_log("fence sc");
}

/* --- plain fields ------------------------------------------------------------------- */

static struct shadow *plain_at(const void *p)
{
    struct slot *s = slot_of(plain_slots, p);

    mcx_heap_check(p);
    if (!is_there(s, true)) {
        if (nplains == SLOTS / 2)
            mcx_fail("too many annotated fields");
        s->kind = SLOT_CELL;
        s->index = nplains++;
        memset(&plains[s->index], 0, sizeof(plains[0]));
        plains[s->index].addr = p;
        plains[s->index].key = mcx_mix((uintptr_t)p, 2);
        plains[s->index].address = mcx_touch_index(p);
    }
    return &plains[s->index];
}

/* No switch point: a race shows in the clocks whatever the order, and what comes between
 * two operations on cells or locks may as well come at once. */
static void plain(const void *p, bool write)
{
    mcx_tick();
    mcx_touched(p, write ? TOUCH_WRITE : TOUCH_READ);
    struct shadow *s = plain_at(p);
    const char *what = write ? "plain write" : "plain read";
    char name[64];

    race(s, write, what);
    s->access_clock[mcx_current] = self()->clock;
    if (write) {
        s->writer = mcx_current;
        s->write_clock = self()->clock;
    }
    if (mcx_log_on)
        mcx_log("%-5s %s", write ? "write" : "read", mcx_name_of(p, name, sizeof(name)));
}

void mcx_plain_read(const void *p)
{
    plain(p, false);
}

void mcx_plain_write(const void *p)
{
    plain(p, true);
}

void mcx_memory_check_free(const char *p, size_t size)
{
    for (int i = 0; i < ncells; i++)
        if (cells[i].shadow.addr >= p && cells[i].shadow.addr < p + size) {
            mcx_touched(cells[i].shadow.addr, TOUCH_WRITE);
            race(&cells[i].shadow, true, "free");
        }
    for (int i = 0; i < nplains; i++)
        if (plains[i].addr >= p && plains[i].addr < p + size) {
            mcx_touched(plains[i].addr, TOUCH_WRITE);
            race(&plains[i], true, "free");
        }
}

struct view *mcx_lock_view(const uint32_t *word)
{
    for (int i = 0; i < nlocks; i++)
        if (locks[i].word == word)
            return &locks[i].view;
    if (nlocks == LOCKS)
        mcx_fail("too many locks");
    locks[nlocks].word = word;
    memset(&locks[nlocks].view, 0, sizeof(struct view));
    return &locks[nlocks++].view;
}

/* --- futexes ------------------------------------------------------------------------ */

/* 0 woken, 1 the word differs (the kernel reads the newest value), 2 timed out. */
int mcx_futex_wait(uint32_t *word, uint32_t expected, bool may_time_out)
{
    struct cell *c = enter(word, sizeof(*word), "futex wait", TOUCH_WRITE, VAT_RLX);
    struct thread *t = self();
    char name[64];

    if (c->m[c->n - 1].v != expected) {
        mcx_log("futex %s differs", mcx_name_of(word, name, sizeof(name)));
        return 1;
    }
    mcx_log("sleeps on %s", mcx_name_of(word, name, sizeof(name)));
    t->state = THREAD_FUTEX;
    t->word = word;
    t->may_time_out = may_time_out;
    t->futex_result = 2;
    mcx_switch();
    t->word = NULL;
    mcx_log(t->futex_result == 2 ? "futex wait times out" : "futex wait ends");
    return t->futex_result;
}

void mcx_futex_wake(uint32_t *word, uint32_t n)
{
    char name[64];

    /* No heap check: waking an address that is gone is harmless. */
    mcx_point(word, TOUCH_WRITE);
    mcx_log("futex wake %s", mcx_name_of(word, name, sizeof(name)));
    for (int i = 0; i < mcx_nthreads && n > 0; i++) {
        struct thread *t = &mcx_threads[i];

        if (t->state == THREAD_FUTEX && t->word == word) {
            t->state = THREAD_READY;
            t->futex_result = 0;
            n--;
        }
    }
}

/* --- states ------------------------------------------------------------------------- */

/* What can no longer matter is left out, so that more ways lead to the same state: a
 * value that every thread that loads it knows to be overwritten, an access that every
 * thread comes after that could race with it (mcx_touch.c knows which they are). What is
 * left of a history counts from its oldest readable value; of a clock only how it
 * compares with those of such accesses. With no stale read left to make, only the newest
 * values are read, and what anybody knows of a history matters to nobody. */
static struct {
    int base;     /* message that all who may load it know at least */
    bool unknown; /* to somebody: there is a newer one */
} known[MCX_CELLS];
static int unknown[MCX_CELLS], nunknown; /* indices of such cells */
static uint16_t known_clock[MCX_THREADS];
static uint16_t rank[MCX_THREADS][UINT16_MAX + 1]; /* of clocks from known_clock on */
static uint64_t marked[MCX_THREADS][UINT16_MAX / 64 + 1];
/* Factors, so that clocks add up to a hash. */
static const uint64_t clock_key[MCX_THREADS] = {
    0x8CB92BA72F3D8DD7, 0xABCC5167CCAD925F, 0xC949D7C7509E6557,
    0x9E6C63D0876A9A47, 0xD1B54A32D192ED03, 0xE7037ED1A0B428DB,
};

static unsigned living; /* threads */

static bool lives(int i)
{
    return mcx_threads[i].state != THREAD_DONE;
}

static unsigned users(int address, enum mcx_use use)
{
    return mcx_touch_users(address, use) & living;
}

static void find_known(bool stale)
{
    nunknown = 0;
    living = 0;
    for (int i = 0; i < mcx_nthreads; i++)
        living |= (unsigned)lives(i) << i;
    for (int k = 0; k < ncells && !stale; k++)
        known[k].base = cells[k].n - 1;
    for (int k = 0; k < ncells && stale; k++) {
        int base = cells[k].n - 1;
        unsigned loaders = users(cells[k].shadow.address, USE_LOAD);

        for (int i = 0; i < mcx_nthreads; i++)
            if (loaders >> i & 1 && mcx_threads[i].cur.t[VIEW_CLOCKS + k] < base)
                base = mcx_threads[i].cur.t[VIEW_CLOCKS + k];
        if (base < cells[k].first)
            base = cells[k].first;
        if (base < cells[k].n - 1 - MOST_STALE)
            base = cells[k].n - 1 - MOST_STALE;
        known[k].base = base;
        known[k].unknown = base < cells[k].n - 1;
        if (known[k].unknown)
            unknown[nunknown++] = k;
    }
    for (int w = 0; w < mcx_nthreads; w++) {
        uint16_t least = UINT16_MAX;

        for (int i = 0; i < mcx_nthreads; i++)
            if (i != w && lives(i) && mcx_threads[i].cur.t[w] < least)
                least = mcx_threads[i].cur.t[w];
        known_clock[w] = least;
    }
}

static void mark(int thread, uint16_t clock)
{
    if (clock > known_clock[thread])
        marked[thread][clock / 64] |= UINT64_C(1) << clock % 64;
}

/* Does any of these not come after what the thread did then? */
static bool feared(unsigned others, int thread, uint16_t clock)
{
    others &= ~(1u << thread);
    for (int i = 0; others >> i; i++)
        if (others >> i & 1 && mcx_threads[i].cur.t[thread] < clock)
            return true;
    return false;
}

static uint64_t mark_object(int thread, uint16_t clock, int address)
{
    if (feared(users(address, USE_ANY), thread, clock))
        mark(thread, clock);
    return 0;
}

static void mark_shadow(struct shadow *s)
{
    unsigned any = users(s->address, USE_ANY), plain = users(s->address, USE_PLAIN);

    s->feared = 0;
    s->write_feared = s->write_clock && s->writer < MCX_THREADS &&
                      feared(any, s->writer, s->write_clock);
    if (s->write_feared)
        mark(s->writer, s->write_clock);
    for (int i = 0; i < mcx_nthreads && plain; i++)
        if (s->access_clock[i] && feared(plain, i, s->access_clock[i])) {
            mark(i, s->access_clock[i]);
            s->feared |= (uint8_t)(1u << i);
        }
}

static void rank_clocks(void)
{
    for (int i = 0; i < ncells; i++)
        mark_shadow(&cells[i].shadow);
    for (int i = 0; i < nplains; i++)
        mark_shadow(&plains[i]);
    (void)mcx_heap_clocks(mark_object);
    for (int w = 0; w < mcx_nthreads; w++) {
        uint16_t n = 0;

        for (unsigned k = known_clock[w]; k <= mcx_threads[w].clock; k++) {
            n = (uint16_t)(n + (marked[w][k / 64] >> k % 64 & 1));
            rank[w][k] = n;
        }
        memset(marked[w], 0, (mcx_threads[w].clock / 64u + 1) * sizeof(marked[w][0]));
    }
}

static uint64_t rank_of(int thread, uint16_t clock)
{
    return clock > known_clock[thread] ? rank[thread][clock] : 0;
}

static uint64_t object_hash(int thread, uint16_t clock, int address)
{
    return feared(users(address, USE_ANY), thread, clock) ? rank_of(thread, clock) : 0;
}

static uint64_t shadow_hash(const struct shadow *s)
{
    uint64_t h = 0;

    if (s->write_feared)
        h = mcx_mix((uint64_t)s->writer, 1) * rank_of(s->writer, s->write_clock);
    for (int i = 0; i < mcx_nthreads && s->feared; i++)
        if (s->feared >> i & 1)
            h += clock_key[i] * rank_of(i, s->access_clock[i]);
    return h ? mcx_mix(s->key, h) : 0;
}

static uint64_t view_hash(const struct view *v)
{
    uint64_t h = 0;

    for (int i = 0; i < mcx_nthreads; i++)
        h += clock_key[i] * rank_of(i, v->t[i]);
    for (int i = 0; i < nunknown; i++) {
        int k = unknown[i], beyond = v->t[VIEW_CLOCKS + k] - known[k].base;

        if (beyond > 0)
            h += cells[k].shadow.key * (uint64_t)beyond;
    }
    return h;
}

static uint64_t cell_hash(const struct cell *c)
{
    int k = (int)(c - cells);
    uint64_t h = shadow_hash(&c->shadow);

    if (c->m[c->n - 1].v != in_place(c->shadow.addr, c->size))
        h += mcx_mix(c->shadow.key, 4); /* it starts over */
    if (!users(c->shadow.address, USE_ANY))
        return h;
    for (int i = known[k].base; i < c->n; i++) {
        uint64_t v = view_hash(&c->m[i].view);

        if (i < c->n - 1) /* the newest is in place */
            v += mcx_mix(c->m[i].v, (uint64_t)(c->n - i));
        if (v)
            h += mcx_mix(c->shadow.key + (uint64_t)(c->n - i), v);
    }
    return h;
}

static uint64_t thread_hash(int i)
{
    const struct thread *t = &mcx_threads[i];
    uint64_t h = mcx_mix((uint64_t)i, (uint64_t)t->state);

    if (!lives(i))
        return h;
    h = mcx_mix(h, (uint64_t)(t->daemon * 2 + t->yielded));
    if (t->state == THREAD_LOCK || t->state == THREAD_FUTEX)
        h = mcx_mix(h, (uintptr_t)t->word * 2 + t->may_time_out);
    if (t->state == THREAD_UNTIL)
        h = mcx_mix(h, (uintptr_t)t->until ^ (uintptr_t)t->until_arg << 20);
    if (t->state == THREAD_READY)
        h = mcx_mix(h, (uint64_t)t->futex_result);
    h = mcx_mix(h, view_hash(&t->cur));
    h = mcx_mix(h, view_hash(&t->acq));
    return mcx_mix(h, view_hash(&t->rel));
}

uint64_t mcx_memory_hash(bool stale)
{
    uint64_t h = 0;

    find_known(stale);
    rank_clocks();
    for (int i = 0; i < mcx_nthreads; i++)
        h += thread_hash(i);
    for (int i = 0; i < ncells; i++)
        h += cell_hash(&cells[i]);
    for (int i = 0; i < nplains; i++)
        h += shadow_hash(&plains[i]);
    for (int i = 0; i < nlocks; i++) {
        uint64_t v = view_hash(&locks[i].view);

        if (v)
            h += mcx_mix((uintptr_t)locks[i].word, v);
    }
    h += mcx_mix(3, view_hash(&sc_view));
    return mcx_mix(h, mcx_heap_clocks(object_hash));
}
