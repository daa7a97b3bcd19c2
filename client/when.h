/* Points in time as people write them: systemd.time(7). */
#ifndef VOLT_CLIENT_WHEN_H
#define VOLT_CLIENT_WHEN_H

#include <stdint.h>

/* "2026-11-20 10:00", "10:00:30.5", "2026-11-20", "2026-11-20T10:00Z", each with a
 * weekday in front (which must be the right one), or " UTC" or the local zone behind;
 * "now"; "today", "yesterday", "tomorrow", each with a time behind it; "-1h", "+1h", "1h
 * 30min ago", "1h left"; "@1795305600". A time alone is today's, a date alone its
 * midnight. In local time unless it says UTC.
 * 0 with microseconds since 1970 in *ret; -EINVAL: not such a thing, or no such day;
 * -ERANGE: not after 1970, or too far away. now_usec: the same of now. */
int when_parse(const char *text, uint64_t now_usec, uint64_t *ret);

#endif
