/* Followers of output are told in portions when nobody knows which file has grown. */
#include "tests/support/lone.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include <cmocka.h>

#include "base/atomic.h"
#include "daemon/query/follow.h"
#include "daemon/link/inotify.h"
#include "tests/support/managed.h"

enum { MANY = 4 * INOTIFY_LOOKS + 10 };

static struct volt_runtime *rt;
static struct core *core;
static vat_u32 waiting, told;

int __wrap_inotify_init1(int flags);

/* Linked in the place of inotify_init1(): none is to be had, so that all are told to look,
 * as after an overflow. */
int __wrap_inotify_init1(int flags)
{
    (void)flags;
    errno = EMFILE;
    return -1;
}

static int set_up(void **state)
{
    struct config config = managed_config();

    (void)state;
    return managed_up(&config, &rt, &core);
}

static int tear_down(void **state)
{
    (void)state;
    return managed_down(core, rt);
}

struct follower {
    struct follow follow;
    bool begun;
};

static enum volt_poll follower_poll(struct volt_cx *cx, void *state)
{
    const struct job_key key = {.id = 1, .index = JOB_NO_INDEX};
    struct follower *f = state;

    if (!f->begun) {
        follow_arm(cx, &f->follow, core, &key);
        (void)vat_u32_add(&waiting, 1, VAT_RLX);
    }
    f->begun = true;
    if (follow_poll(&f->follow) == VOLT_PENDING)
        return VOLT_PENDING;
    (void)vat_u32_add(&told, 1, VAT_RLX);
    return VOLT_READY;
}

static void follower_drop(void *state)
{
    follow_fini(&((struct follower *)state)->follow);
}

static const struct volt_task_type follower_type = {"follower", sizeof(struct follower),
                                                    follower_poll, follower_drop, NULL};

static void all_are_told_in_portions(void **state)
{
    struct core_counts counts;

    (void)state;
    for (int i = 0; i < MANY; i++)
        lone_spawn(volt_task_new(rt, &follower_type), NULL);
    while (vat_u32_load(&told, VAT_RLX) < MANY)
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    assert_int_equal(vat_u32_load(&waiting, VAT_RLX), MANY);
    query_counts(core, &counts);
    assert_int_equal(counts.visited, INOTIFY_LOOKS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(all_are_told_in_portions, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
