/* escapers N stay|leave PROGRAM: N processes that flee from their job: each has forked
 * twice, is in a session of its own and has no environment. Every fourth becomes PROGRAM,
 * which is set-user-id. What has started them stays, or ends. */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void flee(int i, const char *program)
{
    (void)setsid();
    if (fork() != 0)
        _exit(0);
    (void)setsid();
    (void)clearenv();
    if (i % 4 == 0)
        (void)execl(program, program, "600", NULL);
    for (;;)
        (void)pause();
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    for (int i = 0; i < atoi(argv[1]); i++) {
        pid_t pid = fork();
        if (pid < 0)
            return 1;
        if (pid == 0)
            flee(i, argv[3]);
        (void)waitpid(pid, NULL, 0);
    }
    while (strcmp(argv[2], "stay") == 0)
        (void)pause();
    return 0;
}
