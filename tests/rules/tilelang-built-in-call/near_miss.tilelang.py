import tilelang
import tilelang.language as T


def kernel(n, dtype):
    @T.prim_func
    def main(X: T.Tensor((n,), dtype), Y: T.Tensor((n,), dtype)):
        with T.Kernel(T.ceildiv(n, 1024), threads=128) as block:
            for i in T.Parallel(1024):
                Y[block * 1024 + i] = X[block * 1024 + i] * 2

    return main


@functools.cache
def built(n):
    program = tilelang.compile(kernel(n, "float16"))
    return program


def double(x):
    y = x.new_empty(x.shape)
    program = built(x.numel())
    program(x.view(-1), y.view(-1))
    return y
