/* The pre-scan: bounds a message before memory is allocated for it.
 *
 * One pass over the bytes as they arrive, in pieces of any size. Each byte is read once,
 * so a peer that writes byte by byte costs no more than others. The scan counts nesting
 * and tokens and finds the NUL that ends the message. It also finds early: the method
 * (one may be larger than the others); oneway (then nothing may be answered, not even a
 * refusal); the array whose entries may be parsed one by one; and the objects that may
 * have been parsed before.
 *
 * jansson checks the syntax, not the scan. Up to the first syntax error both see the same
 * nesting; behind it jansson has stopped. Names spelt with escapes are not recognised:
 * the small limits apply, and the list is parsed with the rest. */
#ifndef VOLT_WIRE_SCAN_H
#define VOLT_WIRE_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct scan_bounds {
    size_t bytes; /* without the NUL */
    uint64_t tokens;
};

#define SCAN_OBJECTS 2

struct scan_limits {
    struct scan_bounds usual;
    uint32_t depth;
    const char *large_method; /* borrowed; NULL: all methods have the usual bounds */
    const char *large_list;   /* its parameter that is an array; NULL: none */
    const char *usual_list;   /* the array of the other methods */
    const char *holder;       /* a parameter that is an object; NULL: none */
    const char *objects[SCAN_OBJECTS]; /* members of the holder that are objects */
    struct scan_bounds large;          /* of large_method */
};

enum scan_result {
    SCAN_MORE = 0, /* no end yet */
    SCAN_END,      /* the NUL was found */
    SCAN_TOO_LARGE,
    SCAN_TOO_DEEP,
    SCAN_TOO_MANY_TOKENS,
};

#define SCAN_METHOD_MAX 128

/* The inside of an object: its bytes, without the brackets, and the number of its
 * tokens. */
struct scan_object {
    size_t begin, end; /* end 0: there is none */
    uint64_t tokens;
};

struct scan {     /* zero-initialised: at the start of a message */
    size_t bytes; /* scanned; at the end: the length of the message */
    uint64_t tokens;
    uint32_t depth;
    bool oneway; /* "oneway": true was seen */
    bool large;  /* the method is limits.large_method */
    /* The inside of the first limits.large_list (large method) or usual_list (others):
     * its bytes, without the brackets, its own commas, and its tokens. list_end is 0 if
     * there is none. */
    size_t list_begin, list_end;
    uint64_t list_commas, list_tokens;
    struct scan_object objects[SCAN_OBJECTS]; /* limits.objects in limits.holder */

    /* private */
    bool in_string, escaped, in_scalar;
    bool in_parameters, in_holder;
    bool value;     /* behind the colon of a field */
    uint8_t key;    /* enum in scan.c */
    uint8_t length; /* of text */
    char text[SCAN_METHOD_MAX];
};

/* Scans up to len bytes. Returns:
 *   END   *ret_used: bytes up to and with the NUL
 *   MORE  *ret_used: all of them
 *   other the message is refused */
enum scan_result scan_feed(struct scan *s, const struct scan_limits *limits,
                           const char *bytes, size_t len, size_t *ret_used);

#endif
