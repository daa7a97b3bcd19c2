/* Ranges of array indexes: "1-1000", or "7" for that one index. */
#ifndef VOLT_CLIENT_RANGE_H
#define VOLT_CLIENT_RANGE_H

#include <stdint.h>

/* 0 with both ends (inclusive); -EINVAL for anything else, a falling range among it. */
int range_parse(const char *text, uint64_t *ret_first, uint64_t *ret_last);

#endif
