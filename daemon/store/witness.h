/* The witness: how far the store had come, in a file of its own beside it.
 *
 * A store that is sound may still not be the one it was: removed, it would be made anew,
 * empty; an older copy in its place would run again what has run since. So the store has
 * a random id and counts its starts and its facts, and the file `witness` in the state
 * directory says what of that was on disk already when it was written. A start finds the
 * store at or above its witness, or refuses it.
 *
 * Written at each start, after the load has proved the store and the number of the start
 * is on disk; with each block of job ids (ids.h); and at a stop in order, after the last
 * commit. Always after what it says is durable, so that no power cut leaves a store below
 * its witness. No commit waits for it: a block of ids costs one fsync more.
 *
 * What it does not see: a copy that was made while this voltd ran, behind the latest
 * witness (at most a block of ids ago), and put back after a crash; a state directory
 * that is put back as a whole, or whose witness was removed too. Without a witness no
 * store is refused: there is none before the first start, and none of earlier versions.
 *
 * `voltd --accept-store` gives the store a new id and writes the witness of that. When a
 * step of it fails, the store is as it was: the right witness, put back, finds it right,
 * and accepting it can be tried again.
 *
 * The file is a line of WITNESS_SIZE bytes, of fields of fixed width:
 *
 *     <format, 1> <id, 32 hex digits> <starts, 20 digits> <facts, 20 digits> <CRC-32C>
 *
 * and replaced as a whole (file_replace()): after a power cut it is the old one or the
 * new one, so one that is damaged was damaged, and is refused. So is a directory, a link
 * or a FIFO in its place. Two slots written in turn
 * would save the rename, but a bad slot could be a torn write or a newer one that hides
 * an older store; nobody could tell. */
#ifndef VOLTD_STORE_WITNESS_H
#define VOLTD_STORE_WITNESS_H

#include <stdbool.h>
#include <stdint.h>
#include <volt/error.h>

#define WITNESS_ID_SIZE 16
#define WITNESS_SIZE    86 /* "1 ", id, ' ', 20, ' ', 20, ' ', 8, '\n' */

struct witness {
    uint8_t id[WITNESS_ID_SIZE]; /* of the store, random */
    uint64_t starts;             /* of voltd on it */
    uint64_t facts;              /* that it has numbered */
};

/* What dir's witness says. 0; -ENOENT; -EBADMSG: damaged, or written by a newer voltd;
 * another errno. */
int witness_read(const char *dir, struct witness *ret);

/* The last step of what makes it last is the sync of the directory: lasting does it, and
 * without it somebody else does soon. 0 or -errno: the witness is the old one, which is
 * as true, and err names the file that is to blame. Blocks on the disk. */
int witness_write(const char *dir, const struct witness *w, bool lasting,
                  struct volt_error *err);
/* Its halves, the second one lasting: all that takes room has succeeded after the first,
 * and the witness is still the old one. */
int witness_prepare(const char *dir, const struct witness *w, struct volt_error *err);
int witness_publish(const char *dir, struct volt_error *err);

/* Whether the store may be used: 0; -STORE_NOT_WITNESSED (store.h), with both numbers
 * and the likely cause in err; another errno of reading, with what to do. store NULL:
 * there is none. */
int witness_judge(const char *dir, const struct witness *store, struct volt_error *err);

#endif
