// Numbers as a table shows them: three digits.
#include <stdlib.h>

#include "report/internal.h"

static char *three_digits(double x) {
    double a = fabs(x);
    int decimals = a >= 99.95 ? 0 : a >= 9.995 ? 1 : a >= 0.9995 ? 2 : 3;
    return a != 0 && a < 0.0995 ? kg_format("%.2g", x) : kg_format("%.*f", decimals, x);
}

char *kg_show_time(double us) {
    static const struct {
        double us;
        const char *name;
    } units[] = {{1e6, "s"}, {1e3, "ms"}, {1, "us"}, {1e-3, "ns"}};
    if (isnan(us)) return kg_strdup("");
    size_t i = 0;
    while (i < 3 && us < units[i].us * 0.9995) i++;
    char *n = three_digits(us / units[i].us), *text = kg_format("%s %s", n, units[i].name);
    free(n);
    return text;
}

char *kg_show_ratio(double x) { return isnan(x) ? kg_strdup("") : three_digits(x); }

char *kg_show_share(double x) {
    if (isnan(x)) return kg_strdup("");
    return kg_format(x < 0.0995 ? "%.1f%%" : "%.0f%%", 100 * x);
}

double kg_table_time(const json_t *record) {
    double longest = NAN;
    size_t i;
    json_t *c;
    json_array_foreach(kg_field(record, "performance.cases"), i, c) {
        double t = kg_field_number(c, "time_us");
        if (!isnan(t) && !(t <= longest)) longest = t;
    }
    return longest;
}
