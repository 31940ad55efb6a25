// Ceilings are measured once for a device and its driver, and kept in the database.
#include <math.h>
#include <stdlib.h>

#include "judge/judges.h"

bool kg_ceilings_kept(kg_device *d, kg_database *store, kg_ceilings *out) {
    kg_device_info i;
    if (!store || d->ops->describe(d, &i, NULL)) return false;
    char *json = kg_store_get_ceilings(store, i.name, i.driver);
    bool good = json && !kg_ceilings_from_json(json, out, NULL);
    free(json);
    kg_device_info_free(&i);
    return good;
}

static int keep(kg_database *store, const kg_device_info *i, const kg_ceilings *c, kg_error *err) {
    char *json = kg_ceilings_to_json(c);
    int result = kg_store_put_ceilings(store, i->name, i->driver, json, err);
    free(json);
    return result;
}

int kg_ceilings_measure(kg_device *d, kg_database *store, void (*progress)(const char *what, void *ctx), void *ctx,
                        kg_ceilings *out, kg_error *err) {
    kg_device_info i;
    if (d->ops->describe(d, &i, err)) return -1;
    int result = d->ops->measure(d, out, progress, ctx, err);
    if (!result && kg_interrupted()) result = kg_fail(err, KG_ERR_CANNOT, "interrupted");
    if (!result && out->disturbed && progress)
        progress(KG_NOTE
                 "the machine is busy: these ceilings are too low, and not kept; measure again when it is quiet",
                 ctx);
    // Kept, they would falsify results long after the machine has calmed down.
    if (!result && store && !out->disturbed) result = keep(store, &i, out, err);
    kg_device_info_free(&i);
    return result;
}

void kg_ceilings_keep(kg_device *d, kg_database *store, const kg_ceilings *c) {
    kg_device_info i;
    if (d->ops->describe(d, &i, NULL)) return;
    keep(store, &i, c, NULL);
    kg_device_info_free(&i);
}
