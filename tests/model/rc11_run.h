/* Between the fuzz and the program that the explorer runs for it. */
#ifndef VOLT_TESTS_MODEL_RC11_RUN_H
#define VOLT_TESTS_MODEL_RC11_RUN_H

#include "mcx.h"
#include "rc11.h"

/* Set by the fuzz. */
extern struct rc11_program rc11_running;
extern bool rc11_in_heap; /* its cells; else they are among the model's variables */
/* Called with the outcome of each execution. */
void rc11_show(rc11_outcome o);

/* By the number of threads, less one; twice, to be used by turns: a search of the same
 * scenario would go on with what the last one has seen. */
extern const struct mcx_scenario rc11_scenarios[2][RC11_THREADS];

#endif
