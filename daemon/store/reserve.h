/* Reserves room on the disk for the ends of jobs, and for opening the store when others
 * have filled the disk. The reserve is a file of unused blocks. */
#ifndef VOLTD_STORE_RESERVE_H
#define VOLTD_STORE_RESERVE_H

#define RESERVE_BYTES (8 << 20)

/* Allocates the file "reserve" in dir, unless it is complete already. Returns 0, -ENOSPC,
 * or another errno. */
int reserve_take(const char *dir);
/* Truncates the file, which frees its blocks for others. */
void reserve_release(const char *dir);

#endif
