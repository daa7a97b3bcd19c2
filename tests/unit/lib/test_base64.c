/* Base64, both ways. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>
#include "wire/base64.h"

static void decodes(void **state)
{
    (void)state;
    unsigned char buf[16];
    assert_int_equal(base64_decode("aGFsbG8=", 8, buf), 5);
    assert_memory_equal(buf, "hallo", 5);
    assert_int_equal(base64_decode("/+8A", 4, buf), 3);
    assert_memory_equal(buf, "\xff\xef\0", 3);
    assert_int_equal(base64_decode("", 0, buf), 0);
    assert_int_equal(base64_decode("abc", 3, buf), -EINVAL);
    assert_int_equal(base64_decode("a=bc", 4, buf), -EINVAL);
    assert_int_equal(base64_decode("ab!=", 4, buf), -EINVAL);
}

/* Of each length, whatever the bytes are. */
static void comes_back(void **state)
{
    (void)state;
    unsigned char bytes[64], back[66];
    char text[BASE64_SIZE(sizeof(bytes))];
    for (size_t len = 0; len <= sizeof(bytes); len++) {
        for (size_t i = 0; i < len; i++)
            bytes[i] = (unsigned char)(i * 37 + len * 101);
        base64_encode(bytes, len, text);
        assert_int_equal(base64_decode(text, BASE64_SIZE(len), back), len);
        assert_memory_equal(back, bytes, len);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decodes),
        cmocka_unit_test(comes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
