/* Locks: each taken in one step, with all that its last holder knew. */
#include "mcx_internal.h"

static void take(uint32_t *word)
{
    struct thread *t = &mcx_threads[mcx_current];

    *word = (uint32_t)mcx_current + 1;
    mcx_view_join(&t->cur, mcx_lock_view(word));
    mcx_view_join(&t->acq, &t->cur);
}

static void log_lock(const char *what, const uint32_t *word)
{
    char name[64];

    if (mcx_log_on)
        mcx_log("%s %s", what, mcx_name_of(word, name, sizeof(name)));
}

void mcx_lock(uint32_t *word)
{
    struct thread *t = &mcx_threads[mcx_current];

    mcx_point(word, TOUCH_WRITE);
    mcx_heap_check(word);
    t->locked += 2; /* with its unlock */
    while (*word) {
        if (*word == (uint32_t)mcx_current + 1)
            mcx_fail("a thread locks what it holds");
        log_lock("waits for", word);
        t->state = THREAD_LOCK;
        t->word = word;
        mcx_switch();
        mcx_heap_check(word);
    }
    take(word);
    mcx_touched(word, TOUCH_WRITE);
    log_lock("lock ", word);
}

bool mcx_try_lock(uint32_t *word)
{
    mcx_point(word, TOUCH_WRITE);
    mcx_heap_check(word);
    if (*word) {
        log_lock("try lock (held)", word);
        return false;
    }
    take(word);
    log_lock("try lock", word);
    return true;
}

void mcx_unlock(uint32_t *word)
{
    mcx_point(word, TOUCH_WRITE);
    mcx_heap_check(word);
    if (*word != (uint32_t)mcx_current + 1)
        mcx_fail("unlock by a thread that does not hold the lock");
    *mcx_lock_view(word) = mcx_threads[mcx_current].cur;
    *word = 0;
    log_lock("unlock", word);
}
