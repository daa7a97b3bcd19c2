#include <string.h>
#include "loop_stub.h"
#include "mcx.h"
#include <volt/runtime.h>

struct loop {
    /* Acquire and release: write(2) to an eventfd comes before the epoll_wait(2) that it
     * ends, by the kernel's locks; driver_kick() relies on that. */
    vat_u32 kicks;
    struct registration *added; /* annotated: what only the holder of the turn touches */
    uint64_t until;
    bool freed;
};

struct loop_stub loop_stub;
static struct loop the_loop; /* not of the heap: conditions read it */

void loop_stub_reset(bool (*quiet)(void))
{
    loop_stub = (struct loop_stub){.now_usec = 1000, .quiet = quiet};
}

uint64_t volt_now_usec(void)
{
    mcx_model_read();
    return loop_stub.now_usec;
}

int loop_new(struct loop **ret)
{
    memset(&the_loop, 0, sizeof(the_loop));
    mcx_name(&the_loop.kicks, sizeof(the_loop.kicks), "kicks");
    *ret = &the_loop;
    return 0;
}

void loop_free(struct loop *l)
{
    VAT_WR(&l->freed);
    MCX_CHECK(!l->added && !l->freed);
    l->freed = true;
}

int loop_add(struct loop *l, struct registration *r)
{
    VAT_WR(&l->added);
    MCX_CHECK(!l->added); /* models have one descriptor */
    l->added = r;
    mcx_note("descriptor added");
    return 0;
}

void loop_del(struct loop *l, struct registration *r)
{
    VAT_WR(&l->added);
    MCX_CHECK(l->added == r);
    l->added = NULL;
    mcx_note("descriptor removed");
}

void loop_stub_edge(void)
{
    mcx_yield();
    loop_stub.events |= EVENT_READABLE;
}

void loop_poll(struct loop *l, struct task_chain *chain)
{
    VAT_WR(&l->added);
    MCX_CHECK(!l->freed);
    if (l->added && loop_stub.events) {
        unsigned what = loop_stub.events;

        loop_stub.events = 0;
        registration_event(l->added, what, chain);
    }
}

static bool can_wake(void *arg)
{
    const struct loop *l = arg;

    return l->kicks.v || (l->added && loop_stub.events) ||
           (l->until != UINT64_MAX && (!loop_stub.quiet || loop_stub.quiet()));
}

void loop_sleep(struct loop *l, uint64_t until_usec, struct task_chain *chain)
{
    VAT_RD(&l->freed);
    MCX_CHECK(!l->freed);
    loop_stub.sleeps++;
    l->until = until_usec;
    mcx_block_until(can_wake, l);
    if (vat_u32_xchg(&l->kicks, 0, VAT_ACQ) == 0 && !(l->added && loop_stub.events)) {
        if (until_usec > loop_stub.now_usec)
            loop_stub.now_usec = until_usec;
        mcx_note("it is %d usec", (int)loop_stub.now_usec);
    }
    loop_poll(l, chain);
}

void loop_kick(struct loop *l)
{
    VAT_RD(&l->freed);
    MCX_CHECK(!l->freed);
    (void)vat_u32_add(&l->kicks, 1, VAT_REL);
}
