import tilelang
import tilelang.language as T


@tilelang.jit(out_idx=[-1])
def matvec(M, N, K, block_N=128, dtype="float16"):
    @T.prim_func
    def main(A: T.Tensor((M, K), dtype), B: T.Tensor((M, N, K), dtype), C: T.Tensor((M, N), "float")):
        with T.Kernel(T.ceildiv(N, block_N), M, threads=128) as (bx, m):
            acc = T.alloc_fragment((block_N,), "float")
            T.clear(acc)
            for k in T.serial(K):
                for j in T.Parallel(block_N):
                    acc[j] += A[m, k] * B[m, bx * block_N + j, k]
            T.copy(acc, C[m, bx * block_N])

    return main
