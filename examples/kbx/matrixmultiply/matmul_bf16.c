/* kgate: task=matmul_bf16
 *
 * A product of two tensors, by torch.matmul's rules of shapes.
 */
#include <kgate/kernel.h>

/* Storage offset of matrix number `n` of the batch in an operand whose last `own` dimensions are the matrix. */
static int64_t batch_at(const DLTensor *t, int own, const DLTensor *out, int batch_dims, int64_t n) {
    int64_t at = 0;
    for (int i = batch_dims - 1, j = t->ndim - own - 1; i >= 0; i--, j--) {
        if (j >= 0 && t->shape[j] != 1) at += n % out->shape[i] * kg_stride(t, j);
        n /= out->shape[i];
    }
    return at;
}

int matmul_bf16(const DLTensor *input, const DLTensor *other, DLTensor *out) {
    int own_a = input->ndim > 1 ? 2 : 1, own_b = other->ndim > 1 ? 2 : 1;
    int64_t M = own_a == 2 ? kg_dim(input, -2) : 1, N = own_b == 2 ? kg_dim(other, -1) : 1, K = kg_dim(input, -1);
    int64_t a_row = own_a == 2 ? kg_stride(input, -2) : 0, a_col = kg_stride(input, -1);
    int64_t b_row = kg_stride(other, -own_b), b_col = own_b == 2 ? kg_stride(other, -1) : 0;
    int batch_dims = out->ndim - (own_a == 2) - (own_b == 2);

    for (int64_t e = 0; e < kg_elements(out); e++) {
        int64_t a = batch_at(input, own_a, out, batch_dims, e / (M * N)) + e / N % M * a_row;
        int64_t b = batch_at(other, own_b, out, batch_dims, e / (M * N)) + e % N * b_col;
        double total = 0;
        for (int64_t k = 0; k < K; k++) total += kg_get_at(input, a + k * a_col) * kg_get_at(other, b + k * b_row);
        kg_put(out, e, total);
    }
    return 0;
}
