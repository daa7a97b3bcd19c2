/* What a joined task's end does to the join set that its handle is in. */
#ifndef VOLT_TASK_JOIN_SET_H
#define VOLT_TASK_JOIN_SET_H

#include <stdbool.h>
#include <stdint.h>

/* A member stands where a joining task would, tagged by this bit. */
#define MEMBER_TAG UINT64_C(2)

static inline bool is_member(const void *joiner)
{
    return (uintptr_t)joiner & MEMBER_TAG;
}

/* Any thread, without locks: the completer, which has taken the joiner. */
void join_set_ended(void *joiner);

#endif
