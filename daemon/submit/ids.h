/* Job ids: consecutive, and above every id that this state directory has ever seen.
 *
 * File `<state dir>/ids`: a line "<mark> <sum>". The mark is the first id never reserved,
 * in decimal; the sum is the CRC-32C of these digits, in eight hexadecimal ones. A line
 * without a sum, from earlier versions or written by hand, is read too. Ids are reserved
 * in blocks: the file is replaced (write, fsync, rename, fsync of the folder) before an
 * id of the block is given out. So a crash skips ids and never repeats one; an orderly
 * stop gives back the rest, and the next job has the next number. So ids never collide
 * with records or output folders of earlier runs. If the file is missing or old, the
 * highest id in the store's history and in the records counts. */
#ifndef VOLTD_SUBMIT_IDS_H
#define VOLTD_SUBMIT_IDS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <volt/error.h>
#include "daemon/store/store.h"

#define IDS_BLOCK 1024
#define IDS_AHEAD 16 /* batches reserved at once: replacing the file takes 2 to 4 ms */

struct ids {
    int dir_fd;           /* of the state dir; borrowed */
    struct store *store;  /* writes its witness with each block; borrowed; NULL: none */
    pthread_mutex_t lock; /* guards next and reserved */
    uint64_t next;
    uint64_t reserved;         /* first id not reserved on disk */
    pthread_mutex_t file_lock; /* one replacement at a time; held across its I/O */
};

/* Reads the file. 0; -ENOENT; -EBADMSG: damaged; -errno. */
int ids_read(int dir_fd, uint64_t *ret);

/* Reads the file; ids start at the greater of `floor` and the mark. 0; -errno, with the
 * text in err; -EBADMSG: the file is damaged (a guess could repeat ids). Blocks. */
int ids_open(struct ids *ids, int dir_fd, uint64_t floor, struct volt_error *err);
/* Writes nothing: like a crash. */
void ids_close(struct ids *ids);

/* Takes `count` consecutive reserved ids. False: call ids_reserve() first. Never blocks.
 * Any thread. */
bool ids_take(struct ids *ids, uint64_t count, uint64_t *ret_first);
/* Reserves enough for several ids_take(count), which others may take first. 0 or -errno,
 * with the file in err. Blocks on the disk. Any thread. */
int ids_reserve(struct ids *ids, uint64_t count, struct volt_error *err);
/* Releases the reserved ids: the file then has the next id. 0 or -errno: ids may be
 * skipped, never repeated. Blocks on the disk. Any thread. */
int ids_give_back(struct ids *ids);

#endif
