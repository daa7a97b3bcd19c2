/* The journal beside a store ("-wal") is written ahead in zeros: an fdatasync of what a
 * file has already takes 82 us on ext4, of what makes it longer 155, as its size and
 * blocks are a transaction of the file system. To SQLite zeros are no frame. */
#ifndef VOLTD_STORE_SQLITE_WAL_H
#define VOLTD_STORE_SQLITE_WAL_H

#include <stdint.h>

/* Makes the journal of the store at path so many bytes long and syncs that; the store's
 * writer only, after a commit. 0: it is, or was longer; -errno: it is as it was. */
int wal_extend(const char *path, uint64_t bytes);
/* What is in the journal, if there is one, is on disk. 0 or -errno. */
int wal_sync(const char *path);
/* How long a journal of so many frames is, with pages of 4 KiB. */
uint64_t wal_bytes(uint64_t frames);

#endif
