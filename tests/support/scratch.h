/* A scratch directory of a test's own, in memory, where syncs cost nothing. */
#ifndef TESTS_SUPPORT_SCRATCH_H
#define TESTS_SUPPORT_SCRATCH_H

#define SCRATCH_MAX 32 /* bytes of its path, the NUL included */

/* Makes one. 0, or -1 with errno: as a setup of cmocka returns it. */
int scratch_make(char ret_path[SCRATCH_MAX]);
/* Removes it with everything in it. Likewise. */
int scratch_remove(const char *path);

#endif
