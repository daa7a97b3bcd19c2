/* A directory of files as a power cut leaves it: of each file what was synced, under the names
 * that were. What a store syncs itself comes by fsync(2) and fdatasync(2), which the linker
 * redirects, what SQLite does by a VFS in front of its own. */
#ifndef TESTS_SIM_SCRIPTS_POWER_H
#define TESTS_SIM_SCRIPTS_POWER_H

/* From now on; the directory is empty. */
void power_begin(const char *dir);
/* Another directory, which is empty, gets what would be left of it, and is watched from now
 * on in its place. */
void power_cut(const char *to);
void power_end(void);

#endif
