/* What AddressSanitizer is to know of memory that is no single malloc(): that nobody may
 * touch it for now, or again may. Nothing in other builds. */
#ifndef VOLT_BASE_POISON_H
#define VOLT_BASE_POISON_H

#if defined(__SANITIZE_ADDRESS__)
#define POISON 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define POISON 1
#endif
#endif
#ifdef POISON
#include <sanitizer/asan_interface.h>
#define mem_poison(p, n)   ASAN_POISON_MEMORY_REGION(p, n)
#define mem_unpoison(p, n) ASAN_UNPOISON_MEMORY_REGION(p, n)
#else
#define mem_poison(p, n)   ((void)(p), (void)(n))
#define mem_unpoison(p, n) ((void)(p), (void)(n))
#endif

#endif
