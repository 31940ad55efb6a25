// A task: one operation, said so completely that a stranger's kernel can be judged by it.
//
// A task is one file, src/task/<suite>/<name>.c, that defines `const kg_task kg_task_<suite>_<name>`;
// CMake finds it by its name and nothing else changes. The head of the file states the signature; then come
// the parameters, the cases, the shapes of the outputs, the oracle and the work model. Tasks of one family
// share functions through src/oracle/.
#ifndef KG_TASK_H
#define KG_TASK_H

#include "base/base.h"

#define KG_MAX_ARGS 24
#define KG_MAX_OUTS 6
#define KG_MAX_INTS 8

// ---- parameters ---------------------------------------------------------------------------------
typedef enum {
    KG_P_TENSOR,  // C: const DLTensor * (DLTensor * when it is written); NULL for None
    KG_P_INT,     // C: int64_t; optional: const int64_t * (NULL for None)
    KG_P_FLOAT,   // C: double; optional: const double *
    KG_P_BOOL,    // C: bool
    KG_P_STR,     // C: const char *; NULL for None
    KG_P_DTYPE,   // C: const char * ("float32"); NULL for None
    KG_P_INTS,    // int or tuple of ints. C: const kg_ints *; NULL for None
    KG_P_FLOATS   // tuple of floats. C: const kg_floats *; NULL for None
} kg_param_kind;

typedef enum {
    KG_IN,      // read-only in the runner
    KG_INOUT,   // overwritten in place (Adam's params); checked like an output
    KG_STATE,   // lives across the calls on one slot, zero at first, seen by C and CUDA candidates only
    KG_OUT_ARG  // an optional destination the caller may give (PyTorch's out=): Python only, C always gets outputs
} kg_role;

typedef struct {
    const char *name;
    kg_param_kind kind;
    bool optional;     // may be None, or may be left out because it has a default
    bool nullable;     // None is a legal value (so C gets a pointer)
    bool keyword;      // Python passes it by keyword (it stands after `*`, or has a default)
    bool native_only;  // C and CUDA get it, Python does not (state an optimizer object keeps itself)
    bool listed;       // KG_P_TENSOR: Python gets this one and the listed ones behind it in one list; C one by one
    kg_role role;
    // The default of an optional parameter. A nullable one defaults to None unless has_default is set. (Write params
    // with designated initialisers: fields not named are zero.)
    bool has_default;
    double number;     // KG_P_INT, KG_P_FLOAT, KG_P_BOOL; KG_P_INTS: a bare int
    const char *text;  // KG_P_STR
} kg_param;

typedef struct {
    kg_param_kind kind;  // as the parameter's
    bool none;           // None was given
    bool absent;         // not given: the default applies. i, f, ... hold the default all the same
    bool scalar;  // KG_P_INTS given as a bare int, KG_P_TENSOR given as a Python number (0-dim f64 in host memory)
    kg_tensor tensor;
    kg_fill fill;
    int64_t i;  // KG_P_INT, KG_P_BOOL
    double f;
    // KG_P_STR: static; KG_P_DTYPE: kg_dtype_name(); KG_P_INTS: what Python passes instead, or NULL: a text, or lists
    // written as "[[1],[0]]".
    const char *s;
    int n;  // KG_P_INTS, KG_P_FLOATS
    int64_t ints[KG_MAX_INTS];
    double floats[KG_MAX_INTS];
} kg_arg;

// What random operations give C and CUDA in place of a generator: another number at every call, 0 <= seed < 2^63.
// Python candidates have torch.rand, tl.rand and the like. Stands last among a task's parameters.
#define KG_SEED_PARAM \
    { .name = "seed", .kind = KG_P_INT, .optional = true, .native_only = true, .has_default = true }
bool kg_is_seed(const kg_param *p);

// ---- cases --------------------------------------------------------------------------------------
typedef enum {
    KG_CASES_QUICK,
    KG_CASES_FULL,
    KG_TIMED_CPU,
    KG_TIMED_CUDA,
    KG_CASES_FLOAT64  // the full cases with every floating tensor in float64; a task's cases() never sees it
} kg_case_level;

typedef struct {
    char *name;  // unique in the task, readable: "f32[3,17] dim=-1"; owned
    int n_args;
    kg_arg args[KG_MAX_ARGS];  // in the order of the task's params
    int n_outs;
    kg_tensor outs[KG_MAX_OUTS];  // set by the task's infer(); outputs the candidate makes (not KG_INOUT args)
    int calls;                    // consecutive calls on one slot before the check (optimizers: steps); 1
    bool alias_first_out;         // outs[0] is args[0] itself (inplace=True)
    bool timed;
    bool large;  // meant for kernels that count or address elements in 32 bits (kg_case_is_large)
} kg_case;

typedef struct kg_task kg_task;
struct kg_answer;
struct kg_holds;

typedef struct {
    const kg_task *task;
    kg_case_level level;
    size_t n, cap;
    kg_case *items;  // owned
} kg_cases;

// Adds a case with every optional argument absent. The pointer holds until the next add.
kg_case *kg_case_add(kg_cases *b);
// Setters name the parameter; an unknown name or a wrong kind ends the program (a task's own bug).
void kg_set_tensor(kg_case *c, const kg_task *t, const char *param, kg_dtype d, int ndim, const int64_t *shape,
                   kg_fill fill);
void kg_set_strided(kg_case *c, const kg_task *t, const char *param, kg_tensor desc, kg_fill fill);
void kg_set_number(kg_case *c, const kg_task *t, const char *param, double value);  // a Python number for a tensor
void kg_set_int(kg_case *c, const kg_task *t, const char *param, int64_t v);
void kg_set_float(kg_case *c, const kg_task *t, const char *param, double v);
void kg_set_bool(kg_case *c, const kg_task *t, const char *param, bool v);
void kg_set_str(kg_case *c, const kg_task *t, const char *param, const char *v);
void kg_set_dtype(kg_case *c, const kg_task *t, const char *param, kg_dtype v);
void kg_set_ints(kg_case *c, const kg_task *t, const char *param, int n, const int64_t *v);
void kg_set_floats(kg_case *c, const kg_task *t, const char *param, int n, const double *v);
void kg_set_none(kg_case *c, const kg_task *t, const char *param);
#define KG_SHAPE(...) \
    (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]) { __VA_ARGS__ }
#define KG_INTS(...) KG_SHAPE(__VA_ARGS__)

// All cases of a level, outputs inferred, names made. Free with kg_cases_free.
int kg_task_cases(const kg_task *t, kg_case_level level, kg_cases *out, kg_error *err);
void kg_cases_free(kg_cases *b);
const kg_arg *kg_case_arg(const kg_case *c, const kg_task *t, const char *param);  // NULL when no such parameter
size_t kg_case_input_bytes(const kg_case *c, const kg_task *t);                    // KG_IN and KG_INOUT tensors
size_t kg_case_output_bytes(const kg_case *c, const kg_task *t);                   // outputs and KG_INOUT tensors
// Of the first output, else of the first argument that is overwritten in place: it decides what precision to ask for.
kg_dtype kg_case_principal(const kg_case *c, const kg_task *t);
// Elements of the largest tensor.
int64_t kg_case_largest(const kg_case *c);
// It is meant for kernels that count or address elements in 32 bits, or has a tensor of more than INT32_MAX elements.
bool kg_case_is_large(const kg_case *c);
// Not None, not left out, not a number.
bool kg_arg_is_tensor(const kg_arg *a);
// Few elements, and more than INT32_MAX places from the first to the last.
bool kg_is_sparse(const kg_tensor *t);

// ---- oracle -------------------------------------------------------------------------------------
// Host view of a tensor of the case; a complex one is seen by its parts (kg_tensor_parts), outputs too: kg_ref's index
// counts real and imaginary parts in turn.
typedef struct {
    kg_tensor desc;
    const void *data;  // first element; NULL for None or an empty tensor
} kg_view;
static inline double kg_at(const kg_view *v, int64_t logical) {
    return kg_load(v->desc.dtype, v->data, kg_offset(&v->desc, logical));
}

// One way to understand a task whose text leaves several open (which scale a quantised value has), or one that is known
// and not allowed. The judge compares a call's outputs with the allowed readings in turn; all of them must follow one.
typedef struct {
    const char *name;   // "scale by tensor, absmax/127"
    const char *wrong;  // NULL: allowed. Else not, and what is said of a wrong output that follows it
    int choice[4];      // for the oracle
} kg_reading;

// How near outputs are to the answer without quantisation: root mean square and mean absolute difference (the latter
// over the answer's mean magnitude), and the cosine between the two.
typedef struct {
    double rmse, l1_relative, cosine;
} kg_likeness;

typedef struct kg_call {
    const kg_task *task;
    const kg_case *c;
    const kg_reading *reading;       // which one the oracle answers; NULL: the task has none
    const void *prepared;            // what the task's prepare() made of this call; NULL: it has none
    kg_view args[KG_MAX_ARGS];       // tensors only: the values as they were when the call began
    const struct kg_call *previous;  // stateful tasks: the call before on the same slot, else NULL
} kg_call;

// The reference for chosen elements of one output. For element k (row-major index `index[k]`, ascending):
// value[k] is the exact answer in fp64 (or the exact integer), and an honest kernel that works at unit
// roundoff u, accumulates at u_acc and stores in a dtype of unit roundoff u_out errs by at most
//     u_out * |value| + u * local[k] + u_acc * acc[k] + tiny(out dtype).
// local: condition of the formula at this point times the few roundings outside any long sum.
// acc:   what a sum of n terms adds: lambda * sqrt(sum of squared partial sums), see oracle/sum.c.
// For integer outputs local and acc are 0 unless the task's contract allows a difference.
typedef struct {
    int out;  // which output; KG_INOUT args follow the outs, in parameter order
    size_t n;
    const int64_t *index;  // ascending
    double *value, *local, *acc;
} kg_ref;

// Compulsory work of one call.
typedef struct {
    double bytes_read, bytes_written;  // each input read once, each output written once
    double ops[8];                     // by kg_unit
} kg_work;
typedef enum { KG_U_FP64, KG_U_FP32, KG_U_TF32, KG_U_FP16, KG_U_FP8, KG_U_INT8, KG_U_SPECIAL, KG_U_INT } kg_unit;

// Precision ladder, best first. What a result really works at.
typedef enum {
    KG_PREC_FP64,
    KG_PREC_FP32,
    KG_PREC_TF32,
    KG_PREC_FP16,
    KG_PREC_FP8,
    KG_PREC_EXACT,
    KG_PREC_NONE
} kg_precision;
const char *kg_precision_name(kg_precision p);  // "fp64", "fp32", "tf32", "bf16/fp16", "fp8", "exact", "none"
// Unit roundoff of a rung when the answer is stored as t; and that of its accumulation.
double kg_precision_unit(kg_precision p, kg_dtype t);
double kg_accumulation_unit(kg_precision p);
// The rung that results of this dtype must reach to be right.
kg_precision kg_required_precision(const kg_task *t, kg_dtype d);
// What an answer may err by on a rung, as above; and its error over that bound: 0 when equal, infinity where no bound
// excuses the difference. max: the dtype's largest finite value, near which an answer may overflow.
// local: not negative, or KG_ANY_ANSWER: nothing can be held against any answer, NaN included.
#define KG_ANY_ANSWER (-INFINITY)
double kg_error_bound(kg_precision p, kg_dtype t, double value, double local, double acc);
double kg_error_ratio(double got, double value, double bound, double max);

typedef enum { KG_CALL_FUNCTION, KG_CALL_OPTIMIZER } kg_convention;

struct kg_task {
    const char *name;            // "softmax"
    const char *suite;           // "kbx", "gap22"
    const char *category;        // KernelBench-X's: "Activation", ...
    const char *signature;       // as PyTorch writes it
    const char *summary;         // one sentence, our own words
    const kg_param *params;      // ends with name == NULL
    const char *const *outputs;  // names, ends with NULL; outputs the candidate makes
    kg_convention convention;
    // The lowest precision that is still a right answer, for float32 cases: KG_PREC_TF32 for products, else
    // KG_PREC_FP32. For half-precision cases it is KG_PREC_FP16.
    kg_precision lowest;
    // A long double-free sum in half precision is no right answer even for half inputs: acc is always charged at
    // float32's roundoff. Set for tasks that sum.

    int (*cases)(kg_cases *b);                   // adds the cases of b->level
    int (*infer)(const kg_task *t, kg_case *c);  // sets n_outs, outs from the args; -1: the case is impossible
    // -1: out of memory. NULL when all outputs are held; called through kg_oracle (oracle.h).
    int (*oracle)(const kg_call *call, kg_ref *ref);
    // Outputs with no single right answer, bit i for output i, and what must hold of them (oracle/holds.h). The other
    // outputs are the oracle's; holds() sees all.
    unsigned held;
    int (*holds)(const kg_call *call, const struct kg_answer *a, struct kg_holds *h);  // -1: out of memory
    // The likeliest first, at least one allowed, those not allowed last; ends with name NULL. NULL: there is but one.
    const kg_reading *readings;
    // What a public benchmark asks of the outputs, against the first reading that is not allowed. Reported beside the
    // verdict, of which it is no part. NULL: nothing.
    const kg_likeness *public_limits;
    // Made once a call before the oracle is asked for pieces of it: what depends on whole inputs (their largest
    // values).
    void *(*prepare)(const kg_call *call);  // NULL: no memory. NULL entry: nothing
    void (*release)(void *prepared);
    void (*work)(const kg_task *t, const kg_case *c,
                 kg_work *w);  // NULL: bytes from the tensors, one fp32 op per output
    // Rough count of input elements touched to compute one isolated output element (a softmax row: its length).
    // The judge samples outputs of large cases within a budget of these. NULL: 1.
    double (*reach)(const kg_task *t, const kg_case *c);
    // Python source of the PyTorch baseline: an expression that evaluates to a callable with the task's Python
    // signature, e.g. "torch.nn.functional.softmax". NULL: none. `torch` and `F` are in scope.
    const char *torch_baseline;
    const char *cpu_baseline;   // the baseline on the CPU: "onednn", "openblas"; NULL: none
    const char *cuda_baseline;  // the one on CUDA where there is no PyTorch: "cublaslt", "cudnn"; NULL: none
    // A right and slow kernel, for skeletons, in the common subset of C and CUDA C++, over <kgate/kernel.h>'s inlines:
    // c_body computes item `i` (int64_t) of c_items independent ones, with the task's parameters and outputs in scope
    // under their own names and C types (DLTensor pointers for tensors; an optional tensor, number or text may be
    // NULL). The C skeleton loops over the items, the CUDA one gives each a thread. So: no memory of its own, no
    // libc but math.h in double (exp, sqrt, fmax, erf, ...), kg_get/kg_put by row-major index, kg_get_at/kg_put_at by
    // storage offset, kg_dim, kg_same for texts, kg_number for a Tensor-or-Number. For example softmax: c_items
    // "kg_elements(out) / kg_dim(out, dim)", and a body that does one row in three loops.
    const char *c_items;  // expression; NULL: kg_elements() of the first output
    const char *c_body;   // statements; `return;` ends the item
    // Elementwise functions of one float tensor "input": a Triton expression in x (float32, or float64 for float64
    // inputs) with tl and libdevice in scope, for the Triton skeleton and, in TileLang's names, for TileLang's. No
    // `x == x`: TileLang takes it for true. NULL: those skeletons are plain torch.
    const char *triton_expr;
};

// ---- registry -----------------------------------------------------------------------------------
size_t kg_task_count(void);
const kg_task *kg_task_at(size_t i);  // by suite, then name
// Name, or suite/name, or suite_name (for file names).
// A name that two suites have means kbx's. NULL when unknown.
const kg_task *kg_task_find(const char *name);
// The shortest text that finds this task: "relu", "gap22/relu". Records, lists and comments call it so. Owned by the
// caller.
char *kg_task_label(const kg_task *t);
// Closest known names for an unknown one, as "did you mean ..." text; owned by the caller, NULL when none is near.
char *kg_task_suggest(const char *name);
// What the signature calls the function, without what stands before a dot: "lion_step" of the task Lion. A candidate's
// may be named so too. Owned by the caller.
char *kg_task_function(const kg_task *t);
// Name of the C function: the task's, or with "_kernel" behind it where libc or libm has that name (abs, tanh): such a
// candidate says `kgate: entry=abs_kernel`. Owned by the caller.
char *kg_task_c_entry(const kg_task *t);
// Python-like and C prototypes, for `kgate task show` and for skeletons. Owned by the caller.
char *kg_task_c_prototype(const kg_task *t, bool cuda);
char *kg_task_describe(const kg_task *t);
char *kg_task_skeleton(const kg_task *t, const char *language, kg_error *err);
// Fails when a skeleton in this language is to be written to a file whose name says another.
int kg_task_skeleton_check_path(const char *language, const char *path, kg_error *err);

#endif
