// What tasks of one family share: cases, output shapes, work models. A task file says what is its own and calls these.
#ifndef KG_FAMILIES_H
#define KG_FAMILIES_H

#include "task/task.h"

#define KG_NORMAL(mean, deviation) ((kg_fill){KG_FILL_NORMAL, (mean), (deviation)})
#define KG_UNIFORM(low, high)      ((kg_fill){KG_FILL_UNIFORM, (low), (high)})
#define KG_INTEGERS(low, high)     ((kg_fill){KG_FILL_INT, (low), (high)})
// Integers that float32 cannot tell apart, for the dtypes that can (kg_exceeds_float).
#define KG_BEYOND_FLOAT KG_INTEGERS(1073741825, 1073742024)
// The same around 0, for float64: all other fills draw float32's values, so that one which is read as float32 and
// computed with in float64 would not show.
#define KG_WIDE_INTEGERS             KG_INTEGERS(-2147483647, 2147483647)
#define KG_OUTLIERS(mean, deviation) ((kg_fill){KG_FILL_OUTLIERS, (mean), (deviation)})
#define KG_SPECIALS(mean, deviation) ((kg_fill){KG_FILL_SPECIALS, (mean), (deviation)})
#define KG_LOGSCALE(low, high)       ((kg_fill){KG_FILL_LOGSCALE, (low), (high)})
// Logits whose exponentials overflow and underflow, in float64 too. In rows of three the last is often the largest, by
// so much that nothing else counts, and an eighth of the rows lie below 0 whole.
#define KG_LARGE_LOGITS KG_NORMAL(0, 1e6)

// n elements of which exactly `chosen` are 1: bool masks whose number of true elements is known.
#define KG_CHOICE(n, chosen) ((kg_fill){KG_FILL_CHOICE, (double)(n), (double)(chosen)})
// n elements of deviation 1, and `more` added to the last: the first row of such a matrix.
#define KG_LAST(n, more) ((kg_fill){KG_FILL_EXCHANGED, (double)(n), (more)})
// For KG_LAST in float32: a number + this has the same bits on a CPU, which keeps a NaN's, and on a GPU, which makes
// every NaN 0x7fffffff (PTX ISA, add).
#define KG_SAME_NAN __builtin_nan("0x7ffffffffffff")
// 0..range-1 along lines of this stride: no two of `range` neighbours on a line are equal.
#define KG_SHUFFLE(range, stride) ((kg_fill){KG_FILL_SHUFFLE, (double)(range), (double)(stride)})

// ---- strides --------------------------------------------------------------------------------------
// A tensor whose dimensions i and j are swapped in memory (as x.transpose(i, j) of a contiguous one).
kg_tensor kg_tensor_transposed(kg_dtype t, int ndim, const int64_t *shape, int i, int j);
// Every step-th element along the last dimension of a wider contiguous tensor (as x[..., ::step]).
kg_tensor kg_tensor_stepped(kg_dtype t, int ndim, const int64_t *shape, int64_t step);
// Dimension i expanded: stride 0 (as x.expand()).
bool kg_exceeds_float(kg_dtype t);
kg_tensor kg_tensor_expanded(kg_dtype t, int ndim, const int64_t *shape, int i);

// ---- types ----------------------------------------------------------------------------------------
// PyTorch's type promotion of n arguments: tensors with dimensions decide, then 0-dimensional ones, then Numbers, where
// a later group only counts when its category (bool < integer < floating) is higher. A Number is a Python float.
kg_dtype kg_promote_args(const kg_arg *const *args, int n);
kg_dtype kg_promote(kg_dtype a, kg_dtype b);
// What true functions (exp, tanh, ...) make of a dtype: integers and bool give float32.
kg_dtype kg_float_of(kg_dtype t);

// ---- infer ----------------------------------------------------------------------------------------
int kg_infer_same(const kg_task *t, kg_case *c);       // as args[0]; with `inplace` true, outs[0] is args[0]
int kg_infer_float(const kg_task *t, kg_case *c);      // args[0]'s shape, kg_float_of
int kg_infer_broadcast(const kg_task *t, kg_case *c);  // all KG_IN tensors broadcast and promoted

// ---- work -----------------------------------------------------------------------------------------
// Compulsory bytes; `plain` and `special` operations for each element of the first output.
void kg_work_map(const kg_task *t, const kg_case *c, kg_work *w, double plain, double special);
// Unit that does plain arithmetic on this dtype outside the matrix units: halves are computed in fp32.
kg_unit kg_plain_unit(kg_dtype t);

// ---- cases ----------------------------------------------------------------------------------------
// One-tensor functions. dtypes[0] is the principal one: it gets every shape, the others a few.
typedef struct {
    const kg_dtype *dtypes;  // ends with KG_DTYPES
    kg_fill fill;            // ordinary values
    kg_fill wide;            // magnitudes across many octaves, as the function bears
    bool no_specials;
} kg_unary_family;
// Parameter "input"; cases with out= where the task has that parameter.
void kg_unary_cases(kg_cases *b, const kg_unary_family *f);

// What PyTorch's softmax makes of them, for the summaries of all tasks with one: cases have such lines.
#define KG_SOFTMAX_NAN " A line that holds NaN or +infinity, or nothing above -infinity, is NaN."

// Matrices whose rows a function of a line's exponentials must take the largest value of, and nothing else, to answer.
typedef struct {
    int64_t shape[2];
    kg_fill fill;
} kg_logits;
enum { KG_HARD_LOGITS = 8 };
extern const kg_logits kg_hard_logits[KG_HARD_LOGITS];
// A case of each for functions (input, dim).
void kg_large_logits_cases(kg_cases *b);

// For each floating input that no case of b gives a NaN or an infinity: the first plain case once more, with that input
// all NaN. For tasks where every input goes into the outputs by arithmetic.
void kg_nan_cases(kg_cases *b);

// 131 elements of parameter `param`, all of this value: where SPECIALS holds values on which nobody agrees.
kg_case *kg_constant_case(kg_cases *b, const char *param, kg_dtype t, double value);

// What an index that is too narrow counts to. A program built with 15 has the same cases small, for trying them on
// kernels that count in 16 bits (bench/mutation/bench_mutation.py).
#ifndef KG_INDEX_BITS
#define KG_INDEX_BITS 31
#endif
// One dimension of more elements than 32 bits count: for the full cases of tasks that copy, reduce or look up. Where
// memory does not allow it, the case is left out with a word.
#define KG_PAST_32_BITS (((int64_t)1 << KG_INDEX_BITS) + 12345)
// The same where a random fifth of the lookups should go past it.
#define KG_LOOKED_UP_PAST_32_BITS (((int64_t)5 << (KG_INDEX_BITS - 2)) + 64)

// Two dimensions of this length have more elements than that.
#define KG_SIDE_PAST_32_BITS (((int64_t)46341 >> ((31 - KG_INDEX_BITS) / 2)) + 8)

// Functions of several broadcast tensors or Numbers.
typedef struct {
    const char *const *params;  // names, ends with NULL; the first is always a tensor
    const kg_dtype *dtypes;     // as above
    kg_fill fill;
    double number;  // used where a Number stands for a tensor
    bool mixed;     // dtypes may be mixed and the others may be Numbers
} kg_nary_family;
void kg_nary_cases(kg_cases *b, const kg_nary_family *f);

// Timed sizes: 2^12 .. 2^27 on CUDA (those of the public benchmark), 2^14 .. 2^24 on the CPU (past a 32 MiB cache),
// stopping where `tensors` tensors of them take 256 MB. One dimension.
void kg_timed_sizes(kg_cases *b, kg_dtype t, int tensors,
                    void (*set)(kg_case *c, const kg_task *t, kg_dtype d, int64_t n, const void *ctx), const void *ctx);

#endif
