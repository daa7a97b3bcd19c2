/* The choices of an execution: a string that determines it.
 *
 * Depth first: the string is a path in the tree of choices; advancing takes the next
 * leaf. Random and PCT record what they picked, so that every failure can be replayed.
 *
 * Text form: one character per choice (0-9, a-v), a run of n equal ones as c*n. with the
 * final zeros left out, "-" when nothing is left. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "mcx_internal.h"

#define MAX_CHOICES 200000

static struct {
    uint8_t c, n;
} path[MAX_CHOICES];
static int length, position;
static enum mcx_mode mode;
static uint64_t rng;

uint64_t mcx_choice_random(void)
{
    rng ^= rng << 13;
    rng ^= rng >> 7;
    rng ^= rng << 17;
    return rng;
}

void mcx_choice_reset(const struct mcx_bounds *b)
{
    mode = b->mode;
    rng = b->seed ? b->seed : 88172645463325252u;
    if (mode != MODE_REPLAY)
        length = 0;
}

void mcx_choice_rewind(void)
{
    position = 0;
    if (mode == MODE_RANDOM || mode == MODE_PCT)
        length = 0;
}

void mcx_choice_carry(void)
{
    (void)mcx_carry(&position, sizeof(position));
}

bool mcx_choice_advance(void)
{
    while (length > 0 && path[length - 1].c + 1 >= path[length - 1].n)
        length--;
    if (length == 0)
        return false;
    path[length - 1].c++;
    return true;
}

static void record(int c, int n)
{
    if (position == MAX_CHOICES)
        mcx_fail("too many choices");
    path[position].c = (uint8_t)c;
    path[position].n = (uint8_t)n;
    length = ++position;
}

/* The choice c of n was made for us. */
int mcx_choice_force(int c, int n)
{
    if (n > 1)
        record(c, n);
    return c;
}

int mcx_choice_pick(int n)
{
    if (n <= 1)
        return 0;
    if (mode == MODE_RANDOM || mode == MODE_PCT) {
        record((int)(mcx_choice_random() % (unsigned)n), n);
        return path[position - 1].c;
    }
    if (position == length) {
        record(0, n);
        return 0;
    }
    if (mode == MODE_REPLAY) {
        path[position].n = (uint8_t)n;
        if (path[position].c >= n)
            mcx_fail("the choice string does not fit this scenario");
    } else if (path[position].n != n) {
        mcx_search_again();
    }
    return path[position++].c;
}

int mcx_choice_made(void)
{
    return position;
}

int mcx_choice_left(void)
{
    return length;
}

bool mcx_choice_ahead(void)
{
    return position < length;
}

bool mcx_random(void)
{
    if (mode != MODE_DFS)
        return mcx_choice_pick(2) != 0;
    if (position == length)
        record(0, 1); /* for replays; no choice here */
    else
        position++;
    return false;
}

static char digit(int c)
{
    return (char)(c < 10 ? '0' + c : 'a' + c - 10);
}

char *mcx_choice_text(char *out, size_t size)
{
    int end = position;
    size_t at = 0;

    while (end > 0 && path[end - 1].c == 0)
        end--;
    for (int i = 0, run; i < end && at + 16 < size; i += run) {
        for (run = 1; i + run < end && path[i + run].c == path[i].c; run++)
            ;
        if (run > 4) {
            at += (size_t)snprintf(out + at, size - at, "%c*%d.", digit(path[i].c), run);
            continue;
        }
        for (int k = 0; k < run; k++)
            out[at++] = digit(path[i].c);
    }
    if (at == 0)
        out[at++] = '-';
    out[at] = '\0';
    return out;
}

bool mcx_choice_load(const char *text)
{
    length = 0;
    if (strcmp(text, "-") == 0)
        return true;
    while (*text) {
        int c = *text >= 'a' && *text <= 'v' ? *text - 'a' + 10 : *text - '0';
        long run = 1;

        if (c < 0 || c > 31)
            return false;
        text++;
        if (*text == '*') {
            char *end;

            run = strtol(text + 1, &end, 10);
            if (*end != '.')
                return false;
            text = end + 1;
        }
        for (; run > 0; run--) {
            if (length == MAX_CHOICES)
                return false;
            path[length].c = (uint8_t)c;
            path[length++].n = 0;
        }
    }
    return true;
}
