/* Making and removing exit records: voltd's half of daemon/keeper/record.h.
 *
 * A record is made under a name of this process, locked, filled and renamed to that of
 * its attempt. Each step is safe to die after: what has no name of an attempt is swept by
 * the next voltd, and one that has it is free as soon as its descriptor is gone. That
 * descriptor is the only one of its open file description, and goes out with START.
 *
 * Any thread. */
#ifndef DAEMON_LINK_RECORD_MAKE_H
#define DAEMON_LINK_RECORD_MAKE_H

#include "base/lock.h"
#include "daemon/keeper/record.h"

#ifndef RECORD_VERSION_MADE /* tests of the upgrade build a voltd that makes old ones */
#define RECORD_VERSION_MADE RECORD_VERSION
#endif

#define RECORD_POOL_MAX 256

/* Files of removed records, kept under names of this process for the next ones: ext4 will
 * not reuse a fresh inode for seconds and searches ever longer for another, which cost 1
 * ms per job at full speed. Zero-initialised is empty. */
struct record_pool {
    vlock lock; /* protects the rest */
    uint32_t n, name[RECORD_POOL_MAX];
};

/* Makes a record with its header, locked, under its name. pool may be NULL. Returns the
 * descriptor (CLOEXEC, owned by the caller) whose last close drops the lock, and in
 * *ret_seed what the slots are sealed with; -EEXIST: there is a record; -errno. */
int record_create(int dir_fd, struct record_pool *pool, const struct job_key *key,
                  const uint8_t boot_id[RECORD_ID_SIZE], uint32_t kill_mode,
                  uint32_t *ret_seed);
/* The same from the pool, which hardly ever waits for a disk; -ENFILE: it is empty. */
int record_create_spare(int dir_fd, struct record_pool *pool, const struct job_key *key,
                        const uint8_t boot_id[RECORD_ID_SIZE], uint32_t kill_mode,
                        uint32_t *ret_seed);
/* 0, also when there is none, or a directory in its place, which stays; -EBUSY: it runs,
 * or may run; -errno. pool may be NULL. */
int record_remove(int dir_fd, struct record_pool *pool, const struct job_key *key,
                  const uint8_t boot_id[RECORD_ID_SIZE]);
/* Removes the record of what has never run and cannot run any more. Needs no descriptor,
 * for want of which the start may have failed. 0, also when there is none; -errno. */
int record_discard(int dir_fd, const struct job_key *key);
/* At start and end: removes what is half-made or kept for reuse by this process or by one
 * that has gone. */
void record_sweep(int dir_fd);

/* As record_generation_read(), but makes it first if there is none. */
int record_generation_ensure(int dir_fd, uint8_t ret[RECORD_ID_SIZE]);

#endif
