// What the measured times alone say.
#include "diagnose/rules.h"

static const kg_rule rules[] = {
    {
        .id = "host-bound",
        .cause = KG_CAUSE_AUTHORING,
        .when = {SLOW, {"host_share", '>', 0.8}, {"python", '=', 1}},
        .weight = 0.3,
        .message = "the call costs the host about as long as the device works",
        .evidence = "{host_us} us of host time a call, {time_us} us on the device",
        .change = "fewer launches and less Python a call: cache what depends on shapes alone",
    },
};

KG_TABLE(kg_rules_times);
