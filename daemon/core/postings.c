/* See postings.h. An entry has, from the highest bit down: the tag; whether it is a set;
 * the id, or the number of the set. So the entries of a tag are adjacent and in order of
 * ids. */
#include "daemon/core/postings.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define IS_SET     (UINT64_C(1) << POSTINGS_ID_BITS)
#define ID_MASK    (IS_SET - 1)
#define TAG_SHIFT  (POSTINGS_ID_BITS + 1)
#define PAGES_MAX  (UINT32_C(1) << POSTINGS_TAG_BITS)
#define ROOM_STEP  128 /* most pages grow once before they are split */
#define SETS_STEP  16
#define LINE       (64 / sizeof(uint64_t)) /* entries in a cache line */
#define RARE_AGAIN (POSTINGS_RARE / 4)     /* a set this small becomes entries */

static uint64_t entry_of(uint32_t tag, uint64_t low)
{
    return (uint64_t)tag << TAG_SHIFT | low;
}

static uint32_t tag_of(uint64_t entry)
{
    return (uint32_t)(entry >> TAG_SHIFT);
}

/* --- one page ----------------------------------------------------------------------- */

/* Returns the place of the first entry, from `from` on, that is not below this one. */
static uint32_t place(const struct postings_page *page, uint32_t from, uint64_t entry)
{
    uint32_t to = page->n;

    while (to > from) {
        uint32_t mid = from + (to - from) / 2;

        if (page->entries[mid] < entry)
            from = mid + 1;
        else
            to = mid;
    }
    return from;
}

static bool has_tag(const struct postings_page *page, uint32_t at, uint32_t tag)
{
    return at < page->n && tag_of(page->entries[at]) == tag;
}

static bool set_room(struct postings_page *page, uint32_t room)
{
    uint64_t *moved = realloc(page->entries, room * sizeof(*moved));

    if (!moved)
        return false;
    page->entries = moved;
    page->room = room;
    return true;
}

static int page_put(struct postings_page *page, uint32_t at, uint64_t entry)
{
    if (page->n == page->room && !set_room(page, page->room + ROOM_STEP))
        return -ENOMEM;
    uint64_t *to = page->entries + at;
    memmove(to + 1, to, (page->n - at) * sizeof(*to));
    *to = entry;
    page->n++;
    return 0;
}

/* Removes n entries. */
static void page_take(struct postings_page *page, uint32_t at, uint32_t n)
{
    uint64_t *from = page->entries + at;

    page->n -= n;
    memmove(from, from + n, (page->n - at) * sizeof(*from));
    if (page->room - page->n > 2 * ROOM_STEP)
        (void)set_room(page, page->n + ROOM_STEP);
}

/* --- the pages ---------------------------------------------------------------------- */

/* Returns the smallest 2^k - 1 that is not below n. */
static uint32_t mask_over(uint32_t n)
{
    return n ? UINT32_MAX >> __builtin_clz(n) : 0;
}

/* Returns the page of a tag; there must be a page. */
static struct postings_page *page_of(const struct postings *p, uint32_t tag)
{
    const uint32_t mask = mask_over(p->npages - 1);
    uint32_t at = tag & mask;

    return &p->pages[at < p->npages ? at : at & mask >> 1];
}

/* Returns the page that page n was split from, and will be joined with. */
static uint32_t origin_of(uint32_t n)
{
    return n & mask_over(n) >> 1;
}

static bool make_page(struct postings *p)
{
    if (p->npages == p->pages_room) {
        uint32_t room = p->pages_room ? 2 * p->pages_room : 1;
        struct postings_page *moved = realloc(p->pages, room * sizeof(*moved));

        if (!moved)
            return false;
        p->pages = moved;
        p->pages_room = room;
    }
    p->pages[p->npages] = (struct postings_page){.n = 0};
    return true;
}

/* Splits a page. Without memory pages get longer instead. */
static void divide(struct postings *p)
{
    const uint32_t number = p->npages, mask = mask_over(number);

    if (!make_page(p))
        return;
    struct postings_page *from = &p->pages[origin_of(number)], *to = &p->pages[number];
    uint32_t moved = 0, kept = 0;
    for (uint32_t i = 0; i < from->n; i++)
        moved += (tag_of(from->entries[i]) & mask) == number;
    if (moved && !set_room(to, (moved / ROOM_STEP + 1) * ROOM_STEP))
        return;
    p->npages++;
    if (!moved)
        return;
    for (uint32_t i = 0; i < from->n; i++) {
        uint64_t entry = from->entries[i];

        if ((tag_of(entry) & mask) == number)
            to->entries[to->n++] = entry;
        else
            from->entries[kept++] = entry;
    }
    page_take(from, kept, moved);
}

/* Joins the last page with its origin. Without memory it stays. */
static void join(struct postings *p)
{
    const uint32_t number = p->npages - 1;
    struct postings_page *from = &p->pages[number], *to = &p->pages[origin_of(number)];
    uint32_t n = to->n + from->n, i = to->n, k = from->n;

    if (n > to->room && !set_room(to, n))
        return;
    to->n = n;
    while (k) {
        bool first = i && to->entries[i - 1] > from->entries[k - 1];

        to->entries[--n] = first ? to->entries[--i] : from->entries[--k];
    }
    free(from->entries);
    p->npages--;
}

/* --- sets --------------------------------------------------------------------------- */

static struct idset *set_of(const struct postings *p, uint64_t entry)
{
    return &p->sets[entry & ID_MASK];
}

/* Returns the number of an empty set, or -ENOMEM. */
static int64_t take_set(struct postings *p)
{
    if (p->free_set) {
        uint32_t number = p->free_set - 1;

        p->free_set = (uint32_t)p->sets[number].count;
        p->sets[number].count = 0;
        return number;
    }
    if (p->nsets == p->sets_room) {
        uint32_t room = p->sets_room + p->sets_room / 2 + SETS_STEP;
        struct idset *moved = realloc(p->sets, room * sizeof(*moved));

        if (!moved)
            return -ENOMEM;
        p->sets = moved;
        p->sets_room = room;
    }
    p->sets[p->nsets] = (struct idset){.n = 0};
    return p->nsets++;
}

static void give_set_back(struct postings *p, uint32_t number)
{
    idset_fini(&p->sets[number]);
    p->sets[number].count = p->free_set;
    p->free_set = number + 1;
}

/* Converts the entries of a tag, the first of which is at `at`, to a set. False: no
 * memory. */
static bool gather(struct postings *p, struct postings_page *page, uint32_t at)
{
    const uint32_t tag = tag_of(page->entries[at]);
    int64_t number = take_set(p);
    uint32_t n = 0;

    if (number < 0)
        return false;
    for (; has_tag(page, at + n, tag); n++)
        if (idset_add(&p->sets[number], page->entries[at + n] & ID_MASK) < 0) {
            give_set_back(p, (uint32_t)number);
            return false;
        }
    page->entries[at] = entry_of(tag, IS_SET | (uint64_t)number);
    page_take(page, at + 1, n - 1);
    p->count -= n - 1;
    return true;
}

/* Converts the set at `at` to entries. Without memory it stays a set. */
static void scatter(struct postings *p, struct postings_page *page, uint32_t at)
{
    const uint64_t entry = page->entries[at];
    struct idset *set = set_of(p, entry);
    const uint32_t n = (uint32_t)set->count, all = page->n - 1 + n;
    uint64_t id = 0;

    if (all > page->room && !set_room(page, all))
        return;
    uint64_t *to = page->entries + at;
    memmove(to + n, to + 1, (page->n - at - 1) * sizeof(*to));
    while ((id = idset_next(set, id)))
        *to++ = entry_of(tag_of(entry), id);
    page->n = all;
    p->count += n;
    p->count--;
    give_set_back(p, (uint32_t)(entry & ID_MASK));
}

/* --- the public functions ----------------------------------------------------------- */

static bool is_set(const struct postings_page *page, uint32_t at, uint32_t tag)
{
    return has_tag(page, at, tag) && page->entries[at] & IS_SET;
}

int postings_add(struct postings *p, uint32_t tag, uint64_t id)
{
    const uint64_t entry = entry_of(tag, id);

    if (id > ID_MASK)
        return -ERANGE;
    if (!p->npages) {
        if (!make_page(p))
            return -ENOMEM;
        p->npages = 1;
    }
    struct postings_page *page = page_of(p, tag);
    uint32_t at = place(page, 0, entry_of(tag, 0));
    if (is_set(page, at, tag) ||
        (has_tag(page, at + POSTINGS_RARE - 1, tag) && gather(p, page, at)))
        return idset_add(set_of(p, page->entries[at]), id);
    at = place(page, at, entry);
    if (at < page->n && page->entries[at] == entry)
        return 0;
    if (page_put(page, at, entry) < 0)
        return -ENOMEM;
    if (++p->count > (uint64_t)p->npages * POSTINGS_PAGE && p->npages < PAGES_MAX)
        divide(p);
    return 0;
}

void postings_prefetch(const struct postings *p, uint32_t tag)
{
    if (!p->npages)
        return;
    const struct postings_page *page = page_of(p, tag);
    for (uint32_t i = 0; i < page->n; i += LINE)
        __builtin_prefetch(page->entries + i);
}

void postings_remove(struct postings *p, uint32_t tag, uint64_t id)
{
    const uint64_t entry = entry_of(tag, id);

    if (!p->npages || id > ID_MASK)
        return;
    struct postings_page *page = page_of(p, tag);
    uint32_t at = place(page, 0, entry_of(tag, 0));
    if (is_set(page, at, tag)) {
        idset_remove(set_of(p, page->entries[at]), id);
        if (set_of(p, page->entries[at])->count <= RARE_AGAIN)
            scatter(p, page, at);
        return;
    }
    at = place(page, at, entry);
    if (at == page->n || page->entries[at] != entry)
        return;
    page_take(page, at, 1);
    if (--p->count < (uint64_t)p->npages * (POSTINGS_PAGE / 4) && p->npages > 1)
        join(p);
}

uint64_t postings_next(const struct postings *p, uint32_t tag, uint64_t id)
{
    if (!p->npages || id >= ID_MASK)
        return 0;
    const struct postings_page *page = page_of(p, tag);
    uint32_t at = place(page, 0, entry_of(tag, id + 1));
    if (has_tag(page, at, tag) && !(page->entries[at] & IS_SET))
        return page->entries[at] & ID_MASK;
    return is_set(page, at, tag) ? idset_next(set_of(p, page->entries[at]), id) : 0;
}

uint64_t postings_prev(const struct postings *p, uint32_t tag, uint64_t id)
{
    if (!p->npages)
        return 0;
    const struct postings_page *page = page_of(p, tag);
    uint32_t at = place(page, 0, entry_of(tag, id > ID_MASK ? IS_SET : id));
    if (is_set(page, at, tag))
        return idset_prev(set_of(p, page->entries[at]), id);
    return at && has_tag(page, at - 1, tag) ? page->entries[at - 1] & ID_MASK : 0;
}

uint64_t postings_count(const struct postings *p, uint32_t tag)
{
    uint64_t n = 0;

    if (!p->npages)
        return 0;
    const struct postings_page *page = page_of(p, tag);
    uint32_t at = place(page, 0, entry_of(tag, 0));
    if (is_set(page, at, tag))
        return set_of(p, page->entries[at])->count;
    while (has_tag(page, at + (uint32_t)n, tag))
        n++;
    return n;
}

void postings_fini(struct postings *p)
{
    for (uint32_t i = 0; i < p->npages; i++)
        free(p->pages[i].entries);
    for (uint32_t i = 0; i < p->nsets; i++)
        idset_fini(&p->sets[i]);
    free(p->pages);
    free(p->sets);
    *p = (struct postings){0};
}
