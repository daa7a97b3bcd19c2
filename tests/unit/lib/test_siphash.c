/* SipHash: the vectors of the reference code (key 00 01 .. 0f, inputs 00 01 .. n - 1),
 * whole and in pieces; and what its users rely on. */
#include "base/siphash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static const struct siphash_key key = {UINT64_C(0x0706050403020100),
                                       UINT64_C(0x0f0e0d0c0b0a0908)};
static const struct {
    size_t n;
    uint64_t narrow;
    struct siphash128 wide;
} vectors[] = {
    {0,
     UINT64_C(0x726fdb47dd0e0e31),
     {UINT64_C(0xe6a825ba047f81a3), UINT64_C(0x930255c71472f66d)}},
    {1,
     UINT64_C(0x74f839c593dc67fd),
     {UINT64_C(0x44af996bd8c187da), UINT64_C(0x45fc229b11597634)}},
    {2,
     UINT64_C(0x0d6c8009d9a94f5a),
     {UINT64_C(0xc75da4a48d227781), UINT64_C(0xe4ff0af6de8ba3fc)}},
    {3,
     UINT64_C(0x85676696d7fb7e2d),
     {UINT64_C(0x4ea967520cb6709c), UINT64_C(0x51ed8529b0b6335f)}},
    {7,
     UINT64_C(0xab0200f58b01d137),
     {UINT64_C(0x53c1dbd8beebf1a1), UINT64_C(0x3982f01fa64ab8c0)}},
    {8,
     UINT64_C(0x93f5f5799a932462),
     {UINT64_C(0x61f55862baa9623b), UINT64_C(0xb49714f364e2830f)}},
    {9,
     UINT64_C(0x9e0082df0ba9e4b0),
     {UINT64_C(0xabbad90a06994426), UINT64_C(0xed716dbb028b7fc4)}},
    {15,
     UINT64_C(0xa129ca6149be45e5),
     {UINT64_C(0x11a8b03399e99354), UINT64_C(0xd9c3cf970fec087e)}},
    {16,
     UINT64_C(0x3f2acc7f57c29bdb),
     {UINT64_C(0xbb54b067caa4e26e), UINT64_C(0x77052385bf1533fd)}},
    {63,
     UINT64_C(0x958a324ceb064572),
     {UINT64_C(0x4a83502f77d15051), UINT64_C(0x7cbd3f979a063e50)}},
};

static bool same(struct siphash128 a, struct siphash128 b)
{
    return a.lo == b.lo && a.hi == b.hi;
}

static void the_vectors_of_the_reference(void **state)
{
    uint8_t in[64];

    (void)state;
    for (size_t i = 0; i < sizeof(in); i++)
        in[i] = (uint8_t)i;
    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        assert_true(siphash64(&key, in, vectors[i].n) == vectors[i].narrow);
        assert_true(same(siphash128(&key, in, vectors[i].n), vectors[i].wide));
    }
}

/* The sums of the reference's 64 vectors of each width. */
static void the_sums_of_all_vectors(void **state)
{
    uint64_t narrow = 0, lo = 0, hi = 0;
    uint8_t in[64];

    (void)state;
    for (size_t n = 0; n < sizeof(in); n++) {
        in[n] = (uint8_t)n;
        struct siphash128 wide = siphash128(&key, in, n);

        narrow += siphash64(&key, in, n);
        lo += wide.lo;
        hi += wide.hi;
    }
    assert_true(narrow == UINT64_C(0x682802b219c17508));
    assert_true(lo == UINT64_C(0x6af0e45fc3f7193c));
    assert_true(hi == UINT64_C(0xbcceff17f29cf071));
}

/* Each way to cut 40 bytes into three pieces, from places of any alignment. */
static void pieces_are_the_whole(void **state)
{
    uint8_t in[48];

    (void)state;
    for (size_t i = 0; i < sizeof(in); i++)
        in[i] = (uint8_t)(i * 37);
    for (size_t from = 0; from < 8; from++) {
        const uint8_t *p = in + from;
        uint64_t narrow = siphash64(&key, p, 40);
        struct siphash128 wide = siphash128(&key, p, 40);

        for (size_t a = 0; a <= 40; a++) {
            for (size_t b = a; b <= 40; b++) {
                struct siphash h;

                siphash_init64(&h, &key);
                siphash_add(&h, p, a);
                siphash_add(&h, p + a, b - a);
                siphash_add(&h, p + b, 40 - b);
                assert_true(siphash_end64(&h) == narrow);
                siphash_init128(&h, &key);
                siphash_add(&h, p, a);
                siphash_add(&h, p + a, b - a);
                siphash_add(&h, p + b, 40 - b);
                assert_true(same(siphash_end128(&h), wide));
            }
        }
    }
}

static void numbers_are_their_bytes_lowest_first(void **state)
{
    static const uint8_t in[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    struct siphash h;

    (void)state;
    assert_true(siphash64_number(&key, UINT64_C(0x0706050403020100)) ==
                siphash64(&key, in, 8));
    siphash_init64(&h, &key);
    siphash_add_number(&h, UINT64_C(0x0706050403020100));
    assert_true(siphash_end64(&h) == siphash64(&key, in, 8));
}

static void keys_differ(void **state)
{
    struct siphash_key a = {0, 0}, b = {0, 0};

    (void)state;
    assert_int_equal(siphash_key_random(&a), 0);
    assert_int_equal(siphash_key_random(&b), 0);
    assert_memory_not_equal(&a, &b, sizeof(a));
    assert_true(siphash64(&a, "x", 1) != siphash64(&b, "x", 1));
    b = (struct siphash_key){a.k0, a.k1 ^ 1};
    assert_true(siphash64(&a, "x", 1) != siphash64(&b, "x", 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_vectors_of_the_reference),
        cmocka_unit_test(the_sums_of_all_vectors),
        cmocka_unit_test(pieces_are_the_whole),
        cmocka_unit_test(numbers_are_their_bytes_lowest_first),
        cmocka_unit_test(keys_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
