/* A waiter asks for something else: as core does it (daemon/core/edit.c). */
#ifndef TESTS_SUPPORT_ADMIT_EDIT_H
#define TESTS_SUPPORT_ADMIT_EDIT_H

#include "daemon/admit/admission.h"

static inline int admit_edit(struct admission *a, struct waiter *w,
                             const struct admission_ask *ask, uint64_t rank)
{
    struct waiter other = {.rank = 0};
    int r = admission_assign(a, &other, ask, rank);

    if (r == 0)
        admission_exchange(a, w, &other);
    admission_forget(a, &other);
    return r;
}

#endif
