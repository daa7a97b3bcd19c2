/* Parts of messages that users have sent lately, found by their text.
 *
 * A client sends its whole environment with each job, mostly the same, and its resource
 * limits. Parsing a 4 KiB environment is 85 % of a submission, parsing limits a third of
 * the rest. So the text (the inside of the JSON object) is kept with its parsed value,
 * and the same text of the same user is not parsed again. Texts are compared byte by
 * byte. A user has at most KNOWN_OF_USER texts, all users together KNOWN_MOST; the least
 * recently used is replaced. */
#ifndef VOLTD_CALL_KNOWN_TEXTS_H
#define VOLTD_CALL_KNOWN_TEXTS_H

#include <stddef.h>
#include <sys/types.h>

#define KNOWN_OF_USER 4
#define KNOWN_MOST    64

/* A type of parsed values, which are counted references. Functions: any thread. */
struct known_kind {
    size_t most; /* bytes of text; longer texts are not kept */
    void *(*ref)(void *what);
    void (*unref)(void *what); /* ref and unref: NULL allowed */
};
extern const struct known_kind known_env;  /* struct job_env */
extern const struct known_kind known_json; /* json_t that is never changed */

struct known_texts;

struct known_texts *known_texts_new(const struct known_kind *kind); /* NULL: no memory */
void known_texts_free(struct known_texts *k);                       /* NULL allowed */

/* Returns a new reference to the value of this text; NULL: not known. Any thread. */
void *known_texts_find(struct known_texts *k, uid_t uid, const char *text, size_t len);
/* Keeps text and a reference to what; drops both if there is no memory. Takes text (from
 * malloc()), borrows what. Any thread. */
void known_texts_add(struct known_texts *k, uid_t uid, char *text, size_t len,
                     void *what);

#endif
