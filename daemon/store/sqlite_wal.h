/* The journal beside a store ("-wal"), looked at before SQLite reads it.
 *
 * SQLite takes the first frame whose checksum is wrong for the end of the journal: right
 * after a power cut in the middle of a transaction, wrong when a bit has flipped in one
 * that was committed long ago, whose jobs would be forgotten without a word. The two can
 * be told apart: with synchronous=FULL a transaction is on disk before the next begins,
 * so behind the first bad frame a power cut leaves at most one transaction's end. More
 * than one, or a header that is none, is damage.
 *
 * What cannot be seen is a journal that lost its tail, or its last transaction only.
 *
 * It is written ahead in zeros: an fdatasync of what a file has already takes 82 us on
 * ext4, of what makes it longer 155, as its size and blocks are a transaction of the file
 * system. Zeros are no frame; they follow frames only, so a header is never of zeros. */
#ifndef VOLTD_STORE_SQLITE_WAL_H
#define VOLTD_STORE_SQLITE_WAL_H

#include <stdint.h>
#include <volt/error.h>

/* The journal of the store at path. 0: sound, or there is none; -EBADMSG with the place
 * in err; -errno. */
int wal_prove(const char *path, struct volt_error *err);
/* Makes the journal of the store at path so many bytes long and syncs that; the store's
 * writer only, after a commit. 0: it is, or was longer; -errno: it is as it was. */
int wal_extend(const char *path, uint64_t bytes);
/* How long a journal of so many frames is, with pages of 4 KiB. */
uint64_t wal_bytes(uint64_t frames);

#endif
