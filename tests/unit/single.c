/* Ends a unit program that single.mk lists as single-threaded when it starts a thread or a process:
 * the thread sanitizer would not look at it, and the gate would not repeat it. Linked into those
 * programs alone, by --wrap; a program's own hook of that name wins. */
#include <stdio.h>
#include <stdlib.h>

int __wrap_pthread_create(void);
int __wrap_fork(void);
int __wrap_vfork(void);
int __wrap_posix_spawn(void);
int __wrap_posix_spawnp(void);

static int refuse(const char *what)
{
    (void)fprintf(stderr, "%s() in a program that tests/unit/single.mk lists: take it out there\n", what);
    abort();
}

__attribute__((weak)) int __wrap_pthread_create(void)
{
    return refuse("pthread_create");
}

__attribute__((weak)) int __wrap_fork(void)
{
    return refuse("fork");
}

__attribute__((weak)) int __wrap_vfork(void)
{
    return refuse("vfork");
}

__attribute__((weak)) int __wrap_posix_spawn(void)
{
    return refuse("posix_spawn");
}

__attribute__((weak)) int __wrap_posix_spawnp(void)
{
    return refuse("posix_spawnp");
}
