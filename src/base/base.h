// What every room uses: errors, dtypes, tensor descriptions, growing text, random numbers by counter.
#ifndef KG_BASE_H
#define KG_BASE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KG_MAX_NDIM 8

// ---- errors -------------------------------------------------------------------------------------
// One way to report an error: a code that picks the exit code, and one line that says what was wrong,
// where, and what to do. Functions that can fail return 0 or -1 and fill *err (which may be NULL).
typedef enum {
    KG_OK = 0,
    KG_ERR_USAGE = 2,   // the caller asked for something that makes no sense (exit 2)
    KG_ERR_CANNOT = 3,  // this machine cannot: no such device, database unusable (exit 3)
    KG_ERR_CANDIDATE,   // the candidate is at fault: does not build, wrong output, crashed
    KG_ERR_TIMEOUT,     // the candidate did not answer in time
    KG_ERR_DIED,        // the runner process ended (crash, kill, exit)
    KG_ERR_MEMORY,      // out of memory, host or device
    KG_ERR_INTERNAL,    // a bug or an impossible answer of the system
    KG_ERR_RESULT       // as KG_ERR_CANDIDATE: it answered, with results of another dtype, shape or number
} kg_code;

typedef struct {
    kg_code code;
    char *text;  // owned; NULL when code is KG_OK. One line, no trailing newline.
} kg_error;

// Sets *err (replacing what it held) to a formatted line; always returns -1. err may be NULL.
int kg_fail(kg_error *err, kg_code code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void kg_error_clear(kg_error *err);

// ---- memory -------------------------------------------------------------------------------------
// These never return NULL: a judge that cannot allocate a few bytes ends with one line and exit code 3.
// Tensor-sized memory is not taken with these; it can fail and is reported.
void *kg_alloc(size_t bytes);  // zeroed
void *kg_realloc(void *p, size_t bytes);
char *kg_strdup(const char *s);
char *kg_format(const char *fmt, ...) __attribute__((format(printf, 1, 2)));  // owned by the caller

typedef struct {
    char *data;  // NUL-terminated once anything was added; owned
    size_t len, cap;
} kg_text;
void kg_text_add(kg_text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void kg_text_addv(kg_text *t, const char *fmt, va_list ap);
void kg_text_add_bytes(kg_text *t, const char *bytes, size_t n);
void kg_text_free(kg_text *t);

// Whole file in memory, NUL-terminated after *size bytes; owned by the caller. Fails above `limit` bytes.
int kg_read_file(const char *path, size_t limit, char **data, size_t *size, kg_error *err);

// ---- dtypes -------------------------------------------------------------------------------------
typedef enum {
    KG_F64,
    KG_F32,
    KG_F16,
    KG_BF16,
    KG_I64,
    KG_I32,
    KG_I16,
    KG_I8,
    KG_U8,
    KG_BOOL,
    KG_DTYPES,  // of those above, which hold one number
    // Pairs (real, imaginary) of float32 or float64. They describe what a candidate gets and gives; where values are
    // made, loaded and compared there are only their parts: kg_tensor_parts.
    KG_C64,
    KG_C128,
    KG_ALL_DTYPES
} kg_dtype;

size_t kg_dtype_size(kg_dtype t);        // bytes
const char *kg_dtype_name(kg_dtype t);   // "float32", as PyTorch names it
const char *kg_dtype_short(kg_dtype t);  // "f32"
int kg_dtype_parse(const char *s);       // either name, or "torch.float32"; -1 when unknown
bool kg_dtype_is_float(kg_dtype t);
bool kg_dtype_is_complex(kg_dtype t);
kg_dtype kg_dtype_part(kg_dtype t);  // float32 for complex64, float64 for complex128; others are themselves
double kg_dtype_unit(kg_dtype t);    // unit roundoff u: 2^-24 for f32; 0 for integers
double kg_dtype_max(kg_dtype t);     // largest finite value
double kg_dtype_tiny(kg_dtype t);    // absolute error that denormals may carry (half spacing; f32, bf16: 16 min normal)

// One element to and from double. Stores round to nearest even and overflow to infinity as IEEE 754
// does; integers are converted exactly or clamped. int64 beyond 2^53: use kg_load_int.
double kg_load(kg_dtype t, const void *base, int64_t index);
int64_t kg_load_int(kg_dtype t, const void *base, int64_t index);
void kg_store(kg_dtype t, void *base, int64_t index, double value);

// ---- tensors ------------------------------------------------------------------------------------
// A description, not memory. Strides are in elements, may be 0 (broadcast) but not negative.
typedef struct {
    kg_dtype dtype;
    int ndim;
    int64_t shape[KG_MAX_NDIM];
    int64_t stride[KG_MAX_NDIM];
} kg_tensor;

kg_tensor kg_tensor_contiguous(kg_dtype t, int ndim, const int64_t *shape);
int64_t kg_numel(const kg_tensor *t);      // product of the shape; 1 for 0-dimensional
size_t kg_span_bytes(const kg_tensor *t);  // bytes from the first element to past the last; 0 when empty
bool kg_is_contiguous(const kg_tensor *t);
// Storage offset, in elements, of the element with this row-major (logical) index.
int64_t kg_offset(const kg_tensor *t, int64_t logical);
// PyTorch broadcasting of two shapes. Returns -1 when they do not match.
int kg_broadcast(const kg_tensor *a, const kg_tensor *b, kg_tensor *out);
// The same data seen with out's (broadcast) shape: strides 0 where expanded. -1 when it does not match.
int kg_expand(const kg_tensor *t, const kg_tensor *shape_of, kg_tensor *view);
// A complex tensor as PyTorch's view_as_real has it: a last dimension of 2, the strides doubled. Others as they are.
kg_tensor kg_tensor_parts(const kg_tensor *t);
void kg_tensor_describe(const kg_tensor *t, kg_text *out);  // "f32[3,17]" or "f32[3,17] strides [1,3]"

// Inputs of a case that take more than this may lie in memory of which only few pages were ever touched: no page is
// touched for its own sake.
#define KG_POPULATED_BYTES ((size_t)2 << 30)

// ---- random numbers by counter ------------------------------------------------------------------
// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
typedef struct {
    uint32_t v[4];
} kg_philox;
kg_philox kg_philox4x32(uint64_t key, uint64_t counter_lo, uint64_t counter_hi);

// How a tensor's values are drawn. Every element is a function of (seed, storage index) alone, and the
// CPU and device versions agree bit for bit, so the judge never has to copy an input back.
typedef enum {
    KG_FILL_ZERO,
    KG_FILL_CONST,     // a
    KG_FILL_NORMAL,    // bell-shaped (sum of four uniforms), mean a, standard deviation b, all bits of a float32 used
    KG_FILL_UNIFORM,   // [a, b)
    KG_FILL_INT,       // integers a..b inclusive, uniform
    KG_FILL_OUTLIERS,  // normal(a, b), one in 64 multiplied by 1000
    KG_FILL_SPECIALS,  // normal(a, b), one in 8 replaced by NaN, +-inf, +-0, denormals, +-max in turn
    KG_FILL_LOGSCALE,  // sign * 2^uniform(a, b): magnitudes across many octaves
    KG_FILL_TIES,      // small integers 0..3: many equal values
    KG_FILL_SHUFFLE,   // integers 0..a-1 in random order along lines of stride b: any a in a row are distinct
    KG_FILL_CHOICE,    // 1 for exactly b of every a elements of the storage, at random places, else 0
    KG_FILL_POISON,    // pattern that no honest kernel leaves: signalling NaN for floats, 0xA5 bytes otherwise
    // Matrices of order |a|, one behind the other, row-major in storage; a < 0: complex ones, parts in turn. Normal
    // values of mean 0 and deviation 1 (each part), b added to the real part of some. A rectangular matrix of |a|
    // columns has them where row mod |a| is the column.
    KG_FILL_RAISED,     // b on the diagonal
    KG_FILL_CYCLIC,     // b on the diagonal above it, cyclically: small leading pivots
    KG_FILL_SYMMETRIC,  // b on the diagonal; element (c, r) is (r, c)
    KG_FILL_HERMITIAN,  // b on the real diagonal; element (c, r) is conj(r, c)
    KG_FILL_LOWER,      // b on the diagonal, which is real; 0 above it
    KG_FILL_UPPER,      // b on the diagonal, which is real; 0 below it
    KG_FILL_EXCHANGED,  // as SYMMETRIC, but b on the antidiagonal: indefinite, with small leading pivots
    // d_r on the diagonal + u_r v_c: determinants known in O(n). d uniform in [7/8, 9/8), u and v normal of
    // deviation sqrt(b); real only
    KG_FILL_RANK_ONE
} kg_fill_kind;
bool kg_fill_is_matrix(kg_fill_kind k);  // one of those that make matrices of an order

typedef struct {
    kg_fill_kind kind;
    double a, b;
} kg_fill;

bool kg_fill_is_finite(const kg_fill *f);  // it draws neither NaN nor infinities

// The value that element `index` (storage order) gets before rounding to dtype t.
double kg_fill_value(const kg_fill *f, kg_dtype t, uint64_t seed, int64_t index);
// Fills [first, first+count) of a storage of dtype t. data points at element `first`.
void kg_fill_range(const kg_fill *f, kg_dtype t, uint64_t seed, int64_t first, int64_t count, void *data);

// ---- being interrupted --------------------------------------------------------------------------
// A signal is the whole process's. Whoever waits or works for long looks here and fails with KG_ERR_CANNOT.
extern _Atomic int kg_interrupted_by;  // the signal, set by its handler, read by every thread; 0
bool kg_interrupted(void);

// ---- time ---------------------------------------------------------------------------------------
double kg_now(void);  // seconds, CLOCK_MONOTONIC_RAW

#endif
