/* "Did you mean": the nearest of a list of words. */
#ifndef VOLT_WIRE_SUGGEST_H
#define VOLT_WIRE_SUGGEST_H

/* Returns the nearest word of the NULL-terminated list, borrowed; NULL if none is near
 * enough. */
const char *suggest(const char *text, const char *const words[]);

#endif
