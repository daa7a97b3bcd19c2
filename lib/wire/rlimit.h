/* Resource limits as text: names as in prlimit(1) ("nofile"), values as in systemd's
 * LimitNOFILE=: "1024:524288", soft and hard; "0" for both; "infinity" for none. */
#ifndef VOLT_WIRE_RLIMIT_H
#define VOLT_WIRE_RLIMIT_H

#include <stddef.h>
#include <stdint.h>

#define RLIMIT_COUNT    16 /* resources of Linux, numbered from 0: RLIMIT_CPU ... */
#define RLIMIT_NONE     UINT64_MAX
#define RLIMIT_TEXT_MAX 44 /* bytes of a value, with its NUL */

/* Names by number, then NULL. */
extern const char *const rlimit_names[RLIMIT_COUNT + 1];

/* Returns the number of a resource; -1 if there is none of that name. */
int rlimit_number(const char *name);
/* Returns 0; -EINVAL: not of that form, or soft is greater than hard. */
int rlimit_parse(const char *text, uint64_t *ret_soft, uint64_t *ret_hard);
/* Returns buf, with one number if both are the same. */
const char *rlimit_format(uint64_t soft, uint64_t hard, char buf[static RLIMIT_TEXT_MAX]);

#endif
