/* Frees an attempt. A separate file, so that tasks of other kinds link without the driver
 * of attempts. */
#include "daemon/run/attempt.h"

#include <stdlib.h>

#include "daemon/run/hook.h"

void attempt_free(struct attempt *a)
{
    if (!a)
        return;
    keeper_call_fini(&a->call);
    record_wait_fini(&a->wait);
    volt_sleep_fini(&a->probe);
    volt_sleep_fini(&a->limit);
    store_commit_fini(&a->durable);
    meter_fini(&a->meter);
    hooks_close(&a->args);
    output_end_finish(NULL, NULL, &a->printed, false);
    free(a->room);
    free(a);
}
