/* Durations as people write them: "30s", "10m", "1h30m", "1.5s", "250ms", "2d". */
#ifndef VOLT_WIRE_DURATION_H
#define VOLT_WIRE_DURATION_H

#include <stddef.h>
#include <stdint.h>

/* Parses a sum of NUMBER UNIT (us, ms, s, m or min, h, d, w, y, or in words). A number
 * alone is seconds; fractions are allowed. Returns 0 with microseconds in *ret; -EINVAL;
 * -ERANGE beyond 100 years. */
int duration_parse(const char *text, uint64_t *ret);
/* Writes the two largest units: "1h 30min", "4.2s", "12ms". Always NUL-terminated. */
void duration_format(uint64_t usec, char *buf, size_t size);
/* Returns CLOCK_MONOTONIC in microseconds, to measure durations. */
uint64_t duration_now_usec(void);
/* Writes a clock face for progress: "00:09", "1:02:03", "3d 04h". */
void duration_format_clock(uint64_t seconds, char *buf, size_t size);

#endif
