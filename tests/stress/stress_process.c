/* Stress of children, signals, intervals and threads that block on a receive: children end,
 * are killed, or lose the task that waits for them; a signal is answered for as often as it
 * is sent and awaited; intervals tick while all that goes on. At the end nothing may be
 * missing: children are reaped once, answers have come, no descriptor is left.
 *
 * Options: tests/support/stress.h. */
#include "base/atomic.h"
#include "tests/support/stress.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

extern char **environ;

enum { CHILDREN = 6, CLOCKS = 20, SIGNALS = 40, ASKED = 200 };

static struct stress st;

/* --- children ----------------------------------------------------------------------- */

enum fate { EXITS, KILLED, ABANDONED, FATES };

struct guard {
    struct volt_child child;
    int status;
};

static enum volt_poll guard_poll(struct volt_cx *cx, void *state)
{
    struct guard *g = state;

    return volt_child_poll(cx, &g->child, &g->status);
}

static void guard_drop(void *state)
{
    struct guard *g = state;

    volt_child_fini(&g->child);
}

static const struct volt_task_type guard_type = {
    .name = "guard",
    .size = sizeof(struct guard),
    .poll = guard_poll,
    .drop = guard_drop,
};

static pid_t start_child(enum fate fate, int code)
{
    char *const sleeps[] = {"sleep", "100", NULL};
    char text[16];
    char *const exits[] = {"sh", "-c", text, NULL};
    pid_t pid;

    (void)snprintf(text, sizeof(text), "exit %d", code);
    CHECK(posix_spawnp(&pid, fate == EXITS ? "sh" : "sleep", NULL, NULL,
                       fate == EXITS ? exits : sleeps, environ) == 0);
    return pid;
}

static void one_child(uint64_t *seed)
{
    enum fate fate = (enum fate)stress_random(seed, FATES);
    int code = (int)stress_random(seed, 100), status;
    struct volt_runtime *rt = st.rt[stress_random(seed, st.runtimes)];
    struct guard *g = volt_task_new(rt, &guard_type);
    pid_t pid = start_child(fate, code);
    struct volt_join join;

    CHECK(g && volt_child_init(&g->child, rt, pid) == 0);
    if (fate == KILLED)
        CHECK(volt_child_kill(&g->child, SIGKILL) == 0);
    CHECK(volt_task_spawn(g, &join) == 0);
    if (fate == ABANDONED) {
        volt_join_cancel(&join);
        CHECK(volt_join_wait(&join) == -ECANCELED);
        CHECK(kill(pid, SIGKILL) == 0 && waitpid(pid, &status, 0) == pid);
    } else {
        CHECK(volt_join_wait(&join) == 0);
        status = ((struct guard *)volt_join_state(&join))->status;
        CHECK(waitpid(pid, NULL, WNOHANG) == -1 && errno == ECHILD); /* reaped */
    }
    CHECK(fate == EXITS ? WIFEXITED(status) && WEXITSTATUS(status) == code
                        : WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    volt_join_fini(&join);
}

/* --- signals: each is answered before the next is sent ------------------------------ */

struct answering {
    int at, number, count;
    struct volt_signals signals;
    struct volt_channel *to;
    struct volt_channel_send send;
};

static enum volt_poll answering_poll(struct volt_cx *cx, void *state)
{
    struct answering *a = state;

    VOLT_BEGIN(a->at);
    for (;;) {
        VOLT_AWAIT(a->at, volt_signals_poll(cx, &a->signals, &a->number));
        CHECK(a->number == SIGUSR1);
        a->count++;
        volt_channel_send_init(&a->send, a->to, &a->count);
        VOLT_AWAIT(a->at, volt_channel_send_poll(cx, &a->send));
        CHECK(volt_channel_send_status(&a->send) == 0);
    }
    VOLT_END(a->at);
}

static void answering_drop(void *state)
{
    struct answering *a = state;

    volt_channel_send_fini(&a->send);
    volt_signals_fini(&a->signals);
}

static const struct volt_task_type answering_type = {
    .name = "answering",
    .size = sizeof(struct answering),
    .poll = answering_poll,
    .drop = answering_drop,
};

static void send_signals(uint64_t *seed)
{
    struct volt_runtime *rt = st.rt[stress_random(seed, st.runtimes)];
    struct answering *a = volt_task_new(rt, &answering_type);
    struct volt_channel *answers = volt_channel_new(sizeof(int), 2);
    struct volt_channel_recv recv;
    struct volt_join join;
    sigset_t set;
    int count;

    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    CHECK(a && answers && volt_signals_init(&a->signals, rt, &set) == 0);
    a->to = answers;
    CHECK(volt_task_spawn(a, &join) == 0);
    volt_channel_recv_init(&recv, answers, &count);
    for (int i = 1; i <= SIGNALS; i++) {
        CHECK(kill(getpid(), SIGUSR1) == 0);
        CHECK(volt_channel_recv_wait(&recv) == 0 && count == i);
    }
    volt_channel_recv_fini(&recv);
    volt_join_cancel(&join);
    CHECK(volt_join_wait(&join) == -ECANCELED);
    volt_join_fini(&join);
    volt_channel_free(answers);
}

/* --- intervals ---------------------------------------------------------------------- */

struct clock {
    int at;
    uint64_t start, period, ticks;
    struct volt_interval interval;
};

static enum volt_poll clock_poll(struct volt_cx *cx, void *state)
{
    struct clock *c = state;

    VOLT_BEGIN(c->at);
    volt_interval_init(&c->interval, c->period);
    c->start = c->interval.next_usec - c->period;
    for (;;) {
        VOLT_AWAIT(c->at, volt_interval_poll(cx, &c->interval));
        c->ticks += 1 + c->interval.missed;
        CHECK(volt_now_usec() >= c->start + c->ticks * c->period);
        CHECK(c->interval.next_usec == c->start + (c->ticks + 1) * c->period);
    }
    VOLT_END(c->at);
}

static void clock_drop(void *state)
{
    struct clock *c = state;

    volt_interval_fini(&c->interval);
}

static const struct volt_task_type clock_type = {
    .name = "clock",
    .size = sizeof(struct clock),
    .poll = clock_poll,
    .drop = clock_drop,
};

/* --- threads that block: a task sends each of them one value ------------------------- */

struct answer {
    struct volt_oneshot *to;
    uint64_t value;
};

static enum volt_poll answer_poll(struct volt_cx *cx, void *state)
{
    struct answer *a = state;

    (void)cx;
    if (a->value) {
        (void)volt_oneshot_try_send(a->to, &a->value);
        a->to = NULL;
    }
    return VOLT_READY;
}

static void answer_drop(void *state)
{
    struct answer *a = state;

    volt_oneshot_send_fini(a->to);
}

static const struct volt_task_type answer_type = {
    .name = "answer",
    .size = sizeof(struct answer),
    .poll = answer_poll,
    .drop = answer_drop,
};

static void ask(uint64_t *seed)
{
    uint64_t value = stress_random(seed, 8), got = 0;
    struct volt_oneshot *o = volt_oneshot_new(sizeof(value));
    struct volt_oneshot_recv recv;

    CHECK(o);
    volt_oneshot_recv_init(&recv, o, &got);
    CHECK(VOLT_SPAWN(st.rt[stress_random(seed, st.runtimes)], &answer_type, NULL,
                     struct answer, .to = o, .value = value) == 0);
    CHECK(volt_oneshot_recv_wait(&recv) == (value ? 0 : -EPIPE) && got == value);
    volt_oneshot_recv_fini(&recv);
}

/* --- the run ------------------------------------------------------------------------ */

static int open_descriptors(void)
{
    DIR *d = opendir("/proc/self/fd");
    int n = 0;

    CHECK(d);
    while (readdir(d))
        n++;
    (void)closedir(d);
    return n;
}

static void one_round(void)
{
    uint64_t seed = stress_mix(st.seed, 0);
    struct volt_join clock[CLOCKS];
    struct volt_stats stats;
    int before = open_descriptors();

    stress_start(&st, st.workers, NULL);
    for (int i = 0; i < CLOCKS; i++)
        CHECK(VOLT_SPAWN(st.rt[stress_random(&seed, st.runtimes)], &clock_type, &clock[i],
                         struct clock, .period = 100 + stress_random(&seed, 2000)) == 0);
    for (int i = 0; i < CHILDREN; i++)
        one_child(&seed);
    send_signals(&seed);
    for (int i = 0; i < ASKED; i++)
        ask(&seed);
    for (int i = 0; i < CLOCKS; i++) {
        volt_join_cancel(&clock[i]);
        CHECK(volt_join_wait(&clock[i]) == -ECANCELED);
        volt_join_fini(&clock[i]);
    }
    do {
        stats = stress_stats(&st);
    } while (stats.live > 0);
    CHECK(stats.timers == 0 && stats.io_handles == 0);
    stress_stop(&st);
    stress_free(&st);
    CHECK(open_descriptors() == before);
}

int main(int argc, char **argv)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    CHECK(sigprocmask(SIG_BLOCK, &set, NULL) == 0);
    stress_init(&st, argc, argv);
    while (stress_next(&st))
        one_round();
    return 0;
}
