/* Extends the journal beside a store ("-wal") with zeros before they are needed. An
 * fdatasync of bytes that the file already has takes 82 us on ext4. If the file grows it
 * takes 155 us, as its size and blocks are a transaction of the file system. SQLite does
 * not take zeros for a frame. */
#ifndef VOLTD_STORE_SQLITE_WAL_H
#define VOLTD_STORE_SQLITE_WAL_H

#include <stdint.h>

/* Extends the journal of the store at path to so many bytes, and syncs it. Only by the
 * store's writer, after a commit. Returns 0 if it is now at least as long; -errno: it is
 * unchanged. */
int wal_extend(const char *path, uint64_t bytes);
/* Syncs the journal, if there is one. Returns 0 or -errno. */
int wal_sync(const char *path);
/* Returns the bytes of a journal of so many frames, with pages of 4 KiB. */
uint64_t wal_bytes(uint64_t frames);

#endif
