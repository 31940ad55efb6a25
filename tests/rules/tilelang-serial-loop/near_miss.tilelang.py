import tilelang
import tilelang.language as T


@tilelang.jit(out_idx=[-1])
def column_sum(M, N, block_N=256, dtype="float16"):
    @T.prim_func
    def main(X: T.Tensor((M, N), dtype), Y: T.Tensor((N,), "float")):
        with T.Kernel(T.ceildiv(N, block_N), threads=256) as bx:
            sums = T.alloc_fragment((block_N,), "float")
            T.clear(sums)
            for k in T.serial(M):
                for j in T.Parallel(block_N):
                    sums[j] += X[k, bx * block_N + j]
            T.copy(sums, Y[bx * block_N])

    return main
