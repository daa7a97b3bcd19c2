/* Sizes as people write them: "512", "64K", "10M", "1G" (powers of 1024). */
#ifndef VOLT_CLIENT_SIZE_H
#define VOLT_CLIENT_SIZE_H

#include <stdint.h>

/* A whole number with K, M, G, T or none of them, and a B behind it if one likes. 0 with
 * bytes in *ret; -EINVAL; -ERANGE beyond INT64_MAX. */
int size_parse(const char *text, uint64_t *ret);

#endif
