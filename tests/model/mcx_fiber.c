/* Threads under test: fibers with a stack and thread-local storage of their own.
 *
 * All fibers run on one thread, so the program's thread-local block (the sources under
 * test keep their current worker there) is copied out and in at every switch. */
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include "mcx_internal.h"

#define STACK_SIZE (256 * 1024)
#define TLS_MAX    4096

struct fiber {
    void *sp;
    char *stack, *top;
    char tls[TLS_MAX];
};

static struct fiber fibers[MCX_THREADS + 1];
static void *main_sp;
static void (*entry[MCX_THREADS])(void);

#define DEAD_STACK 384 /* what an operation takes, or more */

/* No constant: memset() is faster than what stands in for it. */
static volatile size_t dead_stack = DEAD_STACK;

static char *tls_block;
static const char *tls_image;
static size_t tls_file_size, tls_size;

/* Saves the callee-saved registers and the stack pointer in *save, continues at `to`. */
void mcx_fiber_swap(void **save, void *to);
#if defined(__x86_64__)
__asm__(".text\n.globl mcx_fiber_swap\n.type mcx_fiber_swap,@function\nmcx_fiber_swap:\n"
        "push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\n"
        "mov %rsp,(%rdi)\nmov %rsi,%rsp\n"
        "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\nret\n");
#define SAVED_REGISTERS 6
#else
#error "the explorer's fibers need a port to this architecture"
#endif

static int find_tls(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    (void)arg;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[i];

        if (h->p_type != PT_TLS)
            continue;
        tls_block = info->dlpi_tls_data;
        tls_image = (const char *)(info->dlpi_addr + h->p_vaddr);
        tls_file_size = h->p_filesz;
        tls_size = h->p_memsz;
    }
    return 1; /* the program itself is the first */
}

void mcx_fiber_setup(void)
{
    dl_iterate_phdr(find_tls, NULL);
    if (tls_size > TLS_MAX || !tls_block)
        tls_size = tls_file_size = 0;
}

static void tls_init(char *tls)
{
    memset(tls, 0, tls_size);
    memcpy(tls, tls_image, tls_file_size);
}

void mcx_fiber_reset(void)
{
    if (tls_size == 0)
        return;
    for (int i = 0; i <= MCX_THREADS; i++)
        tls_init(fibers[i].tls);
    memcpy(tls_block, fibers[MCX_MAIN].tls, tls_size);
}

/* While none runs. */
void mcx_fiber_carry(void)
{
    (void)mcx_carry(tls_block, tls_size);
    for (int i = 0; i < mcx_nthreads; i++) {
        struct fiber *f = &fibers[i];

        (void)mcx_carry(&f->sp, sizeof(f->sp));
        (void)mcx_carry(f->sp, (size_t)(f->top - (char *)f->sp));
        (void)mcx_carry(f->tls, tls_size);
    }
}

static void fiber_main(void)
{
    entry[mcx_current]();
    mcx_threads[mcx_current].state = THREAD_DONE;
    mcx_log("ends");
    mcx_fiber_leave();
    abort();
}

void mcx_fiber_make(int i, void (*run)(void))
{
    struct fiber *f = &fibers[i];

    if (!f->stack)
        f->stack = malloc(STACK_SIZE);
    if (!f->stack)
        abort();
    void **sp = (void **)(((uintptr_t)f->stack + STACK_SIZE) & ~(uintptr_t)15);

    f->top = (char *)sp;

    entry[i] = run;
    *--sp = NULL;
    *--sp = (void *)(uintptr_t)fiber_main;
    for (int k = 0; k < SAVED_REGISTERS; k++)
        *--sp = NULL;
    f->sp = sp;
}

void mcx_fiber_enter(int i)
{
    mcx_current = i;
    if (tls_size > 0) {
        memcpy(fibers[MCX_MAIN].tls, tls_block, tls_size);
        memcpy(tls_block, fibers[i].tls, tls_size);
    }
    mcx_fiber_swap(&main_sp, fibers[i].sp);
    if (tls_size > 0) {
        memcpy(fibers[i].tls, tls_block, tls_size);
        memcpy(tls_block, fibers[MCX_MAIN].tls, tls_size);
    }
}

void mcx_fiber_leave(void)
{
    mcx_fiber_swap(&fibers[mcx_current].sp, main_sp);
}

/* What calls have left below the stack would show in the holes of later frames. */
__attribute__((noinline)) void mcx_wipe(void)
{
    char dead[DEAD_STACK];

    memset(dead, 0, dead_stack);
    __asm__ volatile("" ::"r"(dead) : "memory");
}

/* Left and not running: the registers are on the stack. */
uint64_t mcx_fiber_hash(int i)
{
    const struct fiber *f = &fibers[i];
    uint64_t h = mcx_hash(f->tls, tls_size, (uint64_t)i + 1);

    return mcx_hash(f->sp, (size_t)(f->top - (char *)f->sp), h);
}
