import tilelang
import tilelang.language as T


def matmul(M, N, K, block=16, dtype="float16"):
    @T.prim_func
    def main(A: T.Tensor((M, K), dtype), B: T.Tensor((K, N), dtype), C: T.Tensor((M, N), dtype)):
        with T.Kernel(T.ceildiv(N, block), T.ceildiv(M, block), threads=256) as (bx, by):
            acc = T.alloc_fragment((block, block), "float")
            T.clear(acc)
            for k in range(K):
                for i, j in T.Parallel(block, block):
                    acc[i, j] += A[by * block + i, k] * B[k, bx * block + j]
            T.copy(acc, C[by * block, bx * block])

    return main
