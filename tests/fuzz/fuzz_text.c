/* The small grammars of the command line: durations, ranges, addresses. What is taken
 * stays the same when it is written and read again. */
#include "wire/duration.h"
#include "client/range.h"
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

static void range(const char *text)
{
    uint64_t first, last, again_first, again_last;
    char shown[64];

    if (range_parse(text, &first, &last) < 0)
        return;
    FUZZ_CHECK(first <= last);
    (void)snprintf(shown, sizeof(shown), "%llu-%llu", (unsigned long long)first,
                   (unsigned long long)last);
    FUZZ_CHECK(range_parse(shown, &again_first, &again_last) == 0);
    FUZZ_CHECK(again_first == first && again_last == last);
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
    range(text);
    address(text);
    free(text);
    return 0;
}
