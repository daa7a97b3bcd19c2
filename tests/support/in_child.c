#include "in_child.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static _Noreturn void die(const char *what)
{
    perror(what);
    abort();
}

static _Noreturn void run(void (*body)(int arg), int arg, const int fds[2])
{
    if (dup2(fds[1], STDERR_FILENO) < 0)
        die("dup2");
    close(fds[0]);
    close(fds[1]);
    body(arg);
    _exit(0);
}

int in_child(void (*body)(int arg), int arg, char *ret_text, size_t size)
{
    int fds[2], status;
    size_t len = 0;
    ssize_t n;

    if (pipe(fds) < 0)
        die("pipe");
    (void)fflush(NULL); /* or the child would write it once more */
    pid_t pid = fork();
    if (pid < 0)
        die("fork");
    if (pid == 0)
        run(body, arg, fds);
    close(fds[1]);
    while (len < size - 1 && (n = read(fds[0], ret_text + len, size - 1 - len)) > 0)
        len += (size_t)n;
    ret_text[len] = '\0';
    close(fds[0]);
    if (waitpid(pid, &status, 0) != pid)
        die("waitpid");
    return status;
}
