/* Parts of messages that users have sent lately, by their text.
 *
 * A client sends its whole environment with each job, mostly the same one, and its
 * resource limits: to read 4 KiB of the one is 85 % of a submission, to read the others a
 * third of what is left. So its text, the inside of the object, is kept with what it was
 * read as, and the same text of the same user is not read again. Texts are compared byte
 * by byte. A user has at most KNOWN_OF_USER of them, all users KNOWN_MOST; the one that
 * was not asked for longest goes. */
#ifndef VOLTD_CALL_KNOWN_TEXTS_H
#define VOLTD_CALL_KNOWN_TEXTS_H

#include <stddef.h>
#include <sys/types.h>

#define KNOWN_OF_USER 4
#define KNOWN_MOST    64

/* What texts are read as has references; any thread. */
struct known_kind {
    size_t most; /* bytes of text; longer ones are not kept */
    void *(*ref)(void *what);
    void (*unref)(void *what); /* both: NULL allowed */
};
extern const struct known_kind known_env;  /* struct job_env */
extern const struct known_kind known_json; /* json_t, which nobody changes */

struct known_texts;

struct known_texts *known_texts_new(const struct known_kind *kind); /* NULL: no memory */
void known_texts_free(struct known_texts *k);                       /* NULL allowed */

/* What this text means: a reference; NULL: it is not known. Any thread. */
void *known_texts_find(struct known_texts *k, uid_t uid, const char *text, size_t len);
/* Keeps it, without memory not. Takes text, of malloc(), borrows what. Any thread. */
void known_texts_add(struct known_texts *k, uid_t uid, char *text, size_t len,
                     void *what);

#endif
