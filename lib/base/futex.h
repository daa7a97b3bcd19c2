/* futex(2) on a vat_u32, private to the process. Under VOLT_MCX the explorer's. */
#ifndef VOLT_BASE_FUTEX_H
#define VOLT_BASE_FUTEX_H

#include "base/atomic.h"

/* Sleeps while *word == expected; timeout_ns UINT64_MAX: no limit. 0 woken or changed (or
 * a spurious return: callers re-check), -ETIMEDOUT. */
int vfutex_wait(vat_u32 *word, uint32_t expected, uint64_t timeout_ns);
/* Wakes at most n sleepers; harmless when the word's memory is gone already. */
void vfutex_wake(vat_u32 *word, uint32_t n);

#endif
