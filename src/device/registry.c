// The devices of this build, best first.
#include <stdlib.h>
#include <string.h>

#include "device/device.h"

#define KINDS 2
static const kg_device_ops *const kinds[KINDS] = {&kg_cuda_device_ops, &kg_cpu_device_ops};

void kg_device_info_free(kg_device_info *i) {
    free(i->kind);
    free(i->name);
    free(i->driver);
    free(i->arch);
    free(i->notes);
    *i = (kg_device_info){0};
}

// "cpu, cuda:0, cuda:1"
static char *list_present(void) {
    kg_text t = {0};
    for (size_t i = KINDS; i-- > 0;) {
        const kg_device_ops *ops = kinds[i];
        int n = ops->count();
        for (int k = 0; k < n; k++)
            kg_text_add(&t, n == 1 && k == 0 && !strcmp(ops->kind, "cpu") ? "%s%s" : "%s%s:%d", t.len ? ", " : "",
                        ops->kind, k);
    }
    return t.data ? t.data : kg_strdup("none");
}

static int absent(const char *spec, kg_error *err) {
    char *here = list_present();
    kg_fail(err, KG_ERR_CANNOT, "no device `%s` here, only %s", spec, here);
    free(here);
    return -1;
}

static int open_best(kg_device **out, kg_error *err) {
    for (size_t i = 0; i < KINDS; i++) {
        const kg_device_ops *ops = kinds[i];
        if (ops->count() > 0) return ops->open(0, out, err);
    }
    return absent("auto", err);
}

// "cuda:12" to ops and ordinal. -1: not a device's name.
static int parse_spec(const char *spec, const kg_device_ops **ops, int *ordinal) {
    size_t length = strcspn(spec, ":");
    *ordinal = 0;
    if (spec[length] == ':') {
        const char *digits = spec + length + 1;
        if (strspn(digits, "0123456789") != strlen(digits) || !*digits || strlen(digits) > 4) return -1;
        *ordinal = atoi(digits);
    }
    for (size_t i = 0; i < KINDS; i++) {
        *ops = kinds[i];
        if (strlen((*ops)->kind) == length && !strncmp((*ops)->kind, spec, length)) return 0;
    }
    return -1;
}

int kg_device_open(const char *spec, kg_device **out, kg_error *err) {
    const kg_device_ops *ops = NULL;
    int ordinal = 0;
    if (!spec || !strcmp(spec, "auto")) return open_best(out, err);
    if (parse_spec(spec, &ops, &ordinal) || ordinal >= ops->count()) return absent(spec, err);
    return ops->open(ordinal, out, err);
}

void kg_device_each(int (*fn)(kg_device *d, void *ctx), void *ctx) {
    for (size_t i = 0; i < KINDS; i++) {
        const kg_device_ops *ops = kinds[i];
        int n = ops->count();
        for (int k = 0; k < n; k++) {
            kg_device *d = NULL;
            if (ops->open(k, &d, NULL)) continue;
            int stop = fn(d, ctx);
            ops->close(d);
            if (stop) return;
        }
    }
}
