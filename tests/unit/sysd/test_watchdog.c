/* The watchdog, with this test in the role of systemd, and of a store. */
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/atomic.h"
#include "daemon/store/commit_log.h"
#include "daemon/watchdog.h"
#include "tests/support/lone.h"
#include "tests/support/managed.h"
#include "tests/support/memory_store.h"

static vat_u64 looks, stuck;

static void health(struct store *s, struct store_health *ret)
{
    (void)s;
    *ret = (struct store_health){.waits = !vat_u64_load(&stuck, VAT_ACQ)};
    (void)vat_u64_add(&looks, 1, VAT_AR);
}

static void wait_for_looks(uint64_t n)
{
    n += vat_u64_load(&looks, VAT_ACQ);
    while (vat_u64_load(&looks, VAT_ACQ) < n)
        (void)sched_yield();
}

static bool heard(int fd, int flags)
{
    char text[64];
    const ssize_t n = recv(fd, text, sizeof(text) - 1, flags);

    if (n < 0) {
        assert_int_equal(errno, EAGAIN);
        return false;
    }
    text[n] = '\0';
    assert_string_equal(text, "WATCHDOG=1");
    return true;
}

static void a_store_that_is_stuck_feeds_no_watchdog(void **state)
{
    (void)state;
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const struct config config = managed_config();
    struct volt_runtime *rt = lone_runtime();
    struct store *store = store_memory_new();
    struct store_log_ops log = *store->log;

    (void)snprintf(a.sun_path, sizeof(a.sun_path), "%s/notify", managed_dir);
    assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
    assert_int_equal(setenv("NOTIFY_SOCKET", a.sun_path, 1), 0);
    assert_int_equal(setenv("WATCHDOG_USEC", "2000", 1), 0);
    log.health = health;
    store->log = &log;
    struct core *core = managed_start_with(&config, rt, store);

    assert_int_equal(watchdog_start(rt, core), 0);
    assert_true(heard(fd, 0));
    assert_true(heard(fd, 0));
    vat_u64_store(&stuck, 1, VAT_REL);
    wait_for_looks(2);
    while (heard(fd, MSG_DONTWAIT))
        continue;
    wait_for_looks(3);
    assert_false(heard(fd, MSG_DONTWAIT));
    vat_u64_store(&stuck, 0, VAT_REL);
    assert_true(heard(fd, 0));
    managed_stop(core, rt);
    (void)close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_store_that_is_stuck_feeds_no_watchdog,
                                        managed_make, managed_remove),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
