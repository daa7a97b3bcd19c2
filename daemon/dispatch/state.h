/* The inside of struct dispatch. */
#ifndef VOLTD_DISPATCH_STATE_H
#define VOLTD_DISPATCH_STATE_H

#include "daemon/core/parts.h"
#include "daemon/dispatch/early_start.h"
#include "daemon/dispatch/dispatch.h"
#include "daemon/dispatch/grant.h"
#include "daemon/dispatch/timer.h"

/* [L] */
struct dispatch {
    struct early_starts early;
    struct timer timer;
};

#endif
