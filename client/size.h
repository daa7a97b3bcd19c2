/* Parses sizes as people write them: "512", "64K", "10M", "1G" (powers of 1024). */
#ifndef VOLT_CLIENT_SIZE_H
#define VOLT_CLIENT_SIZE_H

#include <stdint.h>

/* Parses a whole number with an optional K, M, G or T and an optional B. Returns 0 with
 * bytes in *ret; -EINVAL; or -ERANGE above INT64_MAX. */
int size_parse(const char *text, uint64_t *ret);

#endif
