int conv2d_w8a8(const DLTensor *input, const DLTensor *weight, const DLTensor *bias, int64_t stride, int64_t padding,
                DLTensor *out) {
    int64_t channels = kg_dim(weight, 1), rows = kg_dim(weight, 2), columns = kg_dim(weight, 3);
    int64_t height = kg_dim(input, -2), width = kg_dim(input, -1), n = channels * rows * columns;
    int64_t images = input->ndim == 4 ? kg_dim(input, 0) : 1, filters = kg_dim(out, -3);
    int64_t area = kg_dim(out, -2) * kg_dim(out, -1), pixels = channels * height * width;
    float *x = dense(input), *w = dense(weight),
          *space = malloc((size_t)(images * (pixels + 1) + filters * (n + 1)) * 4 + 1);
    if (!x || !w || !space) return 1;
    float *a = space, *b = a + images * pixels, *s = b + filters * n, *t = s + images;
    quantise_lines(x, 1, images, pixels, LEFT, a, s);
    quantise_lines(w, 1, filters, n, RIGHT, b, t);
    for (int64_t at = 0; at < images * filters * area; at++) {
        int64_t image = at / (filters * area), o = at / area % filters;
        int64_t top = at % area / kg_dim(out, -1) * stride - padding, left = at % kg_dim(out, -1) * stride - padding;
        sum_t sum = 0;
        for (int64_t k = 0; k < n; k++) {
            int64_t c = k / (rows * columns), y = top + k / columns % rows, z = left + k % columns;
            if (y >= 0 && y < height && z >= 0 && z < width)
                sum += TERM(a[((image * channels + c) * height + y) * width + z], b[o * n + k]);
        }
        kg_put(out, at, (float)sum * s[image] * t[o] + (bias ? (float)kg_get(bias, o) : 0));
    }
    free(x), free(w), free(space);
    return 0;
}
