/* The condition `elements`: an array waits until one of its elements is ready; each of
 * them waits for elements of another array. A waiter gets and loses the condition many
 * times, which must not fail. So it is made once, and returns to its home when it is
 * met. */
#include <stdlib.h>

#include "daemon/admit/state.h"

struct elements_wait {
    struct condition condition;
    struct elements_wait **home; /* NULL: the home was freed */
    uint64_t antecedent;
    enum job_after when;
};

static struct elements_wait *wait_of(const struct condition *c)
{
    return (struct elements_wait *)(uintptr_t)c; /* `condition` is the first member */
}

static void go_home(struct admission *a, struct condition *c)
{
    struct elements_wait *e = wait_of(c);

    (void)a;
    if (e->home)
        *e->home = e;
    else
        free(e);
}

static int elements_explain(const struct condition *c, const struct admission_times *now,
                            char *ret, size_t size)
{
    (void)now;
    return condition_after_text(wait_of(c)->antecedent, wait_of(c)->when, true, ret,
                                size);
}

const struct condition_kind condition_elements = {
    .name = "elements",
    .wait = JOB_WAIT_DEPENDENCY,
    .free = go_home,
    .explain = elements_explain,
};

struct elements_wait *condition_elements_new(void)
{
    struct elements_wait *e = calloc(1, sizeof(*e));

    if (e)
        e->condition.kind = &condition_elements;
    return e;
}

void condition_elements_add(struct admission *a, struct waiter *w,
                            struct elements_wait **home, uint64_t antecedent,
                            enum job_after when)
{
    struct elements_wait *e = *home;

    e->home = home;
    e->antecedent = antecedent;
    e->when = when;
    *home = NULL;
    condition_add(a, w, &e->condition);
}

void condition_elements_free(struct elements_wait *home, struct elements_wait *made)
{
    if (!home && made)
        made->home = NULL;
    free(home);
}
