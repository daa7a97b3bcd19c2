/* The inside of struct life. */
#ifndef VOLTD_LIFE_STATE_H
#define VOLTD_LIFE_STATE_H

#include <stdbool.h>
#include <stddef.h>

struct work;

struct life {
    int state_fd;          /* state directory; -1: not opened */
    bool up;               /* everything that had been started is known */
    struct work **resumed; /* between recover_load() and recover_start() */
    size_t nresumed;
};

#endif
