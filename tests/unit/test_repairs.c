// What repairs make of a source, and what they leave alone.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
//
#include <cmocka.h>

#include "diagnose/internal.h"

static kg_repairer *repairer;  // one for all tests, as kgate fix has one for all candidates

// The repaired source, or "why it was not"; owned by the caller.
static char *repaired(const char *id, size_t variant, kg_language l, const char *source) {
    for (size_t i = 0; kg_repair(i); i++) {
        if (strcmp(kg_repair(i)->id, id) != 0) continue;
        char *why, *made = kg_repair_apply(repairer, i, variant, l, source, strlen(source), &why);
        return made ? made : why;
    }
    fail_msg("no repair %s", id);
    return NULL;
}

static void expect(const char *id, size_t variant, kg_language l, const char *source, const char *wanted) {
    char *got = repaired(id, variant, l, source);
    assert_string_equal(got, wanted);
    free(got);
}

#define HEAD "@triton.jit\ndef k(x, out, n, M):\n"

static void serial_loop_goes_in_blocks(void **state) {
    (void)state;
    expect("triton-blocks", 0, KG_LANG_TRITON,
           HEAD
           "    row = tl.program_id(0) * n\n"
           "    total = 0.0\n"
           "    most = -float(\"inf\")\n"
           "    for j in range(n):\n"
           "        v = tl.load(x + row + j)\n"
           "        total += v * v\n"
           "        most = tl.maximum(most, v)\n"
           "    for j in range(0, n):\n"
           "        tl.store(out + row + j, total)\n",
           HEAD
           "    row = tl.program_id(0) * n\n"
           "    total = 0.0\n"
           "    most = -float(\"inf\")\n"
           "    for j_block in range(0, n, 1024):\n"
           "        j = j_block + tl.arange(0, 1024)\n"
           "        j_in = j < n\n"
           "        v = tl.load(x + row + j, mask=j_in, other=0.0)\n"
           "        total += tl.sum(tl.where(j_in, v * v, 0.0))\n"
           "        most = tl.maximum(most, tl.max(tl.where(j_in, v, -float(\"inf\"))))\n"
           "    for j_block in range(0, n, 1024):\n"
           "        j = j_block + tl.arange(0, 1024)\n"
           "        j_in = j < n\n"
           "        tl.store(out + row + j, total, mask=j_in)\n");
}

// A value that goes from turn to turn as anything but a sum or an extreme cannot be taken apart.
static void what_the_turns_hand_on_is_left_alone(void **state) {
    (void)state;
    expect("triton-blocks", 0, KG_LANG_TRITON,
           HEAD
           "    y = 0.0\n"
           "    for j in range(n):\n"
           "        y = y * 0.5 + tl.load(x + j)\n"
           "    tl.store(out, y)\n",
           "the loop carries a value that is no sum, maximum or minimum");
    expect("triton-blocks", 0, KG_LANG_TRITON,
           HEAD
           "    y = 0.0\n"
           "    for j in range(0, n, 128):\n"
           "        y += tl.sum(tl.load(x + j + tl.arange(0, 128)))\n"
           "    tl.store(out, y)\n",
           "no loop that goes through memory one element a turn");
}

static void tiles_are_grouped(void **state) {
    (void)state;
    expect("triton-grouped-order", 0, KG_LANG_TRITON,
           HEAD
           "    pid_m = tl.program_id(axis=0)\n"
           "    pid_n = tl.program_id(axis=1)\n"
           "    c = tl.dot(tl.load(x + pid_m), tl.load(x + pid_n))\n",
           HEAD
           "    pid_m = tl.program_id(axis=0)\n"
           "    pid_n = tl.program_id(axis=1)\n"
           "    pid_n, pid_m = tl.swizzle2d(pid_n, pid_m, tl.num_programs(1), tl.num_programs(0), 8)\n"
           "    c = tl.dot(tl.load(x + pid_m), tl.load(x + pid_n))\n");
    expect("triton-grouped-order", 2, KG_LANG_TRITON,
           HEAD
           "    pid = tl.program_id(0)\n"
           "    wide = tl.cdiv(n, 64)\n"
           "    i = pid // wide\n"
           "    j = pid % wide\n"
           "    c = tl.dot(tl.load(x + i), tl.load(x + j))\n",
           HEAD
           "    pid = tl.program_id(0)\n"
           "    wide = tl.cdiv(n, 64)\n"
           "    i = pid // wide\n"
           "    j = pid % wide\n"
           "    i, j = tl.swizzle2d(i, j, tl.num_programs(0) // wide, wide, 4)\n"
           "    c = tl.dot(tl.load(x + i), tl.load(x + j))\n");
}

#define IN_PLACE(row, column, before, more)                                 \
    HEAD "    program, batch = tl.program_id(0), tl.program_id(1)\n"        \
         "    wide = tl.cdiv(n, 64)\n" before "    i = (" row               \
         " * 64 + tl.arange(0, 64)).to(tl.int64)\n"                         \
         "    j = (" column " * 64 + tl.arange(0, 64)).to(tl.int64)\n" more \
         "    c = tl.dot(tl.load(x + batch + i), tl.load(x + batch + j))\n"

static void tiles_that_have_no_name_are_grouped(void **state) {
    (void)state;
    expect("triton-grouped-order", 0, KG_LANG_TRITON, IN_PLACE("program // wide", "program % wide", "", ""),
           IN_PLACE("tile_row", "tile_column",
                    "    tile_row, tile_column = program // wide, program % wide\n"
                    "    tile_row, tile_column = tl.swizzle2d(tile_row, tile_column, tl.num_programs(0) // wide, "
                    "wide, 8)\n",
                    ""));
    expect("triton-grouped-order", 4, KG_LANG_TRITON,
           HEAD
           "    wide = tl.cdiv(n, 64)\n"
           "    i = tl.program_id(axis=1) // wide * 64\n"
           "    j = tl.program_id(axis=1) % wide * 64\n"
           "    c = tl.dot(tl.load(x + i), tl.load(x + j))\n",
           HEAD
           "    wide = tl.cdiv(n, 64)\n"
           "    tile_row, tile_column = tl.program_id(axis=1) // wide, tl.program_id(axis=1) % wide\n"
           "    tile_row, tile_column = tl.swizzle2d(tile_row, tile_column, tl.num_programs(1) // wide, wide, 16)\n"
           "    i = tile_row * 64\n"
           "    j = tile_column * 64\n"
           "    c = tl.dot(tl.load(x + i), tl.load(x + j))\n");
}

// A program id that says more than the tile, an index that is none, and a count that changes.
static void tiles_that_are_not_all_of_a_program_are_left_alone(void **state) {
    (void)state;
    const char *const why = "no kernel with tl.dot whose program ids are tiles, row by row";
    expect("triton-grouped-order", 1, KG_LANG_TRITON, IN_PLACE("program // wide", "program % wide", "", ""), why);
    expect("triton-grouped-order", 0, KG_LANG_TRITON,
           IN_PLACE("program // wide % M", "program % wide", "", "    x += program // (wide * M)\n"), why);
    expect("triton-grouped-order", 0, KG_LANG_TRITON,
           IN_PLACE("program // wide", "program % wide", "", "    x += tl.program_id(0)\n"), why);
    expect("triton-grouped-order", 0, KG_LANG_TRITON,
           IN_PLACE("program // wide", "program % wide", "    wide *= 2\n", ""), why);
    expect("triton-grouped-order", 0, KG_LANG_TRITON, IN_PLACE("program // wide", "batch % wide", "", ""), why);
    expect("triton-grouped-order", 0, KG_LANG_TRITON, IN_PLACE("n // wide", "n % wide", "", ""), why);
    expect("triton-grouped-order", 0, KG_LANG_TRITON,
           HEAD
           "    for program in range(tl.program_id(0), n, tl.num_programs(0)):\n"
           "        wide = tl.cdiv(n, 64)\n"
           "        i = program // wide * 64\n"
           "        j = program % wide * 64\n"
           "        c = tl.dot(tl.load(x + i), tl.load(x + j))\n",
           why);
}

static void launches_get_their_warps(void **state) {
    (void)state;
    expect("triton-warps", 2, KG_LANG_TRITON, HEAD "    pass\nk[(1,)](a, b, n=3)\nk[grid](a, num_warps=4)\n",
           HEAD "    pass\nk[(1,)](a, b, n=3, num_warps=8)\nk[grid](a, num_warps=8)\n");
    expect("triton-warps", 2, KG_LANG_TRITON, HEAD "    pass\nk[grid](\n    a,  # the row\n)\nk[grid]()\n",
           HEAD "    pass\nk[grid](\n    a, num_warps=8,  # the row\n)\nk[grid](num_warps=8)\n");
    expect("triton-warps", 0, KG_LANG_TRITON, "@triton.autotune(configs=[], key=[])\n" HEAD "    pass\nk[(1,)](a)\n",
           "no kernel without an autotuner is launched as kernel[grid](...)");
}

static void configurations_are_tuned(void **state) {
    (void)state;
    expect(
        "triton-autotune", 0, KG_LANG_TRITON,
        "@triton.jit\n"
        "def k(a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):\n"
        "    i = tl.program_id(0) * M + tl.arange(0, M)\n"
        "    j = tl.program_id(1) * N + tl.arange(0, N)\n"
        "    total = tl.zeros([M, N], tl.float32)\n"
        "    for first in range(0, k, K):\n"
        "        at = first + tl.arange(0, K)\n"
        "        x = tl.load(a + i[:, None] * k + at, mask=(i[:, None] < m) & (at < k))\n"
        "        y = tl.load(b + at[:, None] * n + j, mask=(j < n) & (at[:, None] < k))\n"
        "        total += tl.dot(x, y)\n"
        "    tl.store(c + i[:, None] * n + j, total, mask=(i[:, None] < m) & (j < n))\n"
        "\n"
        "\n"
        "def f(a, b):\n"
        "    m, n, k = sizes(a, b)\n"
        "    c = torch.empty((m, n))\n"
        "    k[(triton.cdiv(m, 64), triton.cdiv(n, 64))](a, b, c, m, n, k, M=64, N=64,\n"
        "                                                K=32, num_warps=8)\n"
        "    return c\n",
        "def configs_of_k(configs, named_args, **given):\n"
        "    \"\"\"Of the configurations those that fit the device; a small problem takes the first, untried.\"\"\"\n"
        "    args = {**named_args, **given}\n"
        "    if args[\"m\"] * args[\"n\"] * args[\"k\"] < 1 << 27:\n"
        "        return configs[:1]\n"
        "    width = max(a.element_size() for a in args.values() if hasattr(a, \"element_size\"))\n"
        "    fitting = [c for c in configs if c.kwargs[\"M\"] * c.kwargs[\"N\"] * max(width, 4) <= 512 * 32 * c.num_warps]\n"
        "    driver = triton.runtime.driver.active\n"
        "    shared = driver.utils.get_device_properties(driver.get_current_device())[\"max_shared_mem\"]\n"
        "    fitting = [c for c in fitting if (c.kwargs[\"M\"] + c.kwargs[\"N\"]) * c.kwargs[\"K\"] * width\n"
        "               * c.num_stages <= shared]\n"
        "    return fitting or configs[:1]\n"
        "\n"
        "\n"
        "@triton.autotune(\n"
        "    configs=[\n"
        "        triton.Config({\"M\": 64, \"N\": 64, \"K\": 32}, num_warps=8, num_stages=3),\n"
        "        triton.Config({\"M\": 128, \"N\": 256, \"K\": 64}, num_warps=8, num_stages=3),\n"
        "        triton.Config({\"M\": 256, \"N\": 128, \"K\": 64}, num_warps=8, num_stages=3),\n"
        "        triton.Config({\"M\": 128, \"N\": 256, \"K\": 64}, num_warps=8, num_stages=4),\n"
        "        triton.Config({\"M\": 128, \"N\": 128, \"K\": 64}, num_warps=8, num_stages=3),\n"
        "        triton.Config({\"M\": 128, \"N\": 128, \"K\": 64}, num_warps=4, num_stages=4),\n"
        "        triton.Config({\"M\": 128, \"N\": 128, \"K\": 32}, num_warps=4, num_stages=4),\n"
        "        triton.Config({\"M\": 128, \"N\": 64, \"K\": 64}, num_warps=4, num_stages=4),\n"
        "        triton.Config({\"M\": 64, \"N\": 128, \"K\": 64}, num_warps=4, num_stages=4),\n"
        "        triton.Config({\"M\": 64, \"N\": 256, \"K\": 32}, num_warps=4, num_stages=4),\n"
        "        triton.Config({\"M\": 64, \"N\": 64, \"K\": 64}, num_warps=4, num_stages=4),\n"
        "        triton.Config({\"M\": 64, \"N\": 64, \"K\": 32}, num_warps=4, num_stages=5),\n"
        "    ],\n"
        "    key=[\"m\", \"n\", \"k\"],\n"
        "    prune_configs_by={\"early_config_prune\": configs_of_k},\n"
        ")\n"
        "@triton.jit\n"
        "def k(a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):\n"
        "    i = tl.program_id(0) * M + tl.arange(0, M)\n"
        "    j = tl.program_id(1) * N + tl.arange(0, N)\n"
        "    total = tl.zeros([M, N], tl.float32)\n"
        "    for first in range(0, k, K):\n"
        "        at = first + tl.arange(0, K)\n"
        "        x = tl.load(a + i[:, None] * k + at, mask=(i[:, None] < m) & (at < k))\n"
        "        y = tl.load(b + at[:, None] * n + j, mask=(j < n) & (at[:, None] < k))\n"
        "        total += tl.dot(x, y)\n"
        "    tl.store(c + i[:, None] * n + j, total, mask=(i[:, None] < m) & (j < n))\n"
        "\n"
        "\n"
        "def f(a, b):\n"
        "    m, n, k = sizes(a, b)\n"
        "    c = torch.empty((m, n))\n"
        "    k[lambda META: (triton.cdiv(m, META[\"M\"]), triton.cdiv(n, META[\"N\"]))](a, b, c, m, n, k)\n"
        "    return c\n");
    // The grid was made before the launch; SCALE is no block.
    expect(
        "triton-autotune", 0, KG_LANG_TRITON,
        "@triton.jit\n"
        "def k(x, y, n, BLOCK: tl.constexpr, SCALE: tl.constexpr):\n"
        "    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
        "    tl.store(y + at, tl.load(x + at, mask=at < n) * SCALE, mask=at < n)\n"
        "\n"
        "\n"
        "def f(x):\n"
        "    grid = (triton.cdiv(x.numel(), 256),)\n"
        "    k[grid](x, y, x.numel(), BLOCK=256, SCALE=2)\n",
        "def configs_of_k(configs, named_args, **given):\n"
        "    \"\"\"Of the configurations those that fit the device; a small problem takes the first, untried.\"\"\"\n"
        "    args = {**named_args, **given}\n"
        "    if args[\"n\"] < 1 << 14:\n"
        "        return configs[:1]\n"
        "    width = max(a.element_size() for a in args.values() if hasattr(a, \"element_size\"))\n"
        "    fitting = [c for c in configs if c.kwargs[\"BLOCK\"] * max(width, 4) <= 512 * 32 * c.num_warps]\n"
        "    return fitting or configs[:1]\n"
        "\n"
        "\n"
        "@triton.autotune(\n"
        "    configs=[\n"
        "        triton.Config({\"BLOCK\": 256}, num_warps=4, num_stages=3),\n"
        "        triton.Config({\"BLOCK\": 512}, num_warps=4, num_stages=3),\n"
        "        triton.Config({\"BLOCK\": 1024}, num_warps=4, num_stages=3),\n"
        "        triton.Config({\"BLOCK\": 1024}, num_warps=8, num_stages=3),\n"
        "        triton.Config({\"BLOCK\": 2048}, num_warps=4, num_stages=3),\n"
        "        triton.Config({\"BLOCK\": 2048}, num_warps=8, num_stages=3),\n"
        "        triton.Config({\"BLOCK\": 4096}, num_warps=8, num_stages=3),\n"
        "        triton.Config({\"BLOCK\": 8192}, num_warps=8, num_stages=3),\n"
        "    ],\n"
        "    key=[\"n\"],\n"
        "    prune_configs_by={\"early_config_prune\": configs_of_k},\n"
        ")\n"
        "@triton.jit\n"
        "def k(x, y, n, BLOCK: tl.constexpr, SCALE: tl.constexpr):\n"
        "    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
        "    tl.store(y + at, tl.load(x + at, mask=at < n) * SCALE, mask=at < n)\n"
        "\n"
        "\n"
        "def f(x):\n"
        "    grid = lambda META: (triton.cdiv(x.numel(), META[\"BLOCK\"]),)\n"
        "    k[grid](x, y, x.numel(), SCALE=2)\n");
}

static void few_configurations_become_more(void **state) {
    (void)state;
    expect("triton-autotune", 0, KG_LANG_TRITON,
           "@triton.autotune(configs=[\n"
           "    triton.Config({\"M\": 64}),\n"
           "    triton.Config({\"M\": 128}, num_warps=8),  # wide\n"
           "], key=[\"n\"])\n"
           "@triton.jit\n"
           "def k(x, n, M: tl.constexpr):\n"
           "    tl.store(x, tl.dot(tl.load(x), tl.load(x + 1)))\n",
           "@triton.autotune(configs=[\n"
           "    triton.Config({\"M\": 64}, num_warps=8, num_stages=3),\n"
           "    triton.Config({\"M\": 64}, num_warps=8, num_stages=4),\n"
           "    triton.Config({\"M\": 64}, num_warps=4, num_stages=4),\n"
           "    triton.Config({\"M\": 128}, num_warps=4, num_stages=3),\n"
           "    triton.Config({\"M\": 128}, num_warps=8, num_stages=4),\n"
           "    triton.Config({\"M\": 128}, num_warps=4, num_stages=4),\n"
           "    triton.Config({\"M\": 64}),\n"
           "    triton.Config({\"M\": 128}, num_warps=8),  # wide\n"
           "], key=[\"n\"])\n"
           "@triton.jit\n"
           "def k(x, n, M: tl.constexpr):\n"
           "    tl.store(x, tl.dot(tl.load(x), tl.load(x + 1)))\n");
    expect("triton-autotune", 0, KG_LANG_TRITON,
           "@triton.autotune(configs=[triton.Config({\"M\": 64}, pre_hook=zero)], key=[\"n\"])\n" HEAD
           "    tl.store(out, tl.dot(tl.load(x), 1))\n",
           "a configuration is more than blocks, warps and stages");
}

#define BLOCKED "@triton.jit\ndef k(x, y, n, m, A: tl.constexpr, B: tl.constexpr):\n"
#define AT                                             \
    "    i = tl.program_id(0) * A + tl.arange(0, A)\n" \
    "    j = tl.program_id(1) * B + tl.arange(0, B)\n"

static void what_cannot_be_tuned(void **state) {
    (void)state;
    expect("triton-autotune", 0, KG_LANG_TRITON,
           BLOCKED AT
           "    tl.atomic_add(y + i, tl.load(x + i, mask=i < n))\n"
           "k[(triton.cdiv(n, 64), triton.cdiv(m, 32))](x, y, n, m, A=64, B=32)\n",
           "atomic operations would add up over the trials");
    expect("triton-autotune", 0, KG_LANG_TRITON,
           BLOCKED AT
           "    y += j\n"
           "    tl.store(y + i, tl.load(y + i, mask=i < n))\n"
           "k[(triton.cdiv(n, 64), triton.cdiv(m, 32))](x, y, n, m, A=64, B=32)\n",
           "the kernel reads what it writes: trials would change it");
    expect("triton-autotune", 0, KG_LANG_TRITON,
           BLOCKED AT
           "    tl.store(y + i, tl.load(x + i, mask=i < n))\n"
           "k[(triton.cdiv(n, 64), triton.cdiv(m, 32))](z, z, n, m, A=64, B=32)\n",
           "the kernel reads what it writes: trials would change it");
    // A buffer for one partial result a block: with other blocks it would be too short.
    expect("triton-autotune", 0, KG_LANG_TRITON,
           BLOCKED AT
           "    tl.store(y + i, tl.load(x + i, mask=i < n))\n"
           "y = torch.empty(triton.cdiv(n, 64))\n"
           "k[(triton.cdiv(n, 64), triton.cdiv(m, 32))](x, y, n, m, A=64, B=32)\n",
           "64 stands elsewhere in the file too: it may be the block's size there");
    expect("triton-autotune", 0, KG_LANG_TRITON,
           BLOCKED AT
           "    tl.store(y + i, tl.load(x + i))\n"
           "k[(triton.cdiv(n, 64), triton.cdiv(m, 64))](x, y, n, m, A=64, B=64)\n",
           "which block a number of the grid stands for is not clear");
    expect("triton-autotune", 0, KG_LANG_TRITON,
           BLOCKED AT
           "    tl.store(y + i, tl.load(x + i, mask=i < n))\n"
           "k[(triton.cdiv(n, a), triton.cdiv(m, b))](x, y, n, m, A=a, B=b)\n",
           "the launch gives no block as a number");
}

static void rows_are_streamed(void **state) {
    (void)state;
    expect("triton-stream-row", 1, KG_LANG_TRITON,
           "@triton.jit\n"
           "def norm(x_ptr, w_ptr, y_ptr, n, BLOCK: tl.constexpr,\n"
           "         W: tl.constexpr):\n"
           "    \"\"\"Kept.\"\"\"\n"
           "    row = tl.program_id(0)\n"
           "    at = tl.arange(0, BLOCK)\n"
           "    x = tl.load(x_ptr + row * n + at, mask=at < n, other=0.0).to(tl.float32)\n"
           "    mean = tl.sum(x, axis=0) / n  # a number\n"
           "    d = tl.where(at < n, x - mean, 0.0)\n"
           "    y = d * tl.rsqrt(tl.sum(d * d) / n)\n"
           "    if W:\n"
           "        y *= tl.load(w_ptr + at, mask=at < n)\n"
           "    tl.store(y_ptr + row * n + at, y, mask=at < n)\n"
           "\n"
           "\n"
           "def f(x, w):\n"
           "    BLOCK = triton.next_power_of_2(n)\n"
           "    norm[(m,)](x, w, y, n, BLOCK=BLOCK,\n"
           "               W=True, num_warps=4)\n"
           "    return y\n",
           "@triton.jit\n"
           "def norm(x_ptr, w_ptr, y_ptr, n, BLOCK: tl.constexpr,\n"
           "         W: tl.constexpr):\n"
           "    \"\"\"Kept.\"\"\"\n"
           "    row = tl.program_id(0)\n"
           "    at = tl.arange(0, BLOCK)\n"
           "    x = tl.load(x_ptr + row * n + at, mask=at < n, other=0.0).to(tl.float32)\n"
           "    mean = tl.sum(x, axis=0) / n  # a number\n"
           "    d = tl.where(at < n, x - mean, 0.0)\n"
           "    y = d * tl.rsqrt(tl.sum(d * d) / n)\n"
           "    if W:\n"
           "        y *= tl.load(w_ptr + at, mask=at < n)\n"
           "    tl.store(y_ptr + row * n + at, y, mask=at < n)\n"
           "\n"
           "\n"
           "@triton.jit\n"
           "def norm_streamed(x_ptr, w_ptr, y_ptr, n, BLOCK: tl.constexpr,\n"
           "                  W: tl.constexpr):\n"
           "    row = tl.program_id(0)\n"
           "    row_sum_block = tl.zeros([BLOCK], tl.float32)\n"
           "    for start in range(0, n, BLOCK):\n"
           "        at = start + tl.arange(0, BLOCK)\n"
           "        x = tl.load(x_ptr + row * n + at, mask=at < n, other=0.0).to(tl.float32)\n"
           "        row_sum_block += x\n"
           "    mean = tl.sum(row_sum_block, axis=0) / n\n"
           "    row_sum_block2 = tl.zeros([BLOCK], tl.float32)\n"
           "    for start in range(0, n, BLOCK):\n"
           "        at = start + tl.arange(0, BLOCK)\n"
           "        x = tl.load(x_ptr + row * n + at, mask=at < n, other=0.0).to(tl.float32)\n"
           "        d = tl.where(at < n, x - mean, 0.0)\n"
           "        row_sum_block2 += d * d\n"
           "    row_sum = tl.sum(row_sum_block2, 0)\n"
           "    for start in range(0, n, BLOCK):\n"
           "        at = start + tl.arange(0, BLOCK)\n"
           "        x = tl.load(x_ptr + row * n + at, mask=at < n, other=0.0).to(tl.float32)\n"
           "        d = tl.where(at < n, x - mean, 0.0)\n"
           "        y = d * tl.rsqrt(row_sum / n)\n"
           "        if W:\n"
           "            y *= tl.load(w_ptr + at, mask=at < n)\n"
           "        tl.store(y_ptr + row * n + at, y, mask=at < n)\n"
           "\n"
           "\n"
           "def f(x, w):\n"
           "    BLOCK = triton.next_power_of_2(n)\n"
           "    if BLOCK <= 16384:\n"
           "        norm[(m,)](x, w, y, n, BLOCK=BLOCK,\n"
           "                   W=True, num_warps=4)\n"
           "    else:  # a long row goes block by block\n"
           "        norm_streamed[(m,)](x, w, y, n, BLOCK=8192,\n"
           "                            W=True, num_warps=16)\n"
           "    return y\n");
}

#define ROW                                          \
    "@triton.jit\n"                                  \
    "def k(x_ptr, y_ptr, n, BLOCK: tl.constexpr):\n" \
    "    at = tl.arange(0, BLOCK)\n"                 \
    "    x = tl.load(x_ptr + at, mask=at < n, other=0.0)\n"
#define OF_ROW "def f(x):\n    k[(1,)](x, y, n, BLOCK=triton.next_power_of_2(n))\n"

static void rows_that_must_stay_whole(void **state) {
    (void)state;
    static const struct {
        const char *source, *why;
    } rows[] = {
        {ROW "    s = tl.cumsum(x, 0)\n    tl.store(y_ptr + at, s, mask=at < n)\n" OF_ROW,
         "tl.cumsum may look at the whole row at once"},
        {ROW "    tl.store(y_ptr, tl.argmax(x, 0))\n" OF_ROW, "tl.argmax may look at the whole row at once"},
        {ROW "    tl.store(y_ptr + at, helper(x) / tl.sum(x, 0))\n" OF_ROW, "helper may look at the whole row at once"},
        {ROW "    tl.store(y_ptr, tl.sum(x[None, :], 0))\n" OF_ROW, "the block has more than one dimension"},
        {ROW "    tl.store(y_ptr, tl.sum(x, 0, keep_dims=True))\n" OF_ROW, "a reduction is not along axis 0 alone"},
        {ROW "    m = tl.max(x, 0)\n    d = x - m\n    m = m + 1.0\n    tl.store(y_ptr, tl.sum(d) + m)\n" OF_ROW,
         "m changes after it was used for a block"},
        {ROW "    if n > 3:\n        s = tl.sum(x, 0)\n    tl.store(y_ptr, s)\n" OF_ROW,
         "a reduction stands in a branch"},
        {ROW "    for i in range(2):\n        x += x\n    tl.store(y_ptr, tl.sum(x))\n" OF_ROW,
         "the kernel is no straight line of assignments and stores"},
        {ROW "    tl.store(y_ptr + at, x, mask=at < n)\n" OF_ROW, "the kernel reduces nothing"},
        {ROW "    tl.store(y_ptr, tl.sum(x, 0) / BLOCK)\n" OF_ROW, "no block of one dimension over a row"},
        {ROW "    tl.store(y_ptr, tl.sum(x, 0))\ndef f(x):\n    k[(1,)](x, y, n, BLOCK=1024)\n",
         "the launch does not make the block the next power of two of the row"},
        {ROW
         "    tl.store(y_ptr, tl.sum(x, 0))\ndef f(x):\n    k[(1,)](x, y, n, BLOCK=min(1024, triton.next_power_of_2(n)))\n",
         "the launch does not make the block the next power of two of the row"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        expect("triton-stream-row", 0, KG_LANG_TRITON, rows[i].source, rows[i].why);
}

static void passes_become_one(void **state) {
    (void)state;
    expect("triton-fuse-passes", 0, KG_LANG_TRITON,
           "@triton.jit\n"
           "def k(x_ptr, y_ptr, n, B: tl.constexpr):\n"
           "    most = tl.full([B], float(\"-inf\"), tl.float32)\n"
           "    for at in range(0, n, B):\n"
           "        i = at + tl.arange(0, B)\n"
           "        x = tl.load(x_ptr + i, mask=i < n, other=float(\"-inf\"))\n"
           "        most = tl.maximum(most, x)  # so far\n"
           "    m = tl.max(most, 0)\n"
           "    total = tl.zeros([B], tl.float32)\n"
           "    # again\n"
           "    for at in range(0, n, B):\n"
           "        i = at + tl.arange(0, B)\n"
           "        x = tl.load(x_ptr + i, mask=i < n, other=float(\"-inf\"))\n"
           "        e = tl.exp(x - m)\n"
           "        total += e\n"
           "    tl.store(y_ptr, m + tl.log(tl.sum(total, 0)))\n",
           "@triton.jit\n"
           "def k(x_ptr, y_ptr, n, B: tl.constexpr):\n"
           "    most = tl.full([B], float(\"-inf\"), tl.float32)\n"
           "    total = tl.zeros([B], tl.float32)\n"
           "    for at in range(0, n, B):\n"
           "        i = at + tl.arange(0, B)\n"
           "        x = tl.load(x_ptr + i, mask=i < n, other=float(\"-inf\"))\n"
           "        value = x\n"
           "        higher = tl.maximum(most, value)\n"
           "        base = tl.where(tl.abs(higher) == float(\"inf\"), 0.0, higher)\n"
           "        total = total * tl.exp(most - base) + tl.exp(value - base)\n"
           "        most = higher  # so far\n"
           "    m = tl.max(most, 0)\n"
           "    # again\n"
           "    total *= tl.exp(most - m)\n"
           "    tl.store(y_ptr, m + tl.log(tl.sum(total, 0)))\n");
    expect("triton-fuse-passes", 0, KG_LANG_TRITON,
           "@triton.jit\n"
           "def k(x_ptr, y_ptr, n, B: tl.constexpr):\n"
           "    total = tl.zeros([B], tl.float32)\n"
           "    for at in range(0, n, B):\n"
           "        i = at + tl.arange(0, B)\n"
           "        total += tl.load(x_ptr + i, mask=i < n, other=0.0)\n"
           "    mean = tl.sum(total, 0) / n\n"
           "    total = tl.zeros([B], tl.float32)\n"
           "    for at in range(0, n, B):\n"
           "        i = at + tl.arange(0, B)\n"
           "        x = tl.load(x_ptr + i, mask=i < n, other=0.0)\n"
           "        d = tl.where(i < n, x - mean, 0.0)\n"
           "        total += d * d\n"
           "    tl.store(y_ptr, tl.sum(total, 0) / n)\n",
           "@triton.jit\n"
           "def k(x_ptr, y_ptr, n, B: tl.constexpr):\n"
           "    lane_mean = tl.zeros([B], tl.float32)\n"
           "    lane_spread = tl.zeros([B], tl.float32)\n"
           "    for at in range(0, n, B):\n"
           "        i = at + tl.arange(0, B)\n"
           "        value = tl.load(x_ptr + i, mask=i < n, other=0.0)\n"
           "        change = tl.where(i < n, value - lane_mean, 0.0)\n"
           "        lane_mean += change / (at // B + 1)\n"
           "        lane_spread += change * tl.where(i < n, value - lane_mean, 0.0)\n"
           "    seen = (n - tl.arange(0, B) + B - 1) // B  # columns of each lane\n"
           "    total = lane_mean * seen\n"
           "    mean = tl.sum(total, 0) / n\n"
           "    lane_mean -= mean\n"
           "    total = lane_spread + seen * lane_mean * lane_mean\n"
           "    tl.store(y_ptr, tl.sum(total, 0) / n)\n");
    expect("triton-fuse-passes", 0, KG_LANG_TRITON,
           "@triton.jit\n"
           "def k(x_ptr, y_ptr, n, B: tl.constexpr):\n"
           "    total = tl.zeros([B], tl.float32)\n"
           "    for at in range(0, n, B):\n"
           "        x = tl.load(x_ptr + at + tl.arange(0, B))\n"
           "        total += x\n"
           "    s = tl.sum(total, 0)\n"
           "    squares = tl.zeros([B], tl.float32)\n"
           "    for at in range(0, n, B):\n"
           "        x = tl.load(x_ptr + at + tl.arange(0, B))\n"
           "        x2 = x * x\n"
           "        squares += x2\n"
           "    tl.store(y_ptr, s + tl.sum(squares, 0))\n",
           "@triton.jit\n"
           "def k(x_ptr, y_ptr, n, B: tl.constexpr):\n"
           "    total = tl.zeros([B], tl.float32)\n"
           "    squares = tl.zeros([B], tl.float32)\n"
           "    for at in range(0, n, B):\n"
           "        x = tl.load(x_ptr + at + tl.arange(0, B))\n"
           "        total += x\n"
           "        x2 = x * x\n"
           "        squares += x2\n"
           "    s = tl.sum(total, 0)\n"
           "    tl.store(y_ptr, s + tl.sum(squares, 0))\n");
}

#define FIRST                                  \
    HEAD "    t = tl.zeros([B], tl.float32)\n" \
         "    for at in range(0, n, B):\n"     \
         "        i = at + tl.arange(0, B)\n"  \
         "        t += tl.load(x + i, mask=i < n, other=0.0)\n"
#define SECOND(between, difference)                           \
    FIRST between                                             \
        "    for at in range(0, n, B):\n"                     \
        "        i = at + tl.arange(0, B)\n"                  \
        "        v = tl.load(x + i, mask=i < n, other=0.0)\n" \
        "        d = " difference                             \
        "\n"                                                  \
        "        q += d * d\n"                                \
        "    tl.store(out, tl.sum(q, 0))\n"
#define MEAN    "    m = tl.sum(t, 0) / n\n    q = tl.zeros([B], tl.float32)\n"
#define UNKNOWN "the second loop needs what the first found, in a way that is not known"

// The mask may stand around the square as well.
static void masked_squares_are_one_pass_too(void **state) {
    (void)state;
    char *difference = repaired("triton-fuse-passes", 0, KG_LANG_TRITON, SECOND(MEAN, "tl.where(i < n, v - m, 0.0)"));
    char *square = repaired("triton-fuse-passes", 0, KG_LANG_TRITON,
                            FIRST MEAN
                            "    for at in range(0, n, B):\n"
                            "        i = at + tl.arange(0, B)\n"
                            "        v = tl.load(x + i, mask=i < n, other=0.0)\n"
                            "        q += tl.where(i < n, (v - m) * (v - m), 0.0)\n"
                            "    tl.store(out, tl.sum(q, 0))\n");
    assert_non_null(strstr(difference, "lane_spread += change"));
    assert_string_equal(square, difference);
    free(difference);
    free(square);
}

static void passes_that_stay_two(void **state) {
    (void)state;
    static const struct {
        const char *source, *why;
    } two[] = {
        {SECOND(MEAN, "v - m"), UNKNOWN},                            // past the row's end too
        {SECOND(MEAN, "tl.where(i < n - 1, v - m, 0.0)"), UNKNOWN},  // not every column
        {SECOND(MEAN, "tl.where(i < n, v + m, 0.0)"), UNKNOWN},
        {SECOND(MEAN, "tl.where(i < n, 2 * v - m, 0.0)"), UNKNOWN},  // of another value
        {SECOND(MEAN "    m = m * 2\n", "tl.where(i < n, v - m, 0.0)"), UNKNOWN},
        {SECOND(MEAN "    x = x + n\n", "tl.where(i < n, v - m, 0.0)"), UNKNOWN},  // of another row
        {SECOND("    m = tl.sum(t, 0) / 7\n    q = tl.zeros([B], tl.float32)\n", "tl.where(i < n, v - m, 0.0)"),
         UNKNOWN},
        {SECOND(MEAN "    tl.store(out + 1, m)\n", "tl.where(i < n, v - m, 0.0)"),
         "more than assignments stands between the loops"},
        {SECOND(MEAN "    z = t * 2\n", "tl.where(i < n, v - m, 0.0)"), "what the loops carry is used in more places"},
        // The sum goes on in the second loop.
        {FIRST "    m = tl.sum(t, 0) / n\n"
               "    for at in range(0, n, B):\n"
               "        i = at + tl.arange(0, B)\n"
               "        d = tl.where(i < n, tl.load(x + i, mask=i < n, other=0.0) - m, 0.0)\n"
               "        t += d * d\n"
               "    tl.store(out, tl.sum(t, 0))\n",
         "what the loops carry is used in more places"},
        {FIRST "    q = tl.zeros([B], tl.float32)\n"
               "    for at in range(0, M, B):\n"
               "        q += tl.load(x + at + tl.arange(0, B))\n",
         "the loops do not go over the same blocks"},
        {FIRST "    for at in range(0, n, B):\n"
               "        tl.store(out + at + tl.arange(0, B), t)\n",
         "a loop does more than load and fold"},
        {FIRST, "no kernel has two loops"},
    };
    for (size_t i = 0; i < sizeof two / sizeof *two; i++)
        expect("triton-fuse-passes", 0, KG_LANG_TRITON, two[i].source, two[i].why);
}

#define TWICE                                                                   \
    "__global__ void twice(const float *__restrict__ x, float *out, int n) {\n" \
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"                      \
    "    if (i < n) out[i] = 2 * x[i];\n"                                       \
    "}\n"
#define TWICE_IN_PACKS                                                                   \
    "template <typename T>\n"                                                            \
    "struct alignas(16) Pack {\n"                                                        \
    "    T v[16 / sizeof(T)];\n"                                                         \
    "};\n"                                                                               \
    "\n"                                                                                 \
    "__global__ void twice(const float *__restrict__ x, float *out, int n) {\n"          \
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"                               \
    "    // Sixteen bytes a thread where all addresses allow it, the rest one by one.\n" \
    "    const int lanes = 16 / sizeof(float);\n"                                        \
    "    const long long packs = ((size_t)out | (size_t)x) % 16 == 0 ? n / lanes : 0;\n" \
    "    const long long threads = (long long)gridDim.x * blockDim.x;\n"                 \
    "    for (long long pack = i; pack < packs; pack += threads) {\n"                    \
    "        Pack<float> out_pack;\n"                                                    \
    "        const Pack<float> x_pack = ((const Pack<float> *)x)[pack];\n"               \
    "#pragma unroll\n"                                                                   \
    "        for (int lane = 0; lane < lanes; lane++) {\n"                               \
    "            out_pack.v[lane] = 2 * x_pack.v[lane];\n"                               \
    "        }\n"                                                                        \
    "        ((Pack<float> *)out)[pack] = out_pack;\n"                                   \
    "    }\n"                                                                            \
    "    for (long long at = packs * lanes + i; at < n; at += threads) {\n"              \
    "        const int i = (int)at;\n"                                                   \
    "        out[i] = 2 * x[i];\n"                                                       \
    "    }\n"                                                                            \
    "}\n"
#define LAUNCH          "void f() { twice<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n); }\n"
#define LAUNCH_IN_PACKS "void f() { twice<<<((n + 255) / 256 + 3) / 4, 256, 0, stream>>>(x, y, n); }\n"
// An inner loop that the grammar does not understand behind a pragma.
#define ODD(more)                       \
    "__global__ void odd(float *x) {\n" \
    "    for (int k = 0; k < 4; k++)\n" \
    "#pragma unroll\n"                  \
    "        for (int j = 0; j < 4; j++) x[j] += k;\n" more "}\n"

static void elements_move_in_packs(void **state) {
    (void)state;
    expect("cuda-vector-loads", 0, KG_LANG_CUDA, TWICE LAUNCH, TWICE_IN_PACKS LAUNCH_IN_PACKS);
    expect(
        "cuda-vector-loads", 0, KG_LANG_CUDA,
        "#include <cuda_fp16.h>\n"
        "template <typename T>\n"
        "__global__ void scale(const T *x, const T *bias, T *out, long n, int c) {\n"
        "    const long i = blockIdx.x * (long)blockDim.x + threadIdx.x;\n"
        "    if (i >= n) return;\n"
        "    // as it was\n"
        "    float v = (float)x[i];\n"
        "    v += (float)bias[i % c];\n"
        "    if (v > 0)\n"
        "        out[i] = v;\n"
        "}\n"
        "__global__ void add(float *x, const float *__restrict__ y, size_t n) {\n"
        "    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {\n"
        "        x[i] += y[i];\n"
        "    }\n"
        "}\n"
        "void f() { scale<float><<<(n + 255) / 256, 256>>>(x, b, y, n, 7); add<<<1024, 256>>>(x, y, n); }\n",
        "#include <cuda_fp16.h>\n"
        "template <typename T>\n"
        "struct alignas(16) Pack {\n"
        "    T v[16 / sizeof(T)];\n"
        "};\n"
        "\n"
        "template <typename T>\n"
        "__global__ void scale(const T *x, const T *bias, T *out, long n, int c) {\n"
        "    const long i = blockIdx.x * (long)blockDim.x + threadIdx.x;\n"
        "    // Sixteen bytes a thread where all addresses allow it, the rest one by one.\n"
        "    const int lanes = 16 / sizeof(T);\n"
        "    const long long packs = 16 % sizeof(T) == 0 && ((size_t)x | (size_t)out) % 16 == 0 ? n / lanes : 0;\n"
        "    const long long threads = (long long)gridDim.x * blockDim.x;\n"
        "    for (long long pack = i; pack < packs; pack += threads) {\n"
        "        const Pack<T> x_pack = ((const Pack<T> *)x)[pack];\n"
        "        Pack<T> out_pack = ((const Pack<T> *)out)[pack];\n"
        "#pragma unroll\n"
        "        for (int lane = 0; lane < lanes; lane++) {\n"
        "            const long i = (long)(pack * lanes + lane);\n"
        "            // as it was\n"
        "            float v = (float)x_pack.v[lane];\n"
        "            v += (float)bias[i % c];\n"
        "            if (v > 0)\n"
        "                out_pack.v[lane] = v;\n"
        "        }\n"
        "        ((Pack<T> *)out)[pack] = out_pack;\n"
        "    }\n"
        "    for (long long at = packs * lanes + i; at < n; at += threads) {\n"
        "        const long i = (long)at;\n"
        "        // as it was\n"
        "        float v = (float)x[i];\n"
        "        v += (float)bias[i % c];\n"
        "        if (v > 0)\n"
        "            out[i] = v;\n"
        "    }\n"
        "}\n"
        "__global__ void add(float *x, const float *__restrict__ y, size_t n) {\n"
        "    // Sixteen bytes a thread where all addresses allow it, the rest one by one.\n"
        "    const int lanes = 16 / sizeof(float);\n"
        "    const long long packs = ((size_t)x | (size_t)y) % 16 == 0 ? n / lanes : 0;\n"
        "    const long long threads = (long long)gridDim.x * blockDim.x;\n"
        "    for (long long pack = (long long)blockIdx.x * blockDim.x + threadIdx.x; pack < packs; pack += threads) {\n"
        "        Pack<float> x_pack = ((const Pack<float> *)x)[pack];\n"
        "        const Pack<float> y_pack = ((const Pack<float> *)y)[pack];\n"
        "#pragma unroll\n"
        "        for (int lane = 0; lane < lanes; lane++) {\n"
        "            x_pack.v[lane] += y_pack.v[lane];\n"
        "        }\n"
        "        ((Pack<float> *)x)[pack] = x_pack;\n"
        "    }\n"
        "    for (long long at = packs * lanes + (long long)blockIdx.x * blockDim.x + threadIdx.x; at < n; at += threads) {\n"
        "        const size_t i = (size_t)at;\n"
        "        x[i] += y[i];\n"
        "    }\n"
        "}\n"
        "void f() { scale<float><<<((n + 255) / 256 + 3) / 4, 256>>>(x, b, y, n, 7); add<<<1024, 256>>>(x, y, n); }\n");
}

#define KERNEL                                               \
    "__global__ void k(const float *x, float *y, int n) {\n" \
    "    const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
static void kernels_that_stay_scalar(void **state) {
    (void)state;
    static const struct {
        const char *source, *why;
    } kernels[] = {
        {KERNEL "    if (i < n) y[i] = x[i] + x[i + 1];\n}\n", "x is used at more than the thread's own element"},
        {KERNEL "    if (i < n) y[i] = y[0] + x[i];\n}\n", "y is used at more than the thread's own element"},
        {KERNEL "    if (i < n) y[n - 1 - i] = x[i];\n}\n", "no array is written at the thread's own element"},
        {KERNEL "    if (i < n) { y[i] = x[i]; *y = 1; }\n}\n",
         "threads work together, or through addresses that are not plain"},
        {KERNEL "    if (i < n) y[i] = __shfl_down_sync(~0u, x[i], 1);\n}\n",
         "threads work together, or through addresses that are not plain"},
        {KERNEL "    if (i >= n) return;\n    if (x[i] < 0) return;\n    y[i] = x[i];\n}\n",
         "the body is left by return or break"},
        {KERNEL "    if (i < n) y[i] = x[i];\n    else y[0] = 0;\n}\n", "no kernel of one element a thread"},
        {KERNEL "    if (i < n) y[i] = x[i];\n    y[0] = 1;\n}\n", "no kernel of one element a thread"},
        {"__global__ void k(const float *x, double *y, int n) {\n"
         "    const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
         "    if (i < n) y[i] = x[i];\n}\n",
         "the arrays have elements of several types"},
        {"__global__ void k(const float *x, float *y, int n) {\n"
         "    const int i = blockIdx.x * blockDim.x + threadIdx.x * 2;\n"
         "    if (i < n) y[i] = x[i];\n}\n",
         "no kernel of one element a thread"},
        {"__global__ void k(volatile float *x, float *y, int n) {\n"
         "    const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
         "    if (i < n) y[i] = x[i];\n}\n",
         "an array is no plain parameter of the kernel"},
    };
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        expect("cuda-vector-loads", 0, KG_LANG_CUDA, kernels[i].source, kernels[i].why);
}

// What the grammar does not understand, elsewhere in the file, hinders nothing; in the kernel or around its launch it
// does.
static void errors_elsewhere_hinder_nothing(void **state) {
    (void)state;
    const char *const why = "twice, or what stands beside or launches it, has parts that are no cuda";
    expect("cuda-vector-loads", 0, KG_LANG_CUDA, ODD("") TWICE LAUNCH, ODD("") TWICE_IN_PACKS LAUNCH_IN_PACKS);
    expect("cuda-vector-loads", 0, KG_LANG_CUDA, TWICE LAUNCH ODD("    twice<<<1, 1>>>(x, x, 1);\n"), why);
    expect("cuda-vector-loads", 0, KG_LANG_CUDA, "namespace {\n" TWICE "}\n" ODD("    twice<<<1, 1>>>(x, x, 1);\n"),
           why);
    expect("cuda-vector-loads", 0, KG_LANG_CUDA, TWICE ") ] 7;\n" LAUNCH, why);
    expect("cuda-vector-loads", 0, KG_LANG_CUDA, ODD(""),
           "odd, or what stands beside or launches it, has parts that are no cuda");
    expect("triton-warps", 0, KG_LANG_TRITON, HEAD "    pass\nk[(1,)](x)\n)\n",
           "the source has parts that are no triton");
}

// A place that a repair looks at may be missing.
static void what_is_not_there_is_no_place(void **state) {
    (void)state;
    expect("cuda-vector-loads", 0, KG_LANG_CUDA,
           "__global__ void set(view x, float *y) {\n    x.t = 0;\n    y[threadIdx.x] = 1;\n}\n",
           "no kernel of one element a thread");
    expect("cuda-vector-loads", 0, KG_LANG_CUDA,
           "__global__ void set(float *y, int n) {\n"
           "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
           "    if (i >= n) {}\n"
           "    y[i] = 1;\n"
           "}\n",
           "no kernel of one element a thread");
    expect("tilelang-threads", 0, KG_LANG_TILELANG, "with T.Kernel() as row:\n    X[row, 0] = 1\n",
           "with T.Kernel(threads=256) as row:\n    X[row, 0] = 1\n");
}

static void conversions_move_into_the_kernel(void **state) {
    (void)state;
    expect("convert-in-kernel", 0, KG_LANG_TRITON,
           HEAD
           "    tl.store(out, tl.load(x) * tl.load(x + 1).to(tl.float32))\n"
           "def f(x):\n"
           "    k[(1,)](x.float(), out, 1, 2)\n",
           HEAD
           "    tl.store(out, tl.load(x).to(tl.float32) * tl.load(x + 1).to(tl.float32))\n"
           "def f(x):\n"
           "    k[(1,)](x, out, 1, 2)\n");
    expect("store-native", 0, KG_LANG_TRITON,
           "def f(x):\n"
           "    out = torch.empty(x.shape, dtype=torch.float32, device=x.device)\n"
           "    return out.to(x.dtype)\n",
           "def f(x):\n"
           "    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)\n"
           "    return out\n");
}

static void outer_loops_run_on_all_cores(void **state) {
    (void)state;
    expect("c-parallel-loops", 0, KG_LANG_C,
           "int f(DLTensor *out) {\n"
           "    for (int64_t i = 0; i < n; i++) {\n"
           "        double sum = 0;\n"
           "        for (int64_t k = 0; k < m; k++) sum += a(i, k);\n"
           "        kg_put(out, i, sum);\n"
           "    }\n"
           "    return 0;\n"
           "}\n",
           "int f(DLTensor *out) {\n"
           "    #pragma omp parallel for\n"
           "    for (int64_t i = 0; i < n; i++) {\n"
           "        double sum = 0;\n"
           "        for (int64_t k = 0; k < m; k++) sum += a(i, k);\n"
           "        kg_put(out, i, sum);\n"
           "    }\n"
           "    return 0;\n"
           "}\n");
    expect("c-parallel-loops", 0, KG_LANG_C,
           "int f(DLTensor *out) {\n"
           "    double last = 0;\n"
           "    for (int64_t i = 0; i < n; i++) { last += a(i); kg_put(out, i, last); }\n"
           "    return 0;\n"
           "}\n",
           "the loop changes last, which is declared outside of it");
    expect("c-parallel-loops", 0, KG_LANG_C, "int f( {", "the source has parts that are no c");
}

#define TILED                                                    \
    "@T.prim_func\n"                                             \
    "def main(X: T.Tensor((M, N), dtype), Y: T.Tensor((M,))):\n" \
    "    with T.Kernel(M, threads=threads) as row:\n"            \
    "        s = T.alloc_local((1,), dtype)\n"                   \
    "        p = T.alloc_local((1,), \"int32\")\n"

static void tilelang_sums_go_in_blocks(void **state) {
    (void)state;
    expect("tilelang-reduce", 0, KG_LANG_TILELANG,
           TILED
           "        s[0] = 0  # as it was\n"
           "        for j in T.serial(N):\n"
           "            x = X[row, j]\n"
           "            s[0] += x * (1 + j)  # kept\n"
           "        Y[row] = s[0]\n",
           TILED
           "        s[0] = 0  # as it was\n"
           "        s_by_lane = T.alloc_fragment((threads * 4,), dtype)\n"
           "        s_of_all = T.alloc_fragment((1,), dtype)\n"
           "        T.clear(s_by_lane)\n"
           "        for j_block in T.serial(T.ceildiv(N, threads * 4)):\n"
           "            for j_lane in T.Parallel(threads * 4):\n"
           "                if j_block * (threads * 4) + j_lane < N:\n"
           "                    x = X[row, j_block * (threads * 4) + j_lane]\n"
           "                    s_by_lane[j_lane] += x * (1 + (j_block * (threads * 4) + j_lane))  # kept\n"
           "        T.reduce_sum(s_by_lane, s_of_all, dim=0)\n"
           "        s[0] += s_of_all[0]\n"
           "        Y[row] = s[0]\n");
    expect(
        "tilelang-reduce", 1, KG_LANG_TILELANG,
        TILED
        "        s[0] = X[row, 0]\n"
        "        for j in range(1, N):\n"
        "            s[0] = T.max(X[row, j], s[0])\n",
        TILED
        "        s[0] = X[row, 0]\n"
        "        s_by_lane = T.alloc_fragment((threads,), dtype)\n"
        "        s_of_all = T.alloc_fragment((1,), dtype)\n"
        "        for j_lane in T.Parallel(threads):\n"
        "            s_by_lane[j_lane] = s[0]\n"
        "        for j_block in T.serial(T.ceildiv(N - 1, threads)):\n"
        "            for j_lane in T.Parallel(threads):\n"
        "                if 1 + j_block * (threads) + j_lane < N:\n"
        "                    s_by_lane[j_lane] = T.max(X[row, 1 + j_block * (threads) + j_lane], s_by_lane[j_lane])\n"
        "        T.reduce_max(s_by_lane, s_of_all, dim=0)\n"
        "        s[0] = T.max(s[0], s_of_all[0])\n");
    // A row that lies in a fragment has a lane an element.
    expect("tilelang-reduce", 0, KG_LANG_TILELANG,
           TILED
           "        x = T.alloc_fragment((N,), dtype)\n"
           "        T.copy(X[row, :], x)\n"
           "        for j in T.serial(N):\n"
           "            s[0] += x[j]\n",
           TILED
           "        x = T.alloc_fragment((N,), dtype)\n"
           "        T.copy(X[row, :], x)\n"
           "        s_by_lane = T.alloc_fragment((N,), dtype)\n"
           "        s_of_all = T.alloc_fragment((1,), dtype)\n"
           "        T.clear(s_by_lane)\n"
           "        for j_lane in T.Parallel(N):\n"
           "            s_by_lane[j_lane] += x[j_lane]\n"
           "        T.reduce_sum(s_by_lane, s_of_all, dim=0)\n"
           "        s[0] += s_of_all[0]\n");
}

// Of equal values the first counts, of values and NaN the first NaN.
static void tilelang_places_of_the_largest(void **state) {
    (void)state;
    expect(
        "tilelang-reduce", 1, KG_LANG_TILELANG,
        TILED
        "        for j in T.serial(N):\n"
        "            if X[row, j] > s[0] or T.isnan(X[row, j]) and not T.isnan(s[0]):\n"
        "                s[0] = X[row, j]\n"
        "                p[0] = j\n",
        TILED
        "        s_by_lane = T.alloc_fragment((threads,), dtype)\n"
        "        s_of_all = T.alloc_fragment((1,), dtype)\n"
        "        p_by_lane = T.alloc_fragment((threads,), \"int32\")\n"
        "        p_of_all = T.alloc_fragment((1,), \"int32\")\n"
        "        for j_lane in T.Parallel(threads):\n"
        "            s_by_lane[j_lane] = s[0]\n"
        "            p_by_lane[j_lane] = p[0]\n"
        "        for j_block in T.serial(T.ceildiv(N, threads)):\n"
        "            for j_lane in T.Parallel(threads):\n"
        "                if j_block * (threads) + j_lane < N:\n"
        "                    if X[row, j_block * (threads) + j_lane] > s_by_lane[j_lane] or T.isnan(X[row, j_block * (threads) + j_lane]) and not T.isnan(s_by_lane[j_lane]):\n"
        "                        s_by_lane[j_lane] = X[row, j_block * (threads) + j_lane]\n"
        "                        p_by_lane[j_lane] = j_block * (threads) + j_lane\n"
        "        T.reduce_max(s_by_lane, s_of_all, dim=0)\n"
        "        p_nan_by_lane = T.alloc_fragment((threads,), \"int32\")\n"
        "        p_nan_of_all = T.alloc_fragment((1,), \"int32\")\n"
        "        for j_lane in T.Parallel(threads):\n"
        "            p_nan_by_lane[j_lane] = T.if_then_else(T.isnan(s_by_lane[j_lane]), p_by_lane[j_lane], T.max_value(\"int32\"))\n"
        "        T.reduce_min(p_nan_by_lane, p_nan_of_all, dim=0)\n"
        "        s_nan_by_lane = T.alloc_fragment((threads,), dtype)\n"
        "        s_nan_of_all = T.alloc_fragment((1,), dtype)\n"
        "        for j_lane in T.Parallel(threads):\n"
        "            s_nan_by_lane[j_lane] = T.if_then_else(T.isnan(s_by_lane[j_lane]), s_by_lane[j_lane], T.cast(0, dtype))\n"
        "        T.reduce_sum(s_nan_by_lane, s_nan_of_all, dim=0)\n"
        "        for j_lane in T.Parallel(threads):\n"
        "            p_by_lane[j_lane] = T.if_then_else(s_by_lane[j_lane] == s_of_all[0], p_by_lane[j_lane], T.max_value(\"int32\"))\n"
        "        T.reduce_min(p_by_lane, p_of_all, dim=0)\n"
        "        p[0] = T.if_then_else(p_nan_of_all[0] < T.max_value(\"int32\"), p_nan_of_all[0], p_of_all[0])\n"
        "        s[0] = T.if_then_else(T.isnan(s_nan_of_all[0]), s_nan_of_all[0], s_of_all[0])\n");
    // Where nothing asks for NaN, one that stands first stays, as in the loop.
    expect(
        "tilelang-reduce", 1, KG_LANG_TILELANG,
        TILED
        "        for j in T.serial(N):\n"
        "            if X[row, j] < s[0]:\n"
        "                s[0] = X[row, j]\n"
        "                p[0] = j\n",
        TILED
        "        s_by_lane = T.alloc_fragment((threads,), dtype)\n"
        "        s_of_all = T.alloc_fragment((1,), dtype)\n"
        "        p_by_lane = T.alloc_fragment((threads,), \"int32\")\n"
        "        p_of_all = T.alloc_fragment((1,), \"int32\")\n"
        "        for j_lane in T.Parallel(threads):\n"
        "            s_by_lane[j_lane] = s[0]\n"
        "            p_by_lane[j_lane] = p[0]\n"
        "        for j_block in T.serial(T.ceildiv(N, threads)):\n"
        "            for j_lane in T.Parallel(threads):\n"
        "                if j_block * (threads) + j_lane < N:\n"
        "                    if X[row, j_block * (threads) + j_lane] < s_by_lane[j_lane]:\n"
        "                        s_by_lane[j_lane] = X[row, j_block * (threads) + j_lane]\n"
        "                        p_by_lane[j_lane] = j_block * (threads) + j_lane\n"
        "        T.reduce_min(s_by_lane, s_of_all, dim=0)\n"
        "        for j_lane in T.Parallel(threads):\n"
        "            p_by_lane[j_lane] = T.if_then_else(s_by_lane[j_lane] == s_of_all[0], p_by_lane[j_lane], T.max_value(\"int32\"))\n"
        "        T.reduce_min(p_by_lane, p_of_all, dim=0)\n"
        "        if s_of_all[0] < s[0]:\n"
        "            s[0] = s_of_all[0]\n"
        "            p[0] = p_of_all[0]\n");
}

static void tilelang_loops_that_are_no_reductions(void **state) {
    (void)state;
    static const struct {
        const char *body, *why;
    } loops[] = {
        {"            s[0] = s[0] * X[row, j]\n", "the loop carries a value that is no sum, maximum or minimum"},
        {"            s[0] += X[row, j] * s[0]\n", "what the loop carries goes into more than its own reduction"},
        {"            s[0] += X[row, j]\n            Y[row, j] = s[0]\n",
         "the loop stores, or carries a value that is no v[0]"},
        {"            Y[0] += X[row, j]\n",
         "the loop carries Y, which is no T.alloc_local or T.alloc_fragment of one element"},
        {"            for i in T.Parallel(threads):\n                s[0] += X[row, j]\n",
         "the loop holds another loop"},
        {"            if X[row, j] >= s[0]:\n                s[0] = X[row, j]\n",
         "the branch keeps something else than the largest or smallest value"},
        {"            if X[row, j] > s[0]:\n                s[0] = X[row, j + 1]\n",
         "the branch keeps something else than the largest or smallest value"},
        {"            if X[row, j] > s[0]:\n                s[0] = X[row, j]\n                p[0] = N - j\n",
         "the branch keeps more than the value and where it stands"},
        {"            s[0] += X[row, 0]\n", "the loop reads nothing at its own counter"},
    };
    for (size_t i = 0; i < sizeof loops / sizeof *loops; i++) {
        char source[1024];
        snprintf(source, sizeof source, "%s        for j in T.serial(N):\n%s", TILED, loops[i].body);
        expect("tilelang-reduce", 0, KG_LANG_TILELANG, source, loops[i].why);
    }
    expect("tilelang-reduce", 0, KG_LANG_TILELANG,
           TILED
           "        tx = T.get_thread_binding()\n"
           "        for j in T.serial(N):\n"
           "            s[0] += X[tx, j]\n",
           "the kernel tells its threads apart by itself");
    expect("tilelang-reduce", 0, KG_LANG_TILELANG,
           TILED
           "        for i in T.Parallel(threads):\n"
           "            for j in T.serial(N):\n"
           "                s[0] += X[i, j]\n",
           "the loop stands in another loop or branch, which threads may walk by themselves");
    expect("tilelang-reduce", 0, KG_LANG_TILELANG,
           TILED
           "        for j in T.serial(8):\n"
           "            s[0] += X[row, j]\n",
           "the loop goes in blocks already, or has bounds that are not understood");
}

static void tilelang_kernels_get_their_threads(void **state) {
    (void)state;
    expect("tilelang-threads", 0, KG_LANG_TILELANG,
           "def k(dtype, threads=32):\n"
           "    @T.prim_func\n"
           "    def main(X: T.Tensor((M, N), dtype)):\n"
           "        with T.Kernel(M, threads=threads) as row:\n"
           "            X[row, 0] = 1\n"
           "        with T.Kernel(M, threads=64) as row:\n"
           "            X[row, 0] = 1\n"
           "        with T.Kernel(M) as row:\n"
           "            X[row, 0] = 1\n",
           "def k(dtype, threads=256):\n"
           "    @T.prim_func\n"
           "    def main(X: T.Tensor((M, N), dtype)):\n"
           "        with T.Kernel(M, threads=threads) as row:\n"
           "            X[row, 0] = 1\n"
           "        with T.Kernel(M, threads=256) as row:\n"
           "            X[row, 0] = 1\n"
           "        with T.Kernel(M, threads=256) as row:\n"
           "            X[row, 0] = 1\n");
    expect("tilelang-threads", 0, KG_LANG_TILELANG,
           "def k(dtype, threads):\n"
           "    with T.Kernel(M, threads=threads) as row:\n"
           "        X[row, 0] = 1\n",
           "no kernel whose number of threads is said by a number");
}

// As `diff -u` has it.
static void differences_are_a_patch(void **state) {
    (void)state;
    char *d = kg_unified_diff("a.c", "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\nfour\n5\n6\n7\n8\n9\nten\n");
    assert_string_equal(d, "--- a.c\n+++ a.c\n@@ -1,9 +1,10 @@\n 1\n 2\n 3\n-4\n+four\n 5\n 6\n 7\n 8\n 9\n+ten\n");
    free(d);
    d = kg_unified_diff("a.c", "x\n1\n2\n3\n4\n5\n6\n7\n8\ny", "X\n1\n2\n3\n4\n5\n6\n7\n8\nY\n");
    assert_string_equal(
        d,
        "--- a.c\n+++ a.c\n@@ -1,4 +1,4 @@\n-x\n+X\n 1\n 2\n 3\n@@ -7,4 +7,4 @@\n 6\n 7\n 8\n-y\n\\ No newline at "
        "end of file\n+Y\n");
    free(d);
    d = kg_unified_diff("a.c", "same\n", "same\n");
    assert_string_equal(d, "");
    free(d);
}

// A repair that answers a rule nobody has would never be tried.
static void answers_name_rules(void **state) {
    (void)state;
    for (size_t i = 0; kg_repair(i); i++) {
        const char *p = kg_repair(i)->answers;
        while (strcmp(p, "*") != 0 && *p) {
            const size_t n = strcspn(p, " ");
            bool known = false;
            for (size_t t = 0; kg_rule_tables(t); t++)
                for (size_t k = 0; k < kg_rule_tables(t)->n; k++) {
                    const char *id = kg_rule_tables(t)->rules[k].id;
                    known |= strlen(id) == n && strncmp(id, p, n) == 0;
                }
            if (!known) fail_msg("%s answers %.*s, which is no rule", kg_repair(i)->id, (int)n, p);
            p += n + strspn(p + n, " ");
        }
    }
}

// docs/findings.md says of every repair what it does.
static void the_page_lists_them(void **state) {
    (void)state;
    char *text;
    size_t len;
    assert_int_equal(kg_read_file(KG_SOURCE_DIR "/docs/findings.md", 1 << 20, &text, &len, NULL), 0);
    for (size_t i = 0; kg_repair(i); i++) {
        char *id = kg_format("`%s`", kg_repair(i)->id);
        if (!strstr(text, id)) fail_msg("docs/findings.md lacks %s", id);
        free(id);
    }
    free(text);
}

static int open_repairer(void **state) {
    (void)state;
    repairer = kg_repairer_open();
    return 0;
}

static int close_repairer(void **state) {
    (void)state;
    kg_repairer_close(repairer);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(serial_loop_goes_in_blocks),
        cmocka_unit_test(what_the_turns_hand_on_is_left_alone),
        cmocka_unit_test(tiles_are_grouped),
        cmocka_unit_test(tiles_that_have_no_name_are_grouped),
        cmocka_unit_test(tiles_that_are_not_all_of_a_program_are_left_alone),
        cmocka_unit_test(launches_get_their_warps),
        cmocka_unit_test(configurations_are_tuned),
        cmocka_unit_test(few_configurations_become_more),
        cmocka_unit_test(what_cannot_be_tuned),
        cmocka_unit_test(rows_are_streamed),
        cmocka_unit_test(rows_that_must_stay_whole),
        cmocka_unit_test(passes_become_one),
        cmocka_unit_test(masked_squares_are_one_pass_too),
        cmocka_unit_test(passes_that_stay_two),
        cmocka_unit_test(elements_move_in_packs),
        cmocka_unit_test(errors_elsewhere_hinder_nothing),
        cmocka_unit_test(kernels_that_stay_scalar),
        cmocka_unit_test(what_is_not_there_is_no_place),
        cmocka_unit_test(conversions_move_into_the_kernel),
        cmocka_unit_test(outer_loops_run_on_all_cores),
        cmocka_unit_test(tilelang_sums_go_in_blocks),
        cmocka_unit_test(tilelang_places_of_the_largest),
        cmocka_unit_test(tilelang_loops_that_are_no_reductions),
        cmocka_unit_test(tilelang_kernels_get_their_threads),
        cmocka_unit_test(differences_are_a_patch),
        cmocka_unit_test(answers_name_rules),
        cmocka_unit_test(the_page_lists_them),
    };
    return cmocka_run_group_tests(tests, open_repairer, close_repairer);
}
