/* A job that says what it has inherited: one "name: value" line each on
 * standard output. */
#ifndef TESTS_SUPPORT_PROBE_H
#define TESTS_SUPPORT_PROBE_H

int probe_main(void);

#endif
