/* Parses points in time as people write them: systemd.time(7). */
#ifndef VOLT_CLIENT_WHEN_H
#define VOLT_CLIENT_WHEN_H

#include <stdbool.h>
#include <stdint.h>

/* Parses a time:
 *
 *   "2026-11-20 10:00", "10:00:30.5", "2026-11-20", "2026-11-20T10:00Z", each with an
 *   optional weekday before it, which must be right, and " UTC" or the local zone after
 *   "now"; "today", "yesterday", "tomorrow", each with an optional time after it
 *   "-1h", "+1h", "1h 30min ago", "1h left"; "@1795305600"
 *
 * and as at(1) has them, in the place of a time: "10pm", "10:30 am", "noon", "midnight".
 *
 * A time alone is today's, a date alone its midnight, in local time unless it has UTC.
 * now_usec: us since 1970. Returns:
 *   0        *ret: us since 1970
 *   -EINVAL  no such text, or no such day
 *   -ERANGE  not after 1970, or too far away */
int when_parse(const char *text, uint64_t now_usec, uint64_t *ret);

/* Returns whether a text that can be parsed has a time of day. */
bool when_has_clock(const char *text);

#endif
