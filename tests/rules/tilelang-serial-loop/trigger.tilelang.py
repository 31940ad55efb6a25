import tilelang
import tilelang.language as T


@tilelang.jit(out_idx=[-1])
def rms_norm(M, N, block_M=4, dtype="float16"):
    @T.prim_func
    def main(X: T.Tensor((M, N), dtype), Y: T.Tensor((M, N), dtype)):
        with T.Kernel(T.ceildiv(M, block_M), threads=128) as bx:
            squares = T.alloc_fragment((block_M,), "float")
            T.clear(squares)
            for i in T.Parallel(block_M):
                for k in T.serial(N):
                    squares[i] += X[bx * block_M + i, k] * X[bx * block_M + i, k]
            for i, j in T.Parallel(block_M, N):
                Y[bx * block_M + i, j] = X[bx * block_M + i, j] * T.rsqrt(squares[i] / N + 1e-5)

    return main
