// CUDA's pieces where no device is: names that exist, and one clear line where something is missing.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "device/cuda/api/cuda_api.h"
#include "device/cuda/kernels.h"
#include "device/cuda/nvrtc.h"

static void a_missing_driver_is_one_line(void **state) {
    (void)state;
    kg_cuda_api api;
    kg_error err = {0};
    assert_int_equal(kg_cuda_api_open("/nonexistent/libcuda.so.1", &api, &err), -1);
    assert_int_equal(err.code, KG_ERR_CANNOT);
    assert_non_null(strstr(err.text, "no NVIDIA driver"));
    assert_null(strchr(err.text, '\n'));
    kg_error_clear(&err);
}

// The toolkit's stub exports every function of the driver of its age.
static void the_driver_has_every_name(void **state) {
    (void)state;
    static const char stub[] = "/usr/local/cuda/lib64/stubs/libcuda.so";
    kg_cuda_api api;
    kg_error err = {0};
    if (access(stub, R_OK) != 0) skip();
    if (kg_cuda_api_resolve(stub, &api, &err) != 0) fail_msg("%s", err.text);
    assert_non_null(api.LaunchKernel);
    assert_ptr_not_equal(api.MemAlloc, api.MemFree);
}

static void nvrtc_compiles_and_names_errors(void **state) {
    (void)state;
    void *image = NULL;
    size_t size = 0;
    char *log = NULL;
    kg_error err = {0};
    int rc = kg_nvrtc_compile("extern \"C\" __global__ void f(int *p) { *p = 1; }", "good.cu", "compute_80", NULL,
                              &image, &size, &log, &err);
    if (rc != 0 && err.code == KG_ERR_CANNOT) {
        kg_error_clear(&err);
        skip();  // no NVRTC here
    }
    assert_int_equal(rc, 0);
    assert_non_null(strstr(image, ".entry f("));
    free(image);
    free(log);
    rc = kg_nvrtc_compile("__global__ void f() {\n    int x = missing;\n}\n", "bad.cu", "compute_80", NULL, &image,
                          &size, &log, &err);
    assert_int_equal(rc, -1);
    assert_int_equal(err.code, KG_ERR_CANDIDATE);
    assert_non_null(strstr(err.text, "bad.cu(2)"));
    assert_null(strchr(err.text, '\n'));
    assert_null(image);
    free(log);
    kg_error_clear(&err);
}

static void the_device_code_is_aboard(void **state) {
    (void)state;
    assert_non_null(strstr(kg_cuda_source, "kg_fill_32"));
    if (*kg_cuda_ptx_80) assert_non_null(strstr(kg_cuda_ptx_80, ".entry kg_count_bits("));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_missing_driver_is_one_line),
        cmocka_unit_test(the_driver_has_every_name),
        cmocka_unit_test(nvrtc_compiles_and_names_errors),
        cmocka_unit_test(the_device_code_is_aboard),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
