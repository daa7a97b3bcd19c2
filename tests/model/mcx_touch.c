/* Which operations commute, to leave out preemptions that change nothing.
 *
 * Two operations of different threads depend on each other when they touch the same
 * address and one writes, when both take part in the order of sequentially consistent
 * operations, or when one may depend on anything (conditions of models, yields, freeing
 * memory). All that a thread does up to its next operation goes with the one before:
 * annotated plain accesses are touches too, and the rest of its plain memory is its own
 * or is protected by what has been annotated, else there would be a race.
 *
 * 1. A thread that was preempted goes on with an operation that commutes with all that
 *    the others did meanwhile. It might as well have been preempted one operation later, for
 *    the same price: that execution is explored, this one is given up. With states that
 *    are left out when seen again (mcx_state.c) this stays right, because "explored" is
 *    said of the state after the operation, however it is come to. Mostly it is known
 *    before the thread goes on, by the operation that it was preempted at; what it does to
 *    plain memory after that cannot depend on what the others did if that operation does
 *    not, or there is a race, which shows in any order.
 * 2. An operation that nothing in the whole scenario depends on, but for threads that
 *    have ended, is no place to preempt at; nor does anything depend on what its thread
 *    does up to the next one, which may be to variables of the model.
 *
 * What threads touch is gathered in all executions, the random ones first; if something
 * comes up that had been thought to be private, the search starts over. States leave out
 * by the same knowledge (mcx_memory.c) what only those would look at that never do. */
#include <stdlib.h>
#include <string.h>
#include "mcx_internal.h"

#define ADDRESSES 4096 /* power of two */
#define SITES     2048 /* likewise */
#define TOUCHES   (MCX_STEPS * 8)

struct address {
    const void *p;
    struct who { /* threads */
        uint8_t read, write;
    } all, known;                    /* so far; when the search started */
    uint8_t uses[USES], users[USES]; /* threads, likewise */
    /* Threads that a read or write of each was thought to be private from, since. */
    struct who private_[MCX_THREADS];
};

static struct address addresses[ADDRESSES];
static long enough;
/* Operations after which variables of the model are touched, before the next
 * operation. */
static struct site {
    const char *file;
    int line;
    bool touches;   /* so far */
    bool relied_on; /* that it is not so */
    long without;   /* how often it was not, before it ever was */
} sites[SITES];
static struct {
    int address; /* -1: none */
    uint8_t thread, touch;
} touches[TOUCHES];
static long ntouches;

void mcx_touch_reset(void)
{
    memset(addresses, 0, sizeof(addresses));
    memset(sites, 0, sizeof(sites));
}

void mcx_touch_rewind(void)
{
    ntouches = 0;
}

/* What addresses are touched by whom is of all executions. */
void mcx_touch_carry(void)
{
    (void)mcx_carry(&ntouches, sizeof(ntouches));
}

int mcx_touch_index(const void *p)
{
    size_t i = mcx_mix((uintptr_t)p, 5) & (ADDRESSES - 1);

    if (!p)
        return -1;
    for (int tries = 0; addresses[i].p && addresses[i].p != p; tries++) {
        if (tries == ADDRESSES - 1)
            mcx_fail("too many addresses");
        i = (i + 1) & (ADDRESSES - 1);
    }
    addresses[i].p = p;
    return (int)i;
}

int mcx_touch_site(const char *file, int line)
{
    size_t i = mcx_mix((uintptr_t)file, (uint64_t)line) & (SITES - 1);

    for (int tries = 0; sites[i].file || sites[i].line; tries++) {
        if (sites[i].file == file && sites[i].line == line)
            break;
        if (tries == SITES - 1)
            mcx_fail("too many sites");
        i = (i + 1) & (SITES - 1);
    }
    sites[i].file = file;
    sites[i].line = line;
    return (int)i;
}

void mcx_touch_went(int thread, int site, long from)
{
    if (site < 0 || sites[site].touches)
        return;
    sites[site].without++;
    for (long i = from; i < ntouches && !sites[site].touches; i++)
        sites[site].touches =
            touches[i].thread == thread && (touches[i].touch & TOUCH_MODEL);
}

/* Is all that follows it its thread's own, as far as is known? */
static bool leaves_model(int site)
{
    if (site < 0 || sites[site].touches)
        return false;
    sites[site].relied_on = true;
    return true;
}

/* That it does not is believed when it has been seen often enough: what takes a rare way
 * comes up late, and would cost the whole search. */
static bool touches_model(int site)
{
    if (site < 0 || sites[site].touches || sites[site].without < enough)
        return true;
    sites[site].relied_on = true;
    return false;
}

/* Of different threads. */
static bool depend(int a, unsigned touch_a, int b, unsigned touch_b)
{
    unsigned any = touch_a | touch_b;

    return (touch_a & touch_b & TOUCH_SC) || (any & TOUCH_ALL) ||
           (a == b && a >= 0 && (any & TOUCH_WRITE));
}

void mcx_touch_note(int thread, int address, unsigned touch)
{
    if (ntouches == TOUCHES)
        mcx_fail("livelock: too many accesses");
    touches[ntouches].address = address;
    touches[ntouches].thread = (uint8_t)thread;
    touches[ntouches++].touch = (uint8_t)touch;
    for (int i = 0; i < mcx_nthreads; i++) {
        struct thread *t = &mcx_threads[i];

        if (t->preempted_at >= 0 && i != thread && !t->due)
            t->due = depend(t->next, t->next_touch, address, touch) ||
                     ((touch & TOUCH_MODEL) && touches_model(t->site));
    }
    if (address < 0)
        return;
    if (touch & TOUCH_WRITE)
        addresses[address].all.write |= (uint8_t)(1u << thread);
    else
        addresses[address].all.read |= (uint8_t)(1u << thread);
}

long mcx_touch_count(void)
{
    return ntouches;
}

/* Would it matter to another thread, by what was known at the start? Those that have
 * ended touch nothing more. */
static bool shared(int thread, int address, unsigned touch)
{
    unsigned others = 0;

    if (address < 0 || (touch & (TOUCH_SC | TOUCH_ALL)))
        return true;
    for (int i = 0; i < mcx_nthreads; i++)
        if (i != thread && mcx_threads[i].state != THREAD_DONE)
            others |= 1u << i;
    struct address *a = &addresses[address];

    if ((a->known.write & others) || ((touch & TOUCH_WRITE) && (a->known.read & others)))
        return true;
    if (touch & TOUCH_WRITE)
        a->private_[thread].write |= (uint8_t)others;
    else
        a->private_[thread].read |= (uint8_t)others;
    return false;
}

bool mcx_touch_private(int thread, const void *model)
{
    const struct thread *t = &mcx_threads[thread];

    return !shared(thread, t->next, t->next_touch) &&
           (leaves_model(t->site) ||
            !shared(thread, mcx_touch_index(model), TOUCH_WRITE));
}

void mcx_touch_use(int address, enum mcx_use use)
{
    addresses[address].uses[use] |= (uint8_t)(1u << mcx_current);
}

unsigned mcx_touch_users(int address, enum mcx_use use)
{
    return addresses[address].users[use];
}

void mcx_touch_start(long times)
{
    enough = times;
    for (int i = 0; i < ADDRESSES; i++) {
        addresses[i].known = addresses[i].all;
        memcpy(addresses[i].users, addresses[i].uses, sizeof(addresses[i].users));
        memset(addresses[i].private_, 0, sizeof(addresses[i].private_));
    }
    for (int i = 0; i < SITES; i++)
        sites[i].relied_on = false;
}

bool mcx_touch_mistaken(void)
{
    for (int i = 0; i < SITES; i++)
        if (sites[i].relied_on && sites[i].touches)
            return true;
    for (int i = 0; i < ADDRESSES; i++)
        if (memcmp(addresses[i].users, addresses[i].uses, sizeof(addresses[i].uses)))
            return true;
    for (int i = 0; i < ADDRESSES; i++)
        for (int k = 0; addresses[i].p && k < MCX_THREADS; k++) {
            const struct address *a = &addresses[i];

            if ((a->private_[k].read & a->all.write) ||
                (a->private_[k].write & (a->all.write | a->all.read)))
                return true;
        }
    return false;
}

bool mcx_touch_commute(int thread, long since, long from)
{
    for (long i = from; i < ntouches; i++)
        for (long k = since; k < from; k++)
            if (touches[k].thread != thread &&
                depend(touches[i].address, touches[i].touch, touches[k].address,
                       touches[k].touch))
                return false;
    return true;
}
