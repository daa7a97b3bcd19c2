/* For a build that counts branches: processes that leave by _exit or exec, as shims and jobs
 * do, write down their counts before that. Linked with --wrap. */
#include <unistd.h>

void __gcov_dump(void);
void __gcov_reset(void);

_Noreturn void __real__exit(int status);
_Noreturn void __wrap__exit(int status);
int __real_execvpe(const char *file, char *const argv[], char *const env[]);
int __wrap_execvpe(const char *file, char *const argv[], char *const env[]);

_Noreturn void __wrap__exit(int status)
{
    __gcov_dump();
    __real__exit(status);
}

int __wrap_execvpe(const char *file, char *const argv[], char *const env[])
{
    __gcov_dump();
    __gcov_reset(); /* after a vfork they are also the parent's, who writes its own */
    return __real_execvpe(file, argv, env);
}
