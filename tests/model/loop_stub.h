/* lib/driver/loop.h for models: no kernel. Time stands still but for sleeps that end by
 * their deadline; by default only when the model says that nothing else can move, so that
 * a kick that was forgotten shows as a timer that fires late. */
#ifndef VOLT_TESTS_MODEL_LOOP_STUB_H
#define VOLT_TESTS_MODEL_LOOP_STUB_H

#include "driver/loop.h"

struct loop_stub {
    uint64_t now_usec;
    bool (*quiet)(
        void);       /* nothing else can move; NULL: a deadline may pass at any time */
    int sleeps;
    unsigned events; /* EVENT_ bits that the kernel still has to report, once */
};

extern struct loop_stub loop_stub;

/* In setup. */
void loop_stub_reset(bool (*quiet)(void));
/* Any thread: the descriptors become readable. */
void loop_stub_edge(void);

#endif
