/* State of the room life. */
#ifndef VOLTD_LIFE_STATE_H
#define VOLTD_LIFE_STATE_H

#include <stdbool.h>
#include <stddef.h>

struct work;

struct life {
    int state_fd;          /* state directory; -1: not opened */
    bool up;               /* bring-up is complete */
    struct work **resumed; /* tasks that recover_load() made and recover_start() spawns */
    size_t nresumed;
};

#endif
