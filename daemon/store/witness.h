/* The witness: a file beside the store that says how far the store had come.
 *
 * A valid store may still be the wrong one. If it was removed, an empty one would be
 * made. If an older copy was put in its place, jobs would run again. So the store has a
 * random id, and counts its starts and its facts. The file `witness` in the state
 * directory says which of these were on disk when it was written. A start refuses a store
 * that is below its witness.
 *
 * Written:
 *
 *   at each start            after the load has proved the store and the number of the
 *                            start is on disk
 *   with each block of ids   ids.h
 *   at an orderly stop       after the last commit
 *
 * The store is always on disk before the witness says so, hence no power cut leaves a
 * store below its witness. No commit waits for the witness: a block of ids costs one more
 * fsync.
 *
 * Not detected: a copy that was made while this voltd ran, after the latest witness (at
 * most a block of ids ago), and put back after a crash; a state directory that was put
 * back as a whole, or without its witness. Without a witness every store is accepted:
 * none exists before the first start, nor in earlier versions.
 *
 * `voltd --accept-store` gives the store a new id and writes its witness. If a step
 * fails, the store is as it was: it matches the right witness, and accepting can be tried
 * again.
 *
 * The file is a line of WITNESS_SIZE bytes, with fields of fixed width:
 *
 *     <format, 1> <id, 32 hex digits> <starts, 20 digits> <facts, 20 digits> <CRC-32C>
 *
 * It is replaced as a whole (file_replace()): after a power cut it is the old one or the
 * new one. So a damaged witness is refused; so is a directory, a link or a FIFO in its
 * place. Two slots written in turn would save the rename. But a bad slot could be a torn
 * write, or a newer witness that would reveal an older store, and no reader could tell
 * which. */
#ifndef VOLTD_STORE_WITNESS_H
#define VOLTD_STORE_WITNESS_H

#include <stdbool.h>
#include <stdint.h>
#include <volt/error.h>

#define WITNESS_ID_SIZE 16
#define WITNESS_SIZE    86 /* "1 ", id, ' ', 20, ' ', 20, ' ', 8, '\n' */

struct witness {
    uint8_t id[WITNESS_ID_SIZE]; /* of the store, random */
    uint64_t starts;             /* of voltd on this store */
    uint64_t facts;              /* that the store has numbered */
};

/* Reads the witness in dir. Returns 0; -ENOENT; -EBADMSG: damaged, or written by a newer
 * voltd; or another errno. */
int witness_read(const char *dir, struct witness *ret);

/* Replaces the witness in dir. lasting: also syncs the directory, which makes the new
 * name last; otherwise a later sync does. Returns 0; or -errno: the old witness stays and
 * is still true, and err names the file at fault. Blocks on the disk. */
int witness_write(const char *dir, const struct witness *w, bool lasting,
                  struct volt_error *err);
/* The two halves of witness_write(), with lasting. After the first half the old witness
 * is still in place, and every step that needs room has succeeded. */
int witness_prepare(const char *dir, const struct witness *w, struct volt_error *err);
int witness_publish(const char *dir, struct volt_error *err);

/* Judges whether the store may be used; store NULL: there is none. Returns:
 *   0                     it may
 *   -STORE_NOT_WITNESSED  it may not; err has both numbers and the likely cause
 *   another errno         of reading; err says what to do */
int witness_judge(const char *dir, const struct witness *store, struct volt_error *err);

#endif
