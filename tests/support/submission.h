/* A submission as a task of its own. */
#ifndef TESTS_SUPPORT_SUBMISSION_H
#define TESTS_SUPPORT_SUBMISSION_H

#include <volt/volt.h>

/* Its state is a struct jobs_submit, which the test fills in before it spawns the task. */
extern const struct volt_task_type submission_type;

#endif
