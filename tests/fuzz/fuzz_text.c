/* The small grammars of the command line: durations, ranges, addresses. What is taken
 * stays the same when it is written and read again. */
#include "wire/duration.h"
#include "client/index_list.h"
#include "tests/fuzz/fuzz.h"
#include "wire/address.h"

#include <errno.h>
#include <string.h>

static void duration(const char *text)
{
    char shown[64];
    uint64_t usec;
    int r = duration_parse(text, &usec);

    FUZZ_CHECK(r == 0 || r == -EINVAL || r == -ERANGE);
    if (r < 0)
        return;
    duration_format(usec, shown, sizeof(shown));
    FUZZ_CHECK(shown[0] != '\0' && strlen(shown) < 24);
    duration_format_clock(usec / 1000000, shown, sizeof(shown));
    FUZZ_CHECK(strlen(shown) >= 5);
}

/* What is shown is the same list once more. */
static void indexes(const char *text)
{
    struct index_list l, again;
    char shown[80 * INDEX_LIST_RANGES];
    size_t len = 0;

    if (index_list_parse(text, &l) < 0)
        return;
    for (size_t i = 0; i < l.n; i++) {
        const struct index_range *r = &l.ranges[i];

        FUZZ_CHECK(r->first <= r->last && r->step > 0);
        FUZZ_CHECK((r->last - r->first) % r->step == 0);
        FUZZ_CHECK(i == 0 || r[-1].last < r->first);
        len += (size_t)snprintf(shown + len, sizeof(shown) - len, "%s%llu-%llu:%llu",
                                i ? "," : "", (unsigned long long)r->first,
                                (unsigned long long)r->last, (unsigned long long)r->step);
    }
    FUZZ_CHECK(index_list_parse(shown, &again) == 0);
    FUZZ_CHECK(again.count == l.count && again.n == l.n);
    index_list_fini(&l);
    index_list_fini(&again);
}

static void address(const char *text)
{
    struct volt_error err = {.text = ""};
    struct address a, again;
    char shown[sizeof(a.path) + 8];

    if (address_parse(text, &a, &err) < 0) {
        FUZZ_CHECK(err.text[0] != '\0');
        return;
    }
    (void)snprintf(shown, sizeof(shown), "unix:%s", a.path);
    FUZZ_CHECK(address_parse(shown, &again, &err) == 0);
    FUZZ_CHECK(strcmp(a.path, again.path) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);

    FUZZ_CHECK(text);
    memcpy(text, data, size);
    text[size] = '\0';
    duration(text);
    indexes(text);
    address(text);
    free(text);
    return 0;
}
