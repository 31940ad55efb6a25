// Sampling an input at positions of a grid, normalised to -1 .. 1 from one end of the input to the other.
#ifndef KG_GRIDS_H
#define KG_GRIDS_H

#include "oracle/resample.h"
#include "task/families.h"

// mode='bilinear', padding_mode='zeros', align_corners=False: what the sampling tasks' parameters end with.
#define KG_GRID_PARAMS                                                                                    \
    {.name = "mode", .kind = KG_P_STR, .optional = true, .keyword = true, .text = "bilinear"},            \
        {.name = "padding_mode", .kind = KG_P_STR, .optional = true, .keyword = true, .text = "zeros"}, { \
        .name = "align_corners", .kind = KG_P_BOOL, .optional = true, .keyword = true                     \
    }

typedef enum { KG_GRID_LINEAR, KG_GRID_NEAREST, KG_GRID_CUBIC } kg_grid_mode;
typedef enum { KG_GRID_ZEROS, KG_GRID_BORDER, KG_GRID_REFLECTION } kg_grid_padding;
typedef struct {
    kg_grid_mode mode;
    kg_grid_padding padding;
    bool align;
} kg_grid;

kg_case *kg_grid_set(kg_cases *b, kg_case *c, const char *mode, const char *padding, bool align);
int kg_grid_of(const kg_task *t, const kg_case *c, kg_grid *g);      // -1: not a legal choice
double kg_grid_reads(const kg_task *t, const kg_case *c, int dims);  // elements that one output reads

// One normalised coordinate. error: what it is off by before it is used, in units of u. stored: what a half-precision
// kernel that stores it may add to that, absolutely; else 0.
typedef struct {
    double at, error, stored;
} kg_grid_point;
// ref[k] for the output whose plane (image and channel) starts at storage offset `start` of input: the element at these
// coordinates of its `dims` last dimensions, in their order.
void kg_grid_put(kg_ref *ref, size_t k, const kg_view *input, int64_t start, const kg_grid *g, int dims,
                 const kg_grid_point *at);

// Lines of a c_body: the plane at storage offset `start` of input, sampled at `at[0..dims-1]`, in the order of the last
// `dims` dimensions; leaves the answer in `sum`.
#define KG_GRID_SAMPLE                                                                                           \
    "const bool zeros = kg_same(padding_mode, \"zeros\"), border = kg_same(padding_mode, \"border\");\n"         \
    "const bool cubic = kg_same(mode, \"bicubic\"), nearest = kg_same(mode, \"nearest\");\n"                     \
    "const int taps = cubic ? 4 : nearest ? 1 : 2;\n"                                                            \
    "double sum = 0;\n"                                                                                          \
    "for (int k = 0; k < (dims > 2 ? taps : 1) * taps * taps; k++) {\n"                                          \
    "    int64_t from = start;\n"                                                                                \
    "    int which = k;\n"                                                                                       \
    "    double weight = 1;\n"                                                                                   \
    "    bool inside = true;\n"                                                                                  \
    "    for (int d = dims - 1; d >= 0; d--) {\n"                                                                \
    "        const int64_t n = input->shape[input->ndim - dims + d];\n"                                          \
    "        const double last = (double)(n - 1), low = align_corners ? 0.0 : -0.5, span = last - 2.0 * low;\n"  \
    "        double p = (at[d] + 1.0) * 0.5 * span + low, x = 0;\n"                                              \
    "        // Positions are brought inside before they are split into elements, cubic ones' elements after.\n" \
    "        for (int pass = 0; pass < 2; pass++) {\n"                                                           \
    "            double *q = pass ? &x : &p;\n"                                                                  \
    "            if (pass) {\n"                                                                                  \
    "                x = nearest ? rint(p) : floor(p) + (double)(which % taps) - (cubic ? 1.0 : 0.0);\n"         \
    "                const double s = fabs(p - x);\n"                                                            \
    "                if (cubic && s < 1) weight *= (1.25 * s - 2.25) * s * s + 1.0;\n"                           \
    "                else if (cubic) weight *= ((-0.75 * s + 3.75) * s - 6.0) * s + 3.0;\n"                      \
    "                else if (!nearest) weight *= 1.0 - s;\n"                                                    \
    "            }\n"                                                                                            \
    "            if (zeros || pass != (int)cubic) continue;\n"                                                   \
    "            if (!border) {\n"                                                                               \
    "                const double far = fabs(*q - low), turns = span > 0 ? floor(far / span) : 0.0;\n"           \
    "                const double rest = far - turns * span;\n"                                                  \
    "                *q = (fmod(turns, 2.0) == 0 ? rest : span - rest) + low;\n"                                 \
    "            }\n"                                                                                            \
    "            *q = fmin(fmax(*q, 0.0), last);\n"                                                              \
    "        }\n"                                                                                                \
    "        which /= taps;\n"                                                                                   \
    "        inside = inside && x >= 0 && x <= last;\n"                                                          \
    "        from += (int64_t)x * kg_stride(input, input->ndim - dims + d);\n"                                   \
    "    }\n"                                                                                                    \
    "    if (inside) sum += weight * kg_get_at(input, from);\n"                                                  \
    "}\n"

#endif
