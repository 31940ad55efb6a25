int bmm_w8a8(const DLTensor *input, const DLTensor *mat2, DLTensor *out) {
    int64_t matrices = kg_dim(input, 0);
    float *x = dense(input), *w = dense(mat2), *y = turned(w, matrices, kg_dim(mat2, 1), kg_dim(mat2, 2));
    int rc = multiply(x, y, matrices, kg_dim(input, 1), kg_dim(mat2, 2), kg_dim(input, 2), out);
    free(x), free(w), free(y);
    return rc;
}
