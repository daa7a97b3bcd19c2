/* What the histories of all processes have come by, counted in memory that they share:
 * events by state, rows of the attempt's table, faults, ends. */
#include "tests/sim/sim.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "daemon/core/post.h"
#include "daemon/job/attempt.h"
#include "daemon/job/event.h"
#include "tests/support/attempt_names.h"

#define ROWS_MAX       400
#define HISTORIES_SOME 5000       /* in which most rows come, ... */
#define HISTORIES_ALL  300000     /* ... and all that can */
#define ANY            UINT16_MAX /* whatever the condition of the row */
#define BIT(phase)     (UINT64_C(1) << ATTEMPT_##phase)

/* Phases in which the start of the attempt is known. */
#define BEGUN (UINT64_MAX & ~BIT(TAKEN))

/* Rows that no history comes to, and why not. The search of all states
 * (tests/unit/job/test_attempt_search.c) goes through most of them. */
static const struct {
    uint64_t phases;
    uint8_t on;
    uint16_t when;
    const char *why;
} excused[] = {
    {BEGUN, ON_NEVER_RAN, ANY, "a record that says when its job began goes on saying it"},
    {BIT(TAKEN), ON_NEVER_RAN, IF_STRANGE,
     "likewise; after a reboot it is of another boot"},
    {BIT(TAKEN), ON_SHIM_KILLED, ANY, "the start of the job is told first"},
    {BIT(STARTING), ON_EXISTS, ANY, "nobody else makes records here"},
    {BIT(NEW), ON_UNMARKED, ANY,
     "the store has what is no submission wait until it can be written"},
    {BIT(ENDING), ON_STORE_REFUSED, ANY, "likewise, and memory comes back within 10 s"},
};
#define ENOUGH 100

static struct cover {
    uint64_t posts, histories, circles[2], faults[FAULTS], ends[JOB_RESULT_COUNT];
    uint64_t cells[JOB_EV_COUNT][JOB_STATE_COUNT];
    uint64_t rows[ROWS_MAX];
} * cover;

/* All rows, phase by phase, as the table is looked through, but for those that never come:
 * another one stands before them that fits wherever they do. */
static struct {
    uint8_t phase;
    const struct attempt_row *row;
} rows[ROWS_MAX];
static unsigned first[ATTEMPT_PHASES + 1];

static const char *why_never(unsigned row)
{
    const struct attempt_row *r = rows[row].row;

    for (size_t i = 0; i < sizeof(excused) / sizeof(excused[0]); i++)
        if (excused[i].phases >> rows[row].phase & 1 && excused[i].on == r->on &&
            (excused[i].when == ANY || excused[i].when == r->when))
            return excused[i].why;
    return NULL;
}

void cover_a_row(uint8_t *ret_phase, uint8_t *ret_on)
{
    unsigned i;

    do
        i = sim_below(first[ATTEMPT_PHASES]);
    while (why_never(i));
    *ret_phase = rows[i].phase;
    *ret_on = rows[i].row->on;
}

static bool comes_before(const struct attempt_row *a, const struct attempt_row *b)
{
    return a->on == b->on && (a->when & ~b->when) == 0;
}

static void add_row(unsigned *n, unsigned phase, const struct attempt_row *row)
{
    for (unsigned i = first[phase]; i < *n; i++)
        if (comes_before(rows[i].row, row))
            return;
    if (*n == ROWS_MAX)
        return;
    rows[*n].phase = (uint8_t)phase;
    rows[(*n)++].row = row;
}

void cover_init(void)
{
    unsigned n = 0;

    cover = mmap(NULL, sizeof(*cover), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                 -1, 0);
    for (unsigned p = 0; p < ATTEMPT_PHASES; p++) {
        first[p] = n;
        for (const struct attempt_rows *r = attempt_table[p]; r; r = r->like)
            for (unsigned i = 0; i < r->n; i++)
                add_row(&n, p, &r->row[i]);
    }
    first[ATTEMPT_PHASES] = n;
}

static void add(uint64_t *n)
{
    (void)__atomic_fetch_add(n, 1, __ATOMIC_RELAXED);
}

void cover_note_history(void)
{
    add(&cover->histories);
}

uint64_t cover_posts(void)
{
    return cover->posts;
}

uint64_t cover_histories(void)
{
    return cover->histories;
}

void cover_note_fault(enum sim_fault f)
{
    add(&cover->faults[f]);
}

void cover_note_circle(bool is_refused)
{
    add(&cover->circles[is_refused]);
}

void cover_note_end(unsigned state, unsigned result)
{
    (void)state;
    add(&cover->ends[result]);
}

/* --- what voltd calls ---------------------------------------------------------------------- */

int __real_core_post(struct tx *tx, struct job *job, int64_t item,
                     const struct job_event *ev);
int __wrap_core_post(struct tx *tx, struct job *job, int64_t item,
                     const struct job_event *ev);
int __wrap_core_post(struct tx *tx, struct job *job, int64_t item,
                     const struct job_event *ev)
{
    add(&cover->posts);
    const int r = __real_core_post(tx, job, item, ev);

    if (r == -EPROTO && ev->type == JOB_EV_STARTED)
        sim_violation("the start of a job is posted again");
    return r;
}

int __real_job_update(struct job_status *st, const struct job_event *ev);
int __wrap_job_update(struct job_status *st, const struct job_event *ev);
int __wrap_job_update(struct job_status *st, const struct job_event *ev)
{
    unsigned state = st->state;
    int r = __real_job_update(st, ev);

    if (r == 0)
        add(&cover->cells[ev->type][state]);
    return r;
}

bool __real_attempt_step(struct attempt_state *s, enum attempt_input in,
                         uint32_t *ret_todo);
bool __wrap_attempt_step(struct attempt_state *s, enum attempt_input in,
                         uint32_t *ret_todo);
bool __wrap_attempt_step(struct attempt_state *s, enum attempt_input in,
                         uint32_t *ret_todo)
{
    struct attempt_state copy = *s;
    const struct attempt_row *row = attempt_find(&copy, in);

    for (unsigned i = first[s->phase]; row && i < first[s->phase + 1]; i++)
        if (rows[i].row == row) {
            add(&cover->rows[i]);
            break;
        }
    bool heard = __real_attempt_step(s, in, ret_todo);

    aim_note(s);
    return heard;
}

/* --- said ------------------------------------------------------------------------------------- */

struct sum {
    unsigned all, hit, enough;
};

static void sum_up(struct sum *s, uint64_t n)
{
    s->all++;
    s->hit += n > 0;
    s->enough += n >= ENOUGH;
}

static void say(const char *what, const struct sum *s)
{
    printf("sim: %s: %u, %u seen, %u of them %u times or more\n", what, s->all, s->hit,
           s->enough, ENOUGH);
}

static void print_cells(bool all)
{
    struct sum s = {0};

    for (unsigned e = 0; e < JOB_EV_COUNT; e++)
        for (unsigned st = 0; st < JOB_STATE_COUNT; st++) {
            if (job_event_rows[e].next[st] == JOB_EVENT_NO)
                continue;
            sum_up(&s, cover->cells[e][st]);
            if (all || !cover->cells[e][st])
                printf("sim:   %s in state %s: %llu\n",
                       job_event_name((enum job_event_type)e),
                       job_state_name((enum job_state)st),
                       (unsigned long long)cover->cells[e][st]);
        }
    say("events by state", &s);
}

static void print_row(unsigned i)
{
    const char *why = why_never(i);

    printf("sim:   attempt %s: %s, if %#x: %llu%s%s\n", phase_name(rows[i].phase),
           input_name(rows[i].row->on), rows[i].row->when,
           (unsigned long long)cover->rows[i], why ? ": " : "", why ? why : "");
}

static void print_rows(bool all)
{
    struct sum s = {0};
    unsigned never = 0;

    for (unsigned i = 0; i < first[ATTEMPT_PHASES]; i++) {
        if (why_never(i))
            never++;
        else
            sum_up(&s, cover->rows[i]);
        if (all)
            print_row(i);
    }
    say("rows of the attempt's table", &s);
    printf("sim:   and %u that have their reason\n", never);
}

/* Some calls and edits were refused as circles, and some were not: else nothing was
 * compared with the model of these (circles.c). */
static bool has_circles(void)
{
    if (cover->histories < HISTORIES_SOME ||
        (cover->circles[false] && cover->circles[true]))
        return true;
    printf("sim: no wait or edit %s\n", cover->circles[true] ? "goes on" : "is refused");
    return false;
}

static bool has_rows(void)
{
    unsigned n = 0, all = 0;

    for (unsigned i = 0; i < first[ATTEMPT_PHASES]; i++) {
        all += !why_never(i);
        n += !why_never(i) && !cover->rows[i];
    }
    if (cover->histories < HISTORIES_SOME ||
        (cover->histories < HISTORIES_ALL ? n <= all / 8 : n == 0))
        return true;
    printf("sim: of %u rows of the attempt's table that can come %u have not:\n", all, n);
    for (unsigned i = 0; i < first[ATTEMPT_PHASES]; i++)
        if (!why_never(i) && !cover->rows[i])
            print_row(i);
    return false;
}

static void print_faults(bool all)
{
    struct sum s = {0};

    for (unsigned i = 0; i < FAULTS; i++) {
        sum_up(&s, cover->faults[i]);
        if (all || !cover->faults[i])
            printf("sim:   %s: %llu\n", sim_fault_names[i],
                   (unsigned long long)cover->faults[i]);
    }
    say("kinds of faults", &s);
}

static void print_ends(bool all)
{
    struct sum s = {0};

    for (unsigned i = 1; i < JOB_RESULT_COUNT; i++) {
        sum_up(&s, cover->ends[i]);
        if (all || !cover->ends[i])
            printf("sim:   ended with %s: %llu\n", job_result_name((enum job_result)i),
                   (unsigned long long)cover->ends[i]);
    }
    say("results of jobs", &s);
}

bool cover_check(void)
{
    const bool came = has_rows();

    return has_circles() && came;
}

void cover_print(bool all)
{
    print_cells(all);
    print_rows(all);
    print_faults(all);
    print_ends(all);
    printf("sim: waits inside and edits: %llu go on, %llu are refused\n",
           (unsigned long long)cover->circles[false],
           (unsigned long long)cover->circles[true]);
}
