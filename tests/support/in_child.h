/* A mistake made in a process of its own: what it says, and how it ends. */
#ifndef TESTS_SUPPORT_IN_CHILD_H
#define TESTS_SUPPORT_IN_CHILD_H

#include <stddef.h>

/* Calls body(arg) in a child of the calling process, which has no other thread. What the
 * child writes to standard error goes to ret_text, with a 0 behind it. Returns the
 * child's status, as waitpid(2) says it: 0 if body returns. */
int in_child(void (*body)(int arg), int arg, char *ret_text, size_t size);

#endif
