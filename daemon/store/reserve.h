/* Room on the disk that is kept for completions, and for opening the store on a disk that
 * others have filled: a file of blocks that nobody uses. */
#ifndef VOLTD_STORE_RESERVE_H
#define VOLTD_STORE_RESERVE_H

#define RESERVE_BYTES (8 << 20)

/* Allocates the file "reserve" in dir. 0; -ENOSPC; another errno. Also where the room is
 * there already. */
int reserve_take(const char *dir);
/* Gives the room back to the file system. */
void reserve_release(const char *dir);

#endif
