/* Tasks from a function and an argument, for tests. */
#ifndef TESTS_SUPPORT_FN_TASK_H
#define TESTS_SUPPORT_FN_TASK_H

#include <volt/volt.h>

struct fn_task {
    enum volt_poll (*poll)(struct volt_cx *cx, struct fn_task *f);
    void (*drop)(struct fn_task *f);        /* may be NULL */
    void (*drop_output)(struct fn_task *f); /* may be NULL */
    void *arg;
    int at;    /* for the poll function */
    int value; /* likewise; the output */
    struct volt_join join;
    struct volt_sleep sleep;
};

/* A state to be spawned; aborts when out of memory. */
struct fn_task *fn_task_new(struct volt_runtime *rt,
                            enum volt_poll (*poll)(struct volt_cx *cx, struct fn_task *f),
                            void *arg);
/* Makes and spawns one. Returns what volt_task_spawn() did. */
int fn_spawn(struct volt_runtime *rt,
             enum volt_poll (*poll)(struct volt_cx *cx, struct fn_task *f), void *arg,
             struct volt_join *join);

/* CHECK in any thread: cmocka's asserts would end a worker silently. */
void fn_check_failed(const char *file, int line, const char *what)
    __attribute__((noreturn));
#define FN_CHECK(c) ((c) ? (void)0 : fn_check_failed(__FILE__, __LINE__, #c))

#endif
