/* The start protocol of a job, searched whole: every state that voltd's attempt, the
 * store, the keeper, the shims and the records can come to, with the death of each at
 * every edge (tests/support/attempt_world.h). What daemon/job/attempt.h promises holds in
 * all of them; and each of sixteen mistakes in the table breaks a promise, which the
 * search finds, with the shortest way to it.
 *
 *   test_attempt_search            all of it
 *   test_attempt_search NUMBER     the way to one mistake, move by move */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/attempt_names.h"
#include "tests/support/attempt_world.h"

#define NONE     UINT32_MAX
#define ROWS_MAX 256

/* What all searches together have come by. */
struct cover {
    const struct attempt_row *row[ROWS_MAX];
    unsigned rows;
    bool cell[ATTEMPT_PHASES][ATTEMPT_INPUTS];
};

struct search {
    struct world *state;
    uint32_t *from; /* the state before, */
    uint8_t *by;    /* and the move */
    uint32_t n, capacity;
    uint32_t *table; /* of states by their hash; NONE: empty */
    uint32_t mask;
    uint32_t (*edge)[2]; /* those without a fault */
    size_t nedges, edges_capacity, all_edges;
    struct cover *cover;
};

static void *more(void *p, size_t n, size_t size)
{
    void *grown = reallocarray(p, n, size);

    if (grown == NULL) {
        (void)fprintf(stderr, "out of memory\n");
        exit(1);
    }
    return grown;
}

static uint64_t hash(const struct world *w)
{
    const unsigned char *p = (const unsigned char *)w;
    uint64_t h = 14695981039346656037u, word;

    for (size_t i = 0; i < sizeof(*w); i += sizeof(word)) {
        word = 0;
        memcpy(&word, p + i,
               sizeof(*w) - i < sizeof(word) ? sizeof(*w) - i : sizeof(word));
        h = (h ^ word) * 0x9e3779b97f4a7c15u;
        h ^= h >> 29;
    }
    return h;
}

static uint32_t *place(struct search *s, const struct world *w)
{
    uint32_t at = (uint32_t)hash(w) & s->mask;

    while (s->table[at] != NONE && memcmp(&s->state[s->table[at]], w, sizeof(*w)) != 0)
        at = (at + 1) & s->mask;
    return &s->table[at];
}

static void grow(struct search *s)
{
    s->capacity = s->capacity ? 2 * s->capacity : 1 << 16;
    s->mask = 4 * s->capacity - 1;
    s->state = more(s->state, s->capacity, sizeof(*s->state));
    s->from = more(s->from, s->capacity, sizeof(*s->from));
    s->by = more(s->by, s->capacity, sizeof(*s->by));
    s->table = more(s->table, (size_t)s->mask + 1, sizeof(*s->table));
    memset(s->table, 0xff, ((size_t)s->mask + 1) * sizeof(*s->table));
    for (uint32_t i = 0; i < s->n; i++)
        *place(s, &s->state[i]) = i;
}

/* The number of this state. */
static uint32_t enter(struct search *s, const struct world *w, uint32_t from, unsigned by)
{
    if (s->n == s->capacity)
        grow(s);
    uint32_t *at = place(s, w);
    if (*at != NONE)
        return *at;
    *at = s->n;
    s->state[s->n] = *w;
    s->from[s->n] = from;
    s->by[s->n] = (uint8_t)by;
    return s->n++;
}

static void note_edge(struct search *s, uint32_t from, uint32_t to, unsigned move)
{
    s->all_edges++;
    if (world_move_is_fault(move))
        return;
    if (s->nedges == s->edges_capacity) {
        s->edges_capacity = s->edges_capacity ? 2 * s->edges_capacity : 1 << 18;
        s->edge = more(s->edge, s->edges_capacity, sizeof(*s->edge));
    }
    s->edge[s->nedges][0] = from;
    s->edge[s->nedges++][1] = to;
}

static bool is_covered(const struct cover *c, const struct attempt_row *row)
{
    for (unsigned i = 0; i < c->rows; i++)
        if (c->row[i] == row)
            return true;
    return false;
}

static void note_row(struct cover *c, const struct world_rules *rules)
{
    if (rules->row == NULL)
        return;
    c->cell[rules->phase][rules->in] = true;
    if (!is_covered(c, rules->row) && c->rows < ROWS_MAX)
        c->row[c->rows++] = rules->row;
}

static void show_way(const struct search *s, uint32_t at)
{
    if (s->from[at] != NONE)
        show_way(s, s->from[at]);
    (void)printf("      %s (%s)\n",
                 s->from[at] == NONE ? "a job in the queue" : world_move_name(s->by[at]),
                 phase_name(s->state[at].a.phase));
}

static unsigned length(const struct search *s, uint32_t at)
{
    unsigned n = 0;

    for (; s->from[at] != NONE; at = s->from[at])
        n++;
    return n;
}

/* Which states lead to the end without a fault: marks them, backwards from there. Returns
 * one that does not; NONE: all do. */
static uint32_t find_trap(const struct search *s)
{
    uint32_t *first = calloc((size_t)s->n + 1, sizeof(*first));
    uint32_t *before = more(NULL, s->nedges + 1, sizeof(*before));
    uint32_t *todo = more(NULL, s->n, sizeof(*todo));
    uint8_t *ends = calloc(s->n, 1);
    uint32_t ntodo = 0, trap = NONE;

    for (size_t i = 0; i < s->nedges; i++)
        first[s->edge[i][1]]++;
    for (uint32_t i = 0, sum = 0; i <= s->n; i++) {
        sum += first[i];
        first[i] = sum;
    }
    for (size_t i = 0; i < s->nedges; i++)
        before[--first[s->edge[i][1]]] = s->edge[i][0];
    for (uint32_t i = 0; i < s->n; i++)
        if (world_is_over(&s->state[i]))
            ends[todo[ntodo++] = i] = 1;
    while (ntodo > 0) {
        uint32_t at = todo[--ntodo];
        for (uint32_t k = first[at]; k < first[at + 1]; k++)
            if (!ends[before[k]])
                ends[todo[ntodo++] = before[k]] = 1;
    }
    for (uint32_t i = 0; i < s->n && trap == NONE; i++)
        if (!ends[i])
            trap = i;
    free(first);
    free(before);
    free(todo);
    free(ends);
    return trap;
}

/* All that can be reached. Returns the promise that is broken, with the state in *ret_at;
 * NULL: none. */
static const char *explore(struct search *s, struct world_rules *rules, uint32_t *ret_at)
{
    struct world w;

    world_init(&w, rules);
    (void)enter(s, &w, NONE, 0);
    for (uint32_t i = 0; i < s->n; i++)
        for (unsigned m = 0; world_move_name(m) != NULL; m++) {
            w = s->state[i];
            if (!world_move(&w, m, rules) && rules->broken == NULL)
                continue;
            note_row(s->cover, rules);
            uint32_t to = enter(s, &w, i, m);
            note_edge(s, i, to, m);
            if (rules->broken != NULL) {
                *ret_at = to;
                return rules->broken;
            }
        }
    *ret_at = find_trap(s);
    return *ret_at == NONE ? NULL : "T-9: no way leads to the end";
}

static void finish(struct search *s)
{
    free(s->state);
    free(s->from);
    free(s->by);
    free(s->table);
    free(s->edge);
    memset(s, 0, sizeof(*s));
}

/* --- the worlds ------------------------------------------------------------------- */

static const struct {
    const char *name;
    uint8_t parts;
    bool retry;
    uint8_t stop_kills;
} worlds[] = {
    {"one attempt", WORLD_STOPS | WORLD_REFUSALS, false, 0},
    {"one attempt, and somebody at its records", WORLD_SPOILS, false, 0},
    {"two attempts", 0, true, 1},
    {"one that is paused, and somebody at its records", WORLD_PAUSES | WORLD_SPOILS,
     false, 0},
};
/* A sanitizer takes ten times as long: it gets the first of them, and no mistakes. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define WORLDS 1u
#else
#define WORLDS (sizeof(worlds) / sizeof(worlds[0]))
#endif

static struct world_rules rules_of(unsigned world)
{
    return (struct world_rules){.parts = worlds[world].parts,
                                .retry = worlds[world].retry,
                                .stop_kills = worlds[world].stop_kills};
}

/* --- mistakes --------------------------------------------------------------------- */

static const struct {
    const char *name;
    unsigned world;
    enum attempt_phase phase; /* the row that it stands for: the first */
    uint16_t when;            /* with this condition and row.on */
    struct attempt_row row;
} bugs[] = {
    {"START goes out although the store has refused STARTING",
     0,
     ATTEMPT_NEW,
     0,
     {ON_UNMARKED, .next = ATTEMPT_WAITING}},
    {"the record of a START that was not answered is removed at once",
     0,
     ATTEMPT_STARTING,
     0,
     {ON_RESET, ATTEMPT_REMOVING, .todo = DO_REMOVE}},
    {"an adopted attempt waits for a slot before its record is looked at",
     0,
     ATTEMPT_NEW,
     0,
     {ON_ADOPTED, .next = ATTEMPT_WAITING}},
    {"the record of a START that was withdrawn stays",
     0,
     ATTEMPT_STARTING,
     0,
     {ON_WITHDRAWN, ATTEMPT_ENDING, .todo = DO_POST_EXITED, .end = ATTEMPT_CANCELLED}},
    {"a START that was not answered is forgotten",
     0,
     ATTEMPT_STARTING,
     0,
     {ON_RESET, ATTEMPT_RESTING, .todo = DO_LIMIT}},
    {"what may have run before a reboot is started again",
     0,
     ATTEMPT_TAKEN,
     0,
     {ON_ABSENT, ATTEMPT_WAITING, .todo = DO_VOID}},
    {"what a killed shim has left is not ended",
     2,
     ATTEMPT_RUNNING,
     0,
     {ON_SHIM_KILLED, ATTEMPT_ENDING, .todo = DO_POST_EXITED, .end = ATTEMPT_MISSING}},
    {"the record goes although its end was not stored",
     0,
     ATTEMPT_ENDING,
     0,
     {ON_STORE_REFUSED, ATTEMPT_ENDED, .todo = DO_REMOVE_LATER}},
    {"what SIGKILL does not end is not killed again",
     0,
     ATTEMPT_KILLED,
     0,
     {ON_LIMIT, .next = ATTEMPT_KILLED}},
    {"a second START has no output",
     0,
     ATTEMPT_WAITING,
     0,
     {ON_SLOT, ATTEMPT_STARTING, .todo = DO_START}},
    {"the start is told twice",
     0,
     ATTEMPT_TAKEN,
     0,
     {ON_STARTED, ATTEMPT_TAKEN, .todo = DO_POST_STARTED | DO_POST_TIMEOUT}},
    {"SIGSTOP goes out before PAUSE is in the store",
     3,
     ATTEMPT_RUNNING,
     0,
     {ON_TURNED, ATTEMPT_PAUSING, .todo = DO_SIGNAL}},
    {"what an earlier voltd has paused is taken for one that runs",
     3,
     ATTEMPT_TAKEN,
     IF_PAUSED,
     {ON_STARTED, ATTEMPT_RUNNING, .todo = DO_POST_STARTED}},
    {"what an earlier voltd has stopped is not continued",
     3,
     ATTEMPT_TAKEN,
     IF_HALTED,
     {ON_STARTED, ATTEMPT_RUNNING, .todo = DO_POST_STARTED}},
    {"a SIGCONT that was not answered is forgotten",
     3,
     ATTEMPT_RESUMING,
     0,
     {ON_RESET, ATTEMPT_RUNNING, .todo = DO_TIME}},
    {"the record of what has ended stays",
     0,
     ATTEMPT_ENDING,
     IF_RECORD,
     {ON_DURABLE, .next = ATTEMPT_ENDED}},
};
#define BUGS (sizeof(bugs) / sizeof(bugs[0]))

static const struct attempt_row *row_of(unsigned bug)
{
    for (const struct attempt_rows *r = attempt_table[bugs[bug].phase]; r; r = r->like)
        for (unsigned i = 0; i < r->n; i++)
            if (r->row[i].on == bugs[bug].row.on && r->row[i].when == bugs[bug].when)
                return &r->row[i];
    return NULL;
}

/* Whether the search finds it. */
static bool find_bug(unsigned bug, bool shows)
{
    struct world_rules rules = rules_of(bugs[bug].world);
    struct cover cover = {0};
    struct search s = {.cover = &cover};
    uint32_t at = NONE;

    rules.at = row_of(bug);
    rules.instead = &bugs[bug].row;
    const char *broken = rules.at ? explore(&s, &rules, &at) : NULL;
    if (broken == NULL)
        (void)printf("  mistake %u: %s: NOT FOUND\n", bug + 1, bugs[bug].name);
    else
        (void)printf("  mistake %u: %s: found in %u states, after %u moves: %s\n",
                     bug + 1, bugs[bug].name, s.n, length(&s, at), broken);
    if (broken != NULL && shows)
        show_way(&s, at);
    finish(&s);
    return broken != NULL;
}

/* --- what was covered ------------------------------------------------------------- */

/* A phase has it from those that it is like, and it does not come there: with a slot 1,
 * ON_STARTED comes first. */
static bool is_no_cell(unsigned phase, unsigned in)
{
    return in == ON_SHIM_KILLED && phase == ATTEMPT_TAKEN;
}

struct counts {
    unsigned rows, cells, dark_rows, dark_cells;
};

static void count_rows(const struct cover *c, struct cover *seen, unsigned phase,
                       struct counts *n)
{
    for (const struct attempt_rows *r = attempt_table[phase]; r; r = r->like)
        for (unsigned i = 0; i < r->n; i++) {
            if (is_covered(seen, &r->row[i]))
                continue;
            seen->row[seen->rows++] = &r->row[i];
            n->rows++;
            if (is_covered(c, &r->row[i]))
                continue;
            n->dark_rows++;
            (void)printf("  row not covered: %s, %s, when %#x\n", phase_name(phase),
                         input_name(r->row[i].on), r->row[i].when);
        }
}

static void count_cells(const struct cover *c, unsigned phase, struct counts *n)
{
    const struct attempt_state s = {.phase = (uint8_t)phase};
    const uint32_t awaited = attempt_awaited_inputs(&s);

    for (unsigned in = 0; in < ATTEMPT_INPUTS; in++) {
        if (!attempt_awaits(awaited, (enum attempt_input)in) || is_no_cell(phase, in))
            continue;
        n->cells++;
        if (c->cell[phase][in])
            continue;
        n->dark_cells++;
        (void)printf("  cell not covered: %s, %s\n", phase_name(phase), input_name(in));
    }
}

static struct counts show_uncovered(const struct cover *c)
{
    struct cover seen = {0};
    struct counts n = {0};

    for (unsigned phase = 0; phase < ATTEMPT_PHASES; phase++) {
        count_rows(c, &seen, phase, &n);
        count_cells(c, phase, &n);
    }
    return n;
}

int main(int argc, char **argv)
{
    struct cover cover = {0};
    size_t states = 0, edges = 0;
    const size_t tried = WORLDS > 1 ? BUGS : 0;
    unsigned found = 0;
    bool sound = true;

    if (argc > 1) {
        unsigned bug = (unsigned)strtoul(argv[1], NULL, 10);
        return bug >= 1 && bug <= BUGS && find_bug(bug - 1, true) ? 0 : 1;
    }
    for (unsigned i = 0; i < WORLDS; i++) {
        struct world_rules rules = rules_of(i);
        struct search s = {.cover = &cover};
        uint32_t at = NONE;
        const char *broken = explore(&s, &rules, &at);

        if (broken != NULL) {
            (void)printf("  %s: %s, after\n", worlds[i].name, broken);
            show_way(&s, at);
        }
        (void)printf("  %s: %u states, %zu edges\n", worlds[i].name, s.n, s.all_edges);
        sound &= broken == NULL;
        states += s.n;
        edges += s.all_edges;
        finish(&s);
    }
    struct counts n = show_uncovered(&cover);
    for (unsigned i = 0; sound && i < tried; i++)
        found += find_bug(i, false);
    (void)printf("attempt: states=%zu edges=%zu\n", states, edges);
    (void)printf("attempt: rows=%u of %u cells=%u of %u\n", n.rows - n.dark_rows, n.rows,
                 n.cells - n.dark_cells, n.cells);
    (void)printf("attempt: mistakes found=%u of %zu\n", found, tried);
    bool covered = n.dark_rows + n.dark_cells == 0 || WORLDS == 1;
    return sound && covered && found == tried ? 0 : 1;
}
