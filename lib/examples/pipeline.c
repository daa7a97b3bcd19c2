/* A pipeline of tasks, with semaphores: numbers go in, four workers square them, of which
 * only two may compute at a time, and one task adds up.
 *
 *   source --[channel]--> 4 x worker --[channel]--> adder
 *
 * What it shows: a future of your own is a struct with a poll function, made of others
 * (channel_put_poll, channel_get_poll); a semaphore is room in a buffer as well as a
 * licence to do something; and nothing here allocates after the tasks have been made,
 * however often they wait. It ends by itself with a check of the sum. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <volt/volt.h>

#define NUMBERS  1000
#define WORKERS  4
#define LICENCES 2
#define END      UINT64_MAX /* no more numbers */

/* --- a bounded channel: two semaphores and a ring ----------------------------------- */

#define ROOM 8

struct channel {
    struct volt_sem room;   /* permits: free places */
    struct volt_sem filled; /* permits: values to be had */
    /* Protects the ring for a few instructions. A plain mutex is fine for that: it is
     * never held across an await. For longer there is struct volt_mutex. */
    pthread_mutex_t lock;
    uint64_t ring[ROOM];
    unsigned head, tail;
};

static void channel_init(struct channel *ch)
{
    memset(ch, 0, sizeof(*ch));
    volt_sem_init(&ch->room, ROOM, ROOM);
    volt_sem_init(&ch->filled, 0, ROOM);
    pthread_mutex_init(&ch->lock, NULL);
}

static void channel_fini(struct channel *ch)
{
    volt_sem_fini(&ch->room);
    volt_sem_fini(&ch->filled);
    pthread_mutex_destroy(&ch->lock);
}

/* Both futures wait for one permit, move one value, and give the other permit. */
static enum volt_poll channel_put_poll(struct volt_cx *cx, struct channel *ch,
                                       struct volt_sem_acquire *wait, uint64_t value)
{
    if (volt_sem_acquire_poll(cx, wait) == VOLT_PENDING)
        return VOLT_PENDING;
    pthread_mutex_lock(&ch->lock);
    ch->ring[ch->tail++ % ROOM] = value;
    pthread_mutex_unlock(&ch->lock);
    (void)volt_sem_release(&ch->filled, 1);
    return VOLT_READY;
}

static enum volt_poll channel_get_poll(struct volt_cx *cx, struct channel *ch,
                                       struct volt_sem_acquire *wait, uint64_t *ret_value)
{
    if (volt_sem_acquire_poll(cx, wait) == VOLT_PENDING)
        return VOLT_PENDING;
    pthread_mutex_lock(&ch->lock);
    *ret_value = ch->ring[ch->head++ % ROOM];
    pthread_mutex_unlock(&ch->lock);
    (void)volt_sem_release(&ch->room, 1);
    return VOLT_READY;
}

/* --- the stages --------------------------------------------------------------------- */

struct plant {
    struct channel numbers, squares;
    struct volt_sem licences;
    pthread_mutex_t lock; /* protects the two counts */
    unsigned computing, most_computing;
};

/* One type of state for all stages keeps the example short. */
struct stage {
    int at;
    struct plant *plant;
    struct volt_sem_acquire wait; /* one wait at a time: one future is enough */
    struct volt_sleep sleep;
    uint64_t value, sum;
    int ended;
};

static enum volt_poll source_poll(struct volt_cx *cx, void *state)
{
    struct stage *s = state;
    struct channel *out = &s->plant->numbers;

    VOLT_BEGIN(s->at);
    for (s->value = 1; s->value <= NUMBERS + WORKERS; s->value++) {
        volt_sem_acquire_init(&s->wait, &out->room, 1);
        VOLT_AWAIT(s->at, channel_put_poll(cx, out, &s->wait,
                                           s->value <= NUMBERS ? s->value : END));
    }
    VOLT_END(s->at);
}

static void count_computing(struct plant *p, int change)
{
    pthread_mutex_lock(&p->lock);
    p->computing += (unsigned)change;
    if (p->computing > p->most_computing)
        p->most_computing = p->computing;
    pthread_mutex_unlock(&p->lock);
}

static enum volt_poll worker_poll(struct volt_cx *cx, void *state)
{
    struct stage *s = state;
    struct plant *p = s->plant;

    VOLT_BEGIN(s->at);
    do {
        volt_sem_acquire_init(&s->wait, &p->numbers.filled, 1);
        VOLT_AWAIT(s->at, channel_get_poll(cx, &p->numbers, &s->wait, &s->value));
        if (s->value != END) {
            volt_sem_acquire_init(&s->wait, &p->licences, 1);
            VOLT_AWAIT(s->at, volt_sem_acquire_poll(cx, &s->wait));
            count_computing(p, +1);
            volt_sleep_init(&s->sleep, 100); /* as if it asked a device */
            VOLT_AWAIT(s->at, volt_sleep_poll(cx, &s->sleep));
            volt_sleep_fini(&s->sleep);
            s->value *= s->value;
            count_computing(p, -1);
            (void)volt_sem_release(&p->licences, 1);
        }
        volt_sem_acquire_init(&s->wait, &p->squares.room, 1);
        VOLT_AWAIT(s->at, channel_put_poll(cx, &p->squares, &s->wait, s->value));
    } while (s->value != END);
    VOLT_END(s->at);
}

static enum volt_poll adder_poll(struct volt_cx *cx, void *state)
{
    struct stage *s = state;
    struct channel *in = &s->plant->squares;

    VOLT_BEGIN(s->at);
    while (s->ended < WORKERS) {
        volt_sem_acquire_init(&s->wait, &in->filled, 1);
        VOLT_AWAIT(s->at, channel_get_poll(cx, in, &s->wait, &s->value));
        if (s->value == END)
            s->ended++;
        else
            s->sum += s->value; /* the task's output, read by main */
    }
    VOLT_END(s->at);
}

/* A future that may still wait is finished here, in whatever state it is: so the stage
 * can be cancelled at any await. (Were a licence held across an await by a stage that
 * somebody cancels, this would be the place to give it back.) */
static void stage_drop(void *state)
{
    struct stage *s = state;

    if (s->wait.sem)
        volt_sem_acquire_fini(&s->wait);
    volt_sleep_fini(&s->sleep);
}

#define STAGE(kind)                                                                      \
    {                                                                                    \
        .name = #kind, .size = sizeof(struct stage), .poll = kind##_poll,                \
        .drop = stage_drop,                                                              \
    }

static const struct volt_task_type source = STAGE(source);
static const struct volt_task_type worker = STAGE(worker);
static const struct volt_task_type adder = STAGE(adder);

static void start(struct volt_runtime *rt, const struct volt_task_type *type,
                  struct plant *plant, struct volt_join *ret_join)
{
    struct stage *s = volt_task_new(rt, type);

    if (!s) {
        (void)fprintf(stderr, "pipeline: out of memory\n");
        exit(EXIT_FAILURE);
    }
    s->plant = plant;
    (void)volt_task_spawn(s, ret_join);
}

int main(void)
{
    const uint64_t expected = (uint64_t)NUMBERS * (NUMBERS + 1) * (2 * NUMBERS + 1) / 6;
    struct volt_runtime *rt;
    struct volt_join sum;
    struct plant plant;
    uint64_t got;
    int r = volt_runtime_new(NULL, &rt);

    if (r < 0) {
        (void)fprintf(stderr, "pipeline: no runtime: %s\n", strerror(-r));
        return EXIT_FAILURE;
    }
    channel_init(&plant.numbers);
    channel_init(&plant.squares);
    volt_sem_init(&plant.licences, LICENCES, LICENCES);
    pthread_mutex_init(&plant.lock, NULL);
    plant.computing = plant.most_computing = 0;

    start(rt, &adder, &plant, &sum);
    for (int i = 0; i < WORKERS; i++)
        start(rt, &worker, &plant, NULL);
    start(rt, &source, &plant, NULL);

    (void)volt_join_wait(&sum);
    got = ((struct stage *)volt_join_state(&sum))->sum;
    volt_join_fini(&sum);
    volt_runtime_free(rt); /* every task has ended: now what they used may go */

    volt_sem_fini(&plant.licences);
    channel_fini(&plant.numbers);
    channel_fini(&plant.squares);
    pthread_mutex_destroy(&plant.lock);
    (void)printf("sum of %d squares %llu, expected %llu, at most %u computing\n", NUMBERS,
                 (unsigned long long)got, (unsigned long long)expected,
                 plant.most_computing);
    return got == expected && plant.most_computing <= LICENCES ? EXIT_SUCCESS
                                                               : EXIT_FAILURE;
}
