/* The journal beside a store ("-wal"), looked at before SQLite reads it.
 *
 * SQLite takes the first frame whose checksum is wrong for the end of the journal: right
 * after a power cut in the middle of a transaction, wrong when a bit has flipped in one
 * that was committed long ago, whose jobs would be forgotten without a word. The two can
 * be told apart: with synchronous=FULL a transaction is on disk before the next begins,
 * so behind the first bad frame a power cut leaves at most one transaction's end. More
 * than one, or a header that is none, is damage.
 *
 * What cannot be seen is a journal that lost its tail, or its last transaction only. */
#ifndef VOLTD_STORE_SQLITE_WAL_H
#define VOLTD_STORE_SQLITE_WAL_H

#include <volt/error.h>

/* The journal of the store at path. 0: sound, or there is none; -EBADMSG with the place in
 * err; -errno. */
int wal_prove(const char *path, struct volt_error *err);

#endif
