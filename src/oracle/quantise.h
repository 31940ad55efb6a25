// Symmetric integer quantisation: integers, scales, and exact products of them, with what honest kernels may differ in.
//
//     scale = largest |x| / levels        q = clamp(round(x / scale))        x is then scale * q
//
// An honest kernel's scale and quotient are float32, so its x / scale errs by at most 8 u |x / scale| (division,
// multiplication with a reciprocal, fast division alike; and up to 1e-8 may be added to a scale to keep it from 0: that
// over the scale more). So its integer is ours, except where x / scale lies that near to a tie; there it may be another
// one, and both ways of rounding ties are right. About one element in 10^5 is that near. So in a product of integers
//     |error| <= scales * (sum over near ties of what the integer may be off times the other factor's integer)
// and a few roundings: for most outputs the roundings alone, 1e-6 of the value. A float product differs from the
// quantised one by one per cent, a truncating quantiser by more: both fail nearly everywhere.
#ifndef KG_QUANTISE_H
#define KG_QUANTISE_H

#include "oracle/reduce.h"

// ---- which integers ---------------------------------------------------------------------------------
typedef struct {
    double levels, low, high;  // largest |x| / levels is the scale; integers are clamped to low..high
    bool half_scale;           // the scale is rounded to half precision before use
    bool half_quotient;        // and so is x / scale, before it is rounded to an integer
} kg_grid;
// For absmax / 127; / 127.5 (PyTorch's observers: half of the integers' range); / 128, and / 128 without -128.
#define KG_GRIDS 4
extern const kg_grid kg_int8_grids[KG_GRIDS];
extern const kg_grid kg_int4_grids[KG_GRIDS];  // the same about 7
// A reading: its scale's text and grid, what it is called, and up to three choices of the task's own (kg_grain). A task
// names its designs once, as designs(scale, grid), and has them with each grid by KG_INT8_READINGS(designs).
#define KG_QUANT_READING(scale, grid, text, ...)     \
    {                                                \
        text ", " scale, NULL, { grid, __VA_ARGS__ } \
    }
#define KG_WRONG_READING(text, why, ...) \
    {                                    \
        text, why, { 0, __VA_ARGS__ }    \
    }
#define KG_INT8_READINGS(designs)                                                   \
    designs("absmax/127", 0), designs("absmax/127.5", 1), designs("absmax/128", 2), \
        designs("absmax/128 without -128", 3)
#define KG_INT4_READINGS(designs) \
    designs("absmax/7", 0), designs("absmax/7.5", 1), designs("absmax/8", 2), designs("absmax/8 without -8", 3)
#define KG_NO_QUANTISATION(what, asked) \
    "the output is " what " without quantisation: the task asks for " asked " arithmetic"

// What has one scale.
typedef enum { KG_BY_TENSOR, KG_BY_MATRIX, KG_BY_LINE, KG_NOT_QUANTISED } kg_grain;

// ---- largest values -----------------------------------------------------------------------------------
// Largest magnitudes of the groups that a mask of dimensions makes (kg_groups_of), and of all.
typedef struct {
    double all, *each;
    int64_t n;
} kg_maxima;
int kg_maxima_of(kg_maxima *m, const kg_view *v, int mask);  // -1: no memory
void kg_maxima_free(kg_maxima *m);
double kg_largest(const double *x, int64_t n);
// The largest value that the scale of these n elements, which are of group `group`, is made from.
static inline double kg_scale_from(const kg_maxima *m, int64_t group, const double *x, int64_t n, kg_grain grain) {
    return grain == KG_BY_TENSOR ? m->all : grain == KG_BY_MATRIX ? m->each[group] : kg_largest(x, n);
}

// ---- a line of integers -------------------------------------------------------------------------------
typedef struct {
    double scale;        // 0 where all values are
    double scale_error;  // relative
    int16_t *q;
    uint8_t *off;  // what each may be off
    int32_t *open;
    int64_t n_open;  // which may be
} kg_quants;
int kg_quants_make(kg_quants *q, int64_t n);  // -1: no memory
void kg_quants_free(kg_quants *q);
// error: what each x may err by, or NULL: nothing. largest_error: relative, of `largest`.
void kg_quantise(kg_quants *q, const double *x, const double *error, int64_t n, double largest, double largest_error,
                 const kg_grid *grid);

// sum of the integers' products, and what it may be off.
typedef struct {
    double sum, slack;
} kg_quant_sum;
kg_quant_sum kg_quant_dot(const kg_quants *a, const kg_quants *b, int64_t n);
// The dequantised sum. Its roundings are `arithmetic`, in units of u; its slack and the scales' errors are charged the
// same on every rung: `slack`, absolute.
typedef struct {
    double value, arithmetic, slack;
} kg_quant_value;
static inline kg_quant_value kg_dequantise(const kg_quants *a, const kg_quants *b, kg_quant_sum s) {
    const double unit = a->scale * b->scale, value = unit * s.sum, most = fabs(value) + unit * s.slack;
    return (kg_quant_value){value, KG_LAMBDA * most, unit * s.slack + most * (a->scale_error + b->scale_error)};
}
// The product of the values themselves, with errors for any precision (inputs in tf32 or half): what explains an output
// that was never quantised.
kg_quant_value kg_plain_product(const double *a, const double *b, int64_t n);
#define KG_ANY_PRECISION 0x1p13
// The same of the values that two quantised lines stand for: a kernel that dequantises before it multiplies.
kg_quant_value kg_float_product(const kg_quants *a, const kg_quants *b, int64_t n);
#define KG_FLOAT_SUMS "the sums are not those of integers: the task asks for exact int32 sums, dequantised after"
// Absolute errors as kg_ref's acc counts them in float32.
#define KG_ABSOLUTE(error) ((error)*0x1p24)

#endif
