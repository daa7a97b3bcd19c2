/* For models of the scheduler without an event loop: sched.driver is NULL, so none of
 * these may be called. */
#include "driver/driver.h"
#include "mcx.h"

bool driver_try_enter(struct driver *d)
{
    (void)d;
    mcx_fail("there is no driver");
}

void driver_leave(struct driver *d)
{
    (void)d;
    mcx_fail("there is no driver");
}

void driver_poll(struct driver *d, struct task_chain *chain)
{
    (void)d, (void)chain;
    mcx_fail("there is no driver");
}

void driver_lead(struct driver *d, uint64_t until_usec, struct task_chain *chain)
{
    (void)d, (void)until_usec, (void)chain;
    mcx_fail("there is no driver");
}

void driver_kick(struct driver *d)
{
    (void)d;
    mcx_fail("there is no driver");
}

void driver_fire_own(struct driver *d, unsigned index, uint64_t now_usec,
                     struct task_chain *chain)
{
    (void)d, (void)index, (void)now_usec, (void)chain;
    mcx_fail("there is no driver");
}

uint64_t driver_next_deadline(const struct driver *d)
{
    (void)d;
    mcx_fail("there is no driver");
}

bool driver_has_interest(const struct driver *d)
{
    (void)d;
    mcx_fail("there is no driver");
}

bool driver_unattended(const struct driver *d, uint32_t *ret_generation)
{
    (void)d, (void)ret_generation;
    mcx_fail("there is no driver");
}
