/* Constants of the scheduler, by their names in the Volt documentation; the tests use
 * them. */
#ifndef VOLT_TASK_LIMITS_H
#define VOLT_TASK_LIMITS_H

#define VOLT_BUDGET_PER_TICK             128 /* polls between two maintenances */
#define VOLT_BUDGET_PER_POLL             128 /* leaf operations of one poll */
#define VOLT_RING_CAPACITY               256
#define VOLT_MIN_GLOBAL_QUEUE_BATCH_SIZE 4
#define VOLT_GLOBAL_QUEUE_BATCH_SIZE     32
#define VOLT_MAX_GLOBAL_QUEUE_BATCH_SIZE 64
#define VOLT_MIN_GLOBAL_QUEUE_INTERVAL   8
#define VOLT_MAX_GLOBAL_QUEUE_INTERVAL   255
#define VOLT_INITIAL_GLOBAL_INTERVAL     20
#define VOLT_INITIAL_AVG_TASK_NS         50000
#define VOLT_TARGET_GLOBAL_LATENCY_NS    1000000

#endif
