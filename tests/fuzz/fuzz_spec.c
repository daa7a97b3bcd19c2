/* A job spec in JSON: refused with a field and a reason, or taken, and then what is shown
 * of it is the same spec again. */
#include "daemon/config/config.h"
#include "daemon/method/spec_json.h"
#include "tests/fuzz/fuzz.h"
#include "wire/fields.h"
#include "wire/json.h"

#include <errno.h>
#include <string.h>

#define BUDGET (1u << 20) /* bytes of heap for one parse */

static void again(const struct job_spec *spec, const struct config *config)
{
    struct wire_buf text = {0};
    struct wire_writer to = {.out = &text};
    struct job_spec *twin = NULL;
    struct field_error err;
    json_t *shown;

    spec_write(&to, NULL, spec, SPEC_ALL_FIELDS);
    FUZZ_CHECK(to.error == 0);
    shown =
        json_loadb(wire_buf_at(&text), wire_buf_len(&text), JSON_REJECT_DUPLICATES, NULL);
    wire_buf_fini(&text);

    FUZZ_CHECK(shown);
    FUZZ_CHECK(spec_from_json(shown, config, NULL, &twin, &err) == 0);
    FUZZ_CHECK(job_spec_equal(spec, twin));
    FUZZ_CHECK(job_spec_count(spec) >= 1);
    FUZZ_CHECK(job_spec_bytes(spec) == job_spec_bytes(twin));
    job_spec_unref(twin);
    json_decref(shown);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct field_error err = {.code = 0};
    struct job_spec *spec = NULL;
    struct volt_error text;
    struct config config;
    json_t *object;

    char *copy = malloc(size + 1); /* of the exact size: reading over its end is seen */
    FUZZ_CHECK(copy);
    memcpy(copy, data, size);
    copy[size] = '\0';
    config_defaults(&config);
    if (wire_parse(copy, size, BUDGET, &object, &text) == 0) {
        int r = spec_from_json(object, &config, NULL, &spec, &err);

        FUZZ_CHECK(r == 0 || (r == -EINVAL && err.reason[0] != '\0'));
        if (r == 0)
            again(spec, &config);
        job_spec_unref(spec);
        json_decref(object);
    }
    free(copy);
    return 0;
}
