/* See scratch.h. */
#include "tests/support/scratch.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH 16 /* descriptors that the walk may use */

int scratch_make(char ret_path[SCRATCH_MAX])
{
    strcpy(ret_path, "/dev/shm/volt-test-XXXXXX");
    return mkdtemp(ret_path) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st;
    (void)kind;
    (void)at;
    return remove(path);
}

int scratch_remove(const char *path)
{
    return nftw(path, remove_one, DEPTH, FTW_DEPTH | FTW_PHYS);
}
