/* A pipeline of tasks, with channels and a semaphore: numbers are dealt to four workers,
 * which square them, of which only two may compute at a time, and one task adds up.
 *
 *   source --[4 channels]--> 4 x worker --[channel]--> adder
 *
 * What it shows: a channel has many senders and one receiver, so each worker has its own,
 * and all share that of the adder; closing a channel ends its receiver when it has got
 * everything; a semaphore is a licence to do something; and nothing here allocates after
 * the tasks have been made, however often they wait. It ends by itself with a check of
 * the sum. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <volt/volt.h>

#define NUMBERS  1000
#define WORKERS  4
#define LICENCES 2
#define ROOM     8

/* What all tasks share. Static: there is nothing to initialise, and it outlives them. */
static struct volt_channel *numbers[WORKERS], *squares;
static struct volt_sem licences = VOLT_SEM_INIT(LICENCES, LICENCES);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects what follows */
static unsigned computing, most_computing, workers_left = WORKERS;

/* One type of state for all stages keeps the example short. Zeroed leaves may be
 * finished, so each stage finishes all. */
struct stage {
    int at, number; /* number: of a worker */
    struct volt_channel_send send;
    struct volt_channel_recv recv;
    struct volt_sem_acquire licence;
    struct volt_sleep sleep;
    bool licensed;
    uint64_t value, sum;
};

static enum volt_poll source_poll(struct volt_cx *cx, void *state)
{
    struct stage *s = state;

    VOLT_BEGIN(s->at);
    for (s->value = 1; s->value <= NUMBERS; s->value++) {
        volt_channel_send_init(&s->send, numbers[s->value % WORKERS], &s->value);
        VOLT_AWAIT(s->at, volt_channel_send_poll(cx, &s->send));
    }
    for (int i = 0; i < WORKERS; i++)
        volt_channel_close(numbers[i]);
    VOLT_END(s->at);
}

static void count_computing(int change)
{
    pthread_mutex_lock(&lock); /* never held across an await: a plain mutex will do */
    computing += (unsigned)change;
    if (computing > most_computing)
        most_computing = computing;
    pthread_mutex_unlock(&lock);
}

static enum volt_poll worker_poll(struct volt_cx *cx, void *state)
{
    struct stage *s = state;

    VOLT_BEGIN(s->at);
    volt_channel_recv_init(&s->recv, numbers[s->number], &s->value);
    for (;;) {
        VOLT_AWAIT(s->at, volt_channel_recv_poll(cx, &s->recv));
        if (volt_channel_recv_status(&s->recv) < 0)
            break;
        volt_sem_acquire_init(&s->licence, &licences, 1);
        VOLT_AWAIT(s->at, volt_sem_acquire_poll(cx, &s->licence));
        s->licensed = true;
        count_computing(+1);
        volt_sleep_init(&s->sleep, 100); /* as if it asked a device */
        VOLT_AWAIT(s->at, volt_sleep_poll(cx, &s->sleep));
        volt_sleep_fini(&s->sleep);
        s->value *= s->value;
        count_computing(-1);
        s->licensed = false;
        (void)volt_sem_release(&licences, 1);
        volt_channel_send_init(&s->send, squares, &s->value);
        VOLT_AWAIT(s->at, volt_channel_send_poll(cx, &s->send));
    }
    VOLT_END(s->at);
}

static enum volt_poll adder_poll(struct volt_cx *cx, void *state)
{
    struct stage *s = state;

    VOLT_BEGIN(s->at);
    volt_channel_recv_init(&s->recv, squares, &s->value);
    for (;;) {
        VOLT_AWAIT(s->at, volt_channel_recv_poll(cx, &s->recv));
        if (volt_channel_recv_status(&s->recv) < 0)
            break;
        s->sum += s->value; /* the task's output, read by main */
    }
    VOLT_END(s->at);
}

/* Leaves that may still wait are finished here, in whatever state they are, and a licence
 * that was got is given back: so a stage can be cancelled at any await. */
static void stage_drop(void *state)
{
    struct stage *s = state;

    volt_channel_send_fini(&s->send);
    volt_channel_recv_fini(&s->recv);
    volt_sem_acquire_fini(&s->licence);
    volt_sleep_fini(&s->sleep);
    if (s->licensed)
        (void)volt_sem_release(&licences, 1);
}

/* The last of them closes the adder's channel: everything has been sent. */
static void worker_drop(void *state)
{
    stage_drop(state);
    pthread_mutex_lock(&lock);
    bool last = --workers_left == 0;
    pthread_mutex_unlock(&lock);
    if (last)
        volt_channel_close(squares);
}

#define STAGE(kind, drop_it)                                                             \
    {                                                                                    \
        .name = #kind, .size = sizeof(struct stage), .poll = kind##_poll,                \
        .drop = drop_it,                                                                 \
    }

static const struct volt_task_type source = STAGE(source, stage_drop);
static const struct volt_task_type worker = STAGE(worker, worker_drop);
static const struct volt_task_type adder = STAGE(adder, stage_drop);

static void must(int r, const char *what)
{
    if (r == 0)
        return;
    (void)fprintf(stderr, "pipeline: %s: %s\n", what, strerror(-r));
    exit(EXIT_FAILURE);
}

static struct volt_channel *channel(void)
{
    struct volt_channel *ch = volt_channel_new(sizeof(uint64_t), ROOM);

    must(ch ? 0 : -ENOMEM, "channel");
    return ch;
}

int main(void)
{
    const uint64_t expected = (uint64_t)NUMBERS * (NUMBERS + 1) * (2 * NUMBERS + 1) / 6;
    struct volt_runtime *rt;
    struct volt_join sum;
    uint64_t got;

    must(volt_runtime_new(NULL, &rt), "runtime");
    squares = channel();
    for (int i = 0; i < WORKERS; i++)
        numbers[i] = channel();

    must(VOLT_SPAWN(rt, &adder, &sum, struct stage, 0), "adder");
    for (int i = 0; i < WORKERS; i++)
        must(VOLT_SPAWN(rt, &worker, NULL, struct stage, .number = i), "worker");
    must(VOLT_SPAWN(rt, &source, NULL, struct stage, 0), "source");

    (void)volt_join_wait(&sum);
    got = ((struct stage *)volt_join_state(&sum))->sum;
    volt_join_fini(&sum);
    volt_runtime_free(rt); /* every task has ended: now what they used may go */

    for (int i = 0; i < WORKERS; i++)
        volt_channel_free(numbers[i]);
    volt_channel_free(squares);
    (void)printf("sum of %d squares %llu, expected %llu, at most %u computing\n", NUMBERS,
                 (unsigned long long)got, (unsigned long long)expected, most_computing);
    return got == expected && most_computing <= LICENCES ? EXIT_SUCCESS : EXIT_FAILURE;
}
