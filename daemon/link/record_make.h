/* Makes and removes exit records: voltd's half of daemon/keeper/record.h.
 *
 * A record is made under a name of this process, locked, filled, and renamed to the name
 * of its attempt. Each step is safe to die after. The next voltd sweeps files without the
 * name of an attempt. A file with that name is free once its descriptor is closed. That
 * descriptor is the only one of its open file description, and goes out with START.
 *
 * Any thread. */
#ifndef DAEMON_LINK_RECORD_MAKE_H
#define DAEMON_LINK_RECORD_MAKE_H

#include "base/lock.h"
#include "daemon/keeper/record.h"

#ifndef RECORD_VERSION_MADE /* upgrade tests build a voltd that makes old ones */
#define RECORD_VERSION_MADE RECORD_VERSION
#endif

#define RECORD_POOL_MAX 256

/* Spare files: files of removed records, renamed for the next ones. ext4 does not reuse a
 * fresh inode for seconds, and searches longer and longer for another one: that cost 1 ms
 * per job at full speed. Zero-initialised: empty. */
struct record_pool {
    vlock lock; /* guards the rest */
    uint32_t n, name[RECORD_POOL_MAX];
};

/* Makes a locked record with its header, under its name. pool may be NULL. Returns:
 *   a descriptor, CLOEXEC, owned by the caller: its last close drops the lock;
 *   *ret_seed seals the slots
 *   -EEXIST  there is a record
 *   -errno */
int record_create(int dir_fd, struct record_pool *pool, const struct job_key *key,
                  const uint8_t boot_id[RECORD_ID_SIZE], uint32_t kill_mode,
                  uint32_t *ret_seed);
/* Does the same with a spare file, which hardly ever waits for a disk. Also returns
 * -ENFILE: the pool is empty. */
int record_create_spare(int dir_fd, struct record_pool *pool, const struct job_key *key,
                        const uint8_t boot_id[RECORD_ID_SIZE], uint32_t kill_mode,
                        uint32_t *ret_seed);
/* Removes the record. Does not remove a directory in its place. pool may be NULL.
 * Returns:
 *   0       also if there is no record
 *   -EBUSY  the attempt runs, or may run
 *   -errno */
int record_remove(int dir_fd, struct record_pool *pool, const struct job_key *key,
                  const uint8_t boot_id[RECORD_ID_SIZE]);
/* Removes the record of an attempt that never ran and cannot run. Needs no descriptor, as
 * the start may have failed for lack of one. Returns 0, also if there is none, or
 * -errno. */
int record_discard(int dir_fd, const struct job_key *key);
/* Removes half-made and spare files of this process and of processes that have ended. At
 * start and end. */
void record_sweep(int dir_fd);

/* Does the same as record_generation_read(), but makes the generation if there is
 * none. */
int record_generation_ensure(int dir_fd, uint8_t ret[RECORD_ID_SIZE]);

#endif
