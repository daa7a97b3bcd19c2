/* Clones into a cgroup. libc has no function for it that takes a stack. */
#include "daemon/keeper/cgroup.h"

#include <errno.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/syscall.h>

/* Makes the child, which calls fn(arg) on its own stack and exits with the result.
 * Returns the kernel's result to the parent. */
#if defined(__x86_64__)
static long clone3(struct clone_args *args, int (*fn)(void *arg), void *arg)
{
    register int (*call)(void *) __asm__("r8") = fn;
    register void *with __asm__("r9") = arg;
    long ret;
    __asm__ volatile("syscall\n\t"
                     "test %%rax, %%rax\n\t"
                     "jnz 1f\n\t"
                     "xor %%ebp, %%ebp\n\t"
                     "mov %%r9, %%rdi\n\t"
                     "call *%%r8\n\t"
                     "mov %%eax, %%edi\n\t"
                     "mov %[exit], %%eax\n\t"
                     "syscall\n"
                     "1:"
                     : "=a"(ret)
                     : "a"((long)SYS_clone3), "D"(args), "S"(sizeof(*args)), "r"(call),
                       "r"(with), [exit] "i"(SYS_exit)
                     : "rcx", "r11", "memory");
    return ret;
}
#elif defined(__aarch64__)
static long clone3(struct clone_args *args, int (*fn)(void *arg), void *arg)
{
    register long x0 __asm__("x0") = (long)args;
    register long x1 __asm__("x1") = sizeof(*args);
    register long x8 __asm__("x8") = SYS_clone3;
    register int (*x10)(void *) __asm__("x10") = fn;
    register void *x11 __asm__("x11") = arg;
    __asm__ volatile("svc #0\n\t"
                     "cbnz x0, 1f\n\t"
                     "mov x29, xzr\n\t"
                     "mov x0, x11\n\t"
                     "blr x10\n\t"
                     "mov x8, %[exit]\n\t"
                     "svc #0\n"
                     "1:"
                     : "+r"(x0)
                     : "r"(x1), "r"(x8), "r"(x10), "r"(x11), [exit] "i"(SYS_exit)
                     : "memory");
    return x0;
}
#else
static long clone3(struct clone_args *args, int (*fn)(void *arg), void *arg)
{
    (void)args;
    (void)fn;
    (void)arg;
    return -ENOSYS;
}
#endif

pid_t cgroup_clone(int fd, int (*fn)(void *arg), void *stack, size_t size, void *arg)
{
    struct clone_args args = {
        .flags = CLONE_VM | CLONE_VFORK | CLONE_INTO_CGROUP,
        .exit_signal = SIGCHLD,
        .stack = (uint64_t)(uintptr_t)stack,
        .stack_size = size,
        .cgroup = (uint64_t)fd,
    };
    return (pid_t)clone3(&args, fn, arg);
}
