/* See polls.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/support/polls.h"

struct volt_runtime *rt;
vat_u32 flag, count, drops;

struct volt_runtime *runtime(unsigned workers)
{
    struct volt_options opt = {.workers = workers, .seed = 42};
    struct volt_runtime *r;

    assert_int_equal(volt_runtime_new(&opt, &r), 0);
    return r;
}

int polls_setup(void **state)
{
    (void)state;
    vat_u32_init(&flag, 0);
    vat_u32_init(&count, 0);
    vat_u32_init(&drops, 0);
    return 0;
}

int polls_teardown(void **state)
{
    (void)state;
    volt_runtime_free(rt);
    rt = NULL;
    return 0;
}

void join(struct volt_join *j, int expect)
{
    assert_int_equal(volt_join_wait(j), expect);
    volt_join_fini(j);
}

enum volt_poll raise_flag(struct volt_cx *cx, struct fn_task *f)
{
    (void)cx, (void)f;
    vat_u32_store(&flag, 1, VAT_REL);
    return VOLT_READY;
}

enum volt_poll counts(struct volt_cx *cx, struct fn_task *f)
{
    (void)cx;
    vat_u32_add(&count, 1, VAT_RLX);
    f->value = 42;
    return VOLT_READY;
}

enum volt_poll wakes_itself(struct volt_cx *cx, struct fn_task *f)
{
    (void)f;
    if (vat_u32_load(&flag, VAT_ACQ))
        return VOLT_READY;
    volt_cx_wake(cx);
    return VOLT_PENDING;
}

enum volt_poll hogs(struct volt_cx *cx, struct fn_task *f)
{
    (void)cx, (void)f;
    vat_u32_add(&count, 1, VAT_REL);
    while (!vat_u32_load(&flag, VAT_ACQ))
        vat_pause();
    return VOLT_READY;
}

void wait_count(uint32_t n)
{
    while (vat_u32_load(&count, VAT_ACQ) < n)
        vat_pause();
}
