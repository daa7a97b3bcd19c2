/* Job ids: consecutive, and above every id that this state dir has ever seen.
 *
 * File `<state dir>/ids`: a line "<mark> <sum>": the first id that was never reserved, in
 * decimal, and the CRC-32C of these digits in eight hexadecimal ones. A line of digits
 * alone, as earlier versions wrote it and as people may, is read too. Ids are reserved in
 * blocks: the file is replaced (write, fsync, rename, fsync of the folder) before an id
 * of the block is given out, so a crash skips ids and never repeats one; a stop in order
 * gives back what was not taken, and the next job has the next number. Records and output
 * folders of earlier runs are therefore never met again. Where the file is missing or
 * old, the highest id that the store ever had counts, and those of the records. */
#ifndef VOLTD_SUBMIT_IDS_H
#define VOLTD_SUBMIT_IDS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <volt/error.h>
#include "daemon/store/store.h"

#define IDS_BLOCK 1024
#define IDS_AHEAD 16 /* batches of the size that asks: the file takes 2 to 4 ms */

struct ids {
    int dir_fd;           /* of the state dir; borrowed */
    struct store *store;  /* whose witness goes with each block; borrowed; NULL: none */
    pthread_mutex_t lock; /* guards next and reserved */
    uint64_t next;
    uint64_t reserved;         /* first id not reserved on disk */
    pthread_mutex_t file_lock; /* one replacement at a time; held across its I/O */
};

/* What the file says. 0; -ENOENT; -EBADMSG: it is damaged; -errno. */
int ids_read(int dir_fd, uint64_t *ret);

/* Reads the file; ids start at `floor` or above what it says. 0; -EBADMSG: the file is
 * damaged (nobody guesses: ids could repeat); -errno, with the text in err. Blocks. */
int ids_open(struct ids *ids, int dir_fd, uint64_t floor, struct volt_error *err);
/* Writes nothing, as a crash would. */
void ids_close(struct ids *ids);

/* Takes `count` consecutive ids that are reserved already. False: reserve first. Never
 * blocks. Any thread. */
bool ids_take(struct ids *ids, uint64_t count, uint64_t *ret_first);
/* Reserves so that ids_take(count) works some times, unless others take them first. 0 or
 * -errno, with the file that is to blame in err. Blocks on the disk. Any thread. */
int ids_reserve(struct ids *ids, uint64_t count, struct volt_error *err);
/* Nothing is reserved any more, and the file says which id is the next. 0 or -errno: ids
 * may be skipped, none comes twice. Blocks on the disk. Any thread. */
int ids_give_back(struct ids *ids);

#endif
