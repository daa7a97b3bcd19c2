/* Counts the allocations and descriptors of the program that includes this (in one file),
 * and makes the n-th fail. The linker redirects the calls: Makefile, WRAP. */
#ifndef TESTS_SUPPORT_ALLOC_HOOK_H
#define TESTS_SUPPORT_ALLOC_HOOK_H

#include "base/atomic.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/timerfd.h>

static vat_u64 hook_calls;      /* so far */
static vat_u64 hook_live;       /* allocated, not freed */
static vat_u64 hook_fail;       /* the call that fails; 0: none */
static vat_u32 hook_for_good;   /* and those after it */
static vat_u32 hook_interrupts; /* of call_hook.h: what fails is none of the calls here */
static _Thread_local bool hook_spares; /* this thread: its calls are not counted */

__attribute__((unused)) static uint64_t hook_count(void)
{
    return vat_u64_load(&hook_calls, VAT_RLX);
}

/* From here on call number n fails, 0: none; for_good: all from n on. Other threads are
 * calling: meanwhile none fails. */
static void hook_arm(uint64_t n, bool for_good)
{
    vat_u64_store(&hook_fail, 0, VAT_RLX);
    vat_u64_store(&hook_calls, 0, VAT_RLX);
    vat_u32_store(&hook_for_good, for_good, VAT_RLX);
    vat_u64_store(&hook_fail, n, VAT_RLX);
}

/* One more call, of those that fail or of those that are interrupted: whether it is the
 * one. Not where the other kind has been armed since. */
static bool hook_hits(bool interrupts)
{
    if (hook_spares)
        return false;
    uint64_t n = vat_u64_add(&hook_calls, 1, VAT_RLX) + 1;
    uint64_t fail = vat_u64_load(&hook_fail, VAT_RLX);

    return fail && (n == fail || (n > fail && vat_u32_load(&hook_for_good, VAT_RLX))) &&
           vat_u32_load(&hook_interrupts, VAT_RLX) == interrupts;
}

static bool hook_fails(void)
{
    return !vat_u32_load(&hook_interrupts, VAT_RLX) && hook_hits(false);
}

static void *hook_got(void *p)
{
    if (p)
        vat_u64_add(&hook_live, 1, VAT_RLX);
    else
        errno = ENOMEM;
    return p;
}

#define HOOK(result, name, ...)                                                          \
    result __real_##name(__VA_ARGS__);                                                   \
    result __wrap_##name(__VA_ARGS__);                                                   \
    result __wrap_##name(__VA_ARGS__)

HOOK(void *, malloc, size_t size)
{
    return hook_got(hook_fails() ? NULL : __real_malloc(size));
}

HOOK(void *, calloc, size_t n, size_t size)
{
    return hook_got(hook_fails() ? NULL : __real_calloc(n, size));
}

HOOK(void *, aligned_alloc, size_t align, size_t size)
{
    return hook_got(hook_fails() ? NULL : __real_aligned_alloc(align, size));
}

HOOK(void *, realloc, void *old, size_t size)
{
    void *p = hook_fails() ? NULL : __real_realloc(old, size);

    if (!old)
        return hook_got(p);
    if (!p)
        errno = ENOMEM;
    return p;
}

HOOK(void, free, void *p)
{
    if (p)
        vat_u64_sub(&hook_live, 1, VAT_RLX);
    __real_free(p);
}

HOOK(void *, mmap, void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
    if (!hook_fails())
        return __real_mmap(at, size, prot, flags, fd, offset);
    errno = ENOMEM;
    return MAP_FAILED;
}

HOOK(int, pthread_create, pthread_t *ret, const pthread_attr_t *attr,
     void *(*body)(void *), void *arg)
{
    return hook_fails() ? EAGAIN : __real_pthread_create(ret, attr, body, arg);
}

static int hook_no_descriptor(void)
{
    errno = EMFILE;
    return -1;
}

HOOK(int, eventfd, unsigned count, int flags)
{
    return hook_fails() ? hook_no_descriptor() : __real_eventfd(count, flags);
}

HOOK(int, timerfd_create, int clock, int flags)
{
    return hook_fails() ? hook_no_descriptor() : __real_timerfd_create(clock, flags);
}

HOOK(int, epoll_create1, int flags)
{
    return hook_fails() ? hook_no_descriptor() : __real_epoll_create1(flags);
}

#endif
