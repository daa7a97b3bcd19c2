/* "Did you mean": the nearest of a list of words. */
#ifndef VOLT_WIRE_SUGGEST_H
#define VOLT_WIRE_SUGGEST_H

/* The word of the NULL-terminated list that is near enough to text, or NULL. Borrowed. */
const char *suggest(const char *text, const char *const words[]);

#endif
