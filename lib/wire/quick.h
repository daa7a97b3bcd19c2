/* A quick reader of JSON, for what nearly all messages are made of: objects, arrays,
 * strings of ASCII without escapes, integers, true, false and null. It costs a fifth of
 * jansson, which reads byte by byte. Whatever else it meets, an error included, it leaves
 * to jansson: then nothing was read, and jansson says what it is. */
#ifndef VOLT_WIRE_QUICK_H
#define VOLT_WIRE_QUICK_H

#include <jansson.h>
#include <stdbool.h>

/* Reads the object at *at and moves behind it. A new reference; NULL: not for this reader,
 * or *stop became true (the caller's budget is spent, or there is no memory). */
json_t *quick_object(const char **at, const char *end, const bool *stop);

#endif
