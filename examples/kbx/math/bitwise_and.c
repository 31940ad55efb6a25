// kgate: task=bitwise_and
//
// The bits that both operands have, broadcast; as int64, into which every integer type widens with its sign.
#include <kgate/kernel.h>

int bitwise_and(const DLTensor *input, const DLTensor *other, DLTensor *out) {
    const int64_t n = kg_elements(out);
    for (int64_t i = 0; i < n; i++) {
        const int64_t x = (int64_t)kg_get_broadcast(input, out, i), y = (int64_t)kg_get_broadcast(other, out, i);
        kg_put(out, i, (double)(x & y));
    }
    return 0;
}
