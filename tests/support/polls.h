/* What most tests of a whole runtime begin with: one runtime, a flag that tasks wait for, a
 * count of what happened, and the polls that go with them. */
#ifndef TESTS_SUPPORT_POLLS_H
#define TESTS_SUPPORT_POLLS_H

#include "base/atomic.h"
#include "tests/support/fn_task.h"

extern struct volt_runtime *rt; /* the test's; freed by polls_teardown() */
extern vat_u32 flag, count, drops;

/* As setup and teardown of cmocka. */
int polls_setup(void **state);
int polls_teardown(void **state);

/* A runtime with so many workers and a seed. */
struct volt_runtime *runtime(unsigned workers);
/* Waits for the end of a task, which is to have this status. */
void join(struct volt_join *j, int expect);
void wait_count(uint32_t n);

enum volt_poll raise_flag(struct volt_cx *cx, struct fn_task *f);
/* Counts; its value is 42. */
enum volt_poll counts(struct volt_cx *cx, struct fn_task *f);
/* Always ready to go on, until the flag is up. */
enum volt_poll wakes_itself(struct volt_cx *cx, struct fn_task *f);
/* One poll until the flag is up; counts its beginning. */
enum volt_poll hogs(struct volt_cx *cx, struct fn_task *f);

#endif
