// Dtypes: names, ranges, and one element to and from double.
#include <math.h>
#include <string.h>

#include "base/base.h"
#include "kgate/kernel.h"  // the 16-bit conversions that candidates get too

typedef struct {
    const char *name, *brief;
    size_t size;
    bool is_float;
    double unit, max, tiny, min;  // min: least value of integers
} dtype_info;

// Unit roundoffs and ranges: IEEE 754-2019 table 3.5; bfloat16: 8 significant bits with binary32's exponents. tiny is
// half the denormal spacing, but sixteen times the least normal where hardware and libraries commonly flush denormals
// to zero: a denormal factor flushed takes a product of up to 2^-126 times the other one with it, and a fast
// exponential that gives 0 below, say, e^-87 the least of the normal numbers.
static const dtype_info info[KG_ALL_DTYPES] = {
    [KG_F64] = {"float64", "f64", 8, true, 0x1p-53, 0x1.fffffffffffffp1023, 0x1p-1074, 0},
    [KG_F32] = {"float32", "f32", 4, true, 0x1p-24, 0x1.fffffep127, 0x1p-122, 0},
    [KG_F16] = {"float16", "f16", 2, true, 0x1p-11, 65504.0, 0x1p-25, 0},
    [KG_BF16] = {"bfloat16", "bf16", 2, true, 0x1p-8, 0x1.fep127, 0x1p-122, 0},
    [KG_I64] = {"int64", "i64", 8, false, 0, 9223372036854775807.0, 0, -9223372036854775808.0},
    [KG_I32] = {"int32", "i32", 4, false, 0, 2147483647.0, 0, -2147483648.0},
    [KG_I16] = {"int16", "i16", 2, false, 0, 32767.0, 0, -32768.0},
    [KG_I8] = {"int8", "i8", 1, false, 0, 127.0, 0, -128.0},
    [KG_U8] = {"uint8", "u8", 1, false, 0, 255.0, 0, 0},
    [KG_BOOL] = {"bool", "bool", 1, false, 0, 1.0, 0, 0},
    [KG_DTYPES] = {"", "", 0, false, 0, 0, 0, 0},
    [KG_C64] = {"complex64", "c64", 8, false, 0x1p-24, 0x1.fffffep127, 0x1p-122, 0},
    [KG_C128] = {"complex128", "c128", 16, false, 0x1p-53, 0x1.fffffffffffffp1023, 0x1p-1074, 0},
};

size_t kg_dtype_size(kg_dtype t) { return info[t].size; }
const char *kg_dtype_name(kg_dtype t) { return info[t].name; }
const char *kg_dtype_short(kg_dtype t) { return info[t].brief; }
bool kg_dtype_is_float(kg_dtype t) { return info[t].is_float; }
bool kg_dtype_is_complex(kg_dtype t) { return t == KG_C64 || t == KG_C128; }
kg_dtype kg_dtype_part(kg_dtype t) { return t == KG_C64 ? KG_F32 : t == KG_C128 ? KG_F64 : t; }
double kg_dtype_unit(kg_dtype t) { return info[t].unit; }
double kg_dtype_max(kg_dtype t) { return info[t].max; }
double kg_dtype_tiny(kg_dtype t) { return info[t].tiny; }

int kg_dtype_parse(const char *s) {
    if (strncmp(s, "torch.", 6) == 0) s += 6;
    for (int t = 0; t < KG_ALL_DTYPES; t++)
        if (t != KG_DTYPES && (strcmp(s, info[t].name) == 0 || strcmp(s, info[t].brief) == 0)) return t;
    return -1;
}

double kg_load(kg_dtype t, const void *base, int64_t index) {
    switch (t) {
    case KG_F64: return ((const double *)base)[index];
    case KG_F32: return (double)((const float *)base)[index];
    case KG_F16: return kg_half_to_double(((const uint16_t *)base)[index]);
    case KG_BF16: return kg_bfloat_to_double(((const uint16_t *)base)[index]);
    default: return (double)kg_load_int(t, base, index);
    }
}

int64_t kg_load_int(kg_dtype t, const void *base, int64_t index) {
    switch (t) {
    case KG_I64: return ((const int64_t *)base)[index];
    case KG_I32: return ((const int32_t *)base)[index];
    case KG_I16: return ((const int16_t *)base)[index];
    case KG_I8: return ((const int8_t *)base)[index];
    case KG_U8: return ((const uint8_t *)base)[index];
    case KG_BOOL: return ((const uint8_t *)base)[index] != 0;
    default: return (int64_t)kg_load(t, base, index);
    }
}

// Nearest integer (ties to even), clamped to the dtype; NaN gives 0.
static int64_t to_integer(kg_dtype t, double v) {
    if (isnan(v)) return 0;
    v = rint(v);
    if (v <= info[t].min) return t == KG_I64 ? INT64_MIN : (int64_t)info[t].min;
    if (v >= info[t].max) return t == KG_I64 ? INT64_MAX : (int64_t)info[t].max;
    return (int64_t)v;
}

void kg_store(kg_dtype t, void *base, int64_t index, double value) {
    switch (t) {
    case KG_F64: ((double *)base)[index] = value; return;
    case KG_F32: ((float *)base)[index] = (float)value; return;
    case KG_F16: ((uint16_t *)base)[index] = kg_double_to_16(value, 10, -14, 15); return;
    case KG_BF16: ((uint16_t *)base)[index] = kg_double_to_16(value, 7, -126, 127); return;
    case KG_I64: ((int64_t *)base)[index] = to_integer(t, value); return;
    case KG_I32: ((int32_t *)base)[index] = (int32_t)to_integer(t, value); return;
    case KG_I16: ((int16_t *)base)[index] = (int16_t)to_integer(t, value); return;
    case KG_I8: ((int8_t *)base)[index] = (int8_t)to_integer(t, value); return;
    case KG_U8: ((uint8_t *)base)[index] = (uint8_t)to_integer(t, value); return;
    case KG_BOOL: ((uint8_t *)base)[index] = value != 0; return;
    default: return;  // complex elements are stored by their parts
    }
}
