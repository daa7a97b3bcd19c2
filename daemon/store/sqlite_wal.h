/* The journal beside a store ("-wal"), looked at before SQLite reads it.
 *
 * SQLite takes the first frame whose checksum is wrong for the end of the journal: right
 * after a power cut in the middle of a transaction, wrong when a bit has flipped in one
 * that was committed long ago, whose jobs would be forgotten without a word. The rule
 * that tells the two apart: at most one transaction of the journal is not on disk, so
 * behind the first bad frame a power cut leaves at most one frame that ends a
 * transaction. Two of them, or a header that is none, are damage. The rule holds because
 * each writer keeps the invariant
 *
 *     before a transaction is written, all sound frames are on disk, and behind them no
 *     frame of this journal ends a transaction
 *
 * in every order of events that can leave such a frame:
 *
 *   a commit            synchronous=FULL: it is synced before the next one begins.
 *   a kill before that  its frames are sound, but maybe not on disk: wal_take_over()
 *                       syncs them before the next voltd commits.
 *   a power cut         may keep the end of a transaction whose first frames are lost.
 *                       The next transaction overwrites those, and if it is shorter the
 *                       old end stays behind it: wal_take_over() cuts it off.
 *   a failed commit     SQLite takes it back, but its frames stay, with their end. After
 *                       an error of the disk the writer goes on in a copy, a new file.
 *                       After another one (a full disk, no memory) the journal is
 *                       started anew before the next transaction (sqlite_write.c), if
 *                       neither a reader nor the full disk hinders that; see below.
 *   a checkpoint        changes nothing in the journal; it copies what is on disk.
 *   a new start of it   happens when all of it is in the file and synced there. The new
 *                       header is synced before the first frame; it is smaller than a
 *                       sector, so it is the old one or the new one. Frames of the old
 *                       journal differ in both halves of the salt and count no more.
 *   zeros, see below    are no frame and end nothing.
 *
 * Not covered: a sync fails, voltd is killed before its copy is complete, and the power
 * is cut before the next voltd has copied the journal into the file, which is the last
 * thing a load does. The kernel calls pages clean then that are not on disk, and the sync
 * of wal_take_over() believes it: the store may be refused as damaged. The same may
 * happen at a power cut after a failed commit, until a reader or the full disk lets the
 * journal be started anew: the end of the failed transaction stays behind the next ones,
 * and one of those that is cut in two may leave a second end. Transactions are written
 * meanwhile: to refuse them would make an outage of a reader that holds an old snapshot.
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
/* The same for a voltd that is to write it, before SQLite opens it: syncs what is sound,
 * and cuts off what a power cut has left of a transaction behind it. */
int wal_take_over(const char *path, struct volt_error *err);
/* Makes the journal of the store at path so many bytes long and syncs that; the store's
 * writer only, after a commit. 0: it is, or was longer; -errno: it is as it was. */
int wal_extend(const char *path, uint64_t bytes);
/* How long a journal of so many frames is, with pages of 4 KiB. */
uint64_t wal_bytes(uint64_t frames);

#endif
