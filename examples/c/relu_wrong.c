/* kgate: task=relu
 *
 * Wrong: works on blocks of eight and leaves out the elements after the last whole block. A test with 1024 elements
 * does not see it.
 */
#include <kgate/kernel.h>

int relu(const DLTensor *input, bool inplace, DLTensor *out) {
    (void)inplace;
    for (int64_t block = 0; block + 8 <= kg_elements(out); block += 8)
        for (int64_t i = block; i < block + 8; i++) {
            double x = kg_get(input, i);
            kg_put(out, i, x < 0 ? 0 : x);
        }
    return 0;
}
