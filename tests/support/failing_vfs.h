/* A VFS in front of SQLite's own, whose writes and syncs fail when they are told to. */
#ifndef TESTS_SUPPORT_FAILING_VFS_H
#define TESTS_SUPPORT_FAILING_VFS_H

/* Of files that are opened from now on; _take when they are closed. */
void failing_vfs_put(void);
void failing_vfs_take(void);

/* Codes of SQLite. writes: of each write; code: of the next `syncs` syncs; 0: none fails. */
void failing_vfs_set(int writes, int code, int syncs);
/* Called in each sync, without a lock, until NULL. */
void failing_vfs_in_sync(void (*fn)(void));
/* How many of those syncs have failed. */
int failing_vfs_failed(void);

#endif
