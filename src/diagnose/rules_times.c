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
    {
        .id = "other-kernels",
        .cause = KG_CAUSE_AUTHORING,
        .when = {SLOW, {"other_share", '>', 0.5}},
        .explains = "other_share",
        .message =
            "most of the device's time goes to kernels that this file does not hold: a library's, copies, pauses",
        .evidence = "{other_percent} % of the time of a call",
        .change = "do that work in a kernel of this file, or all of it in one call of the library; what the kernels "
                  "here do better saves the rest at most",
    },
    {
        .id = "launch-latency",
        .cause = KG_CAUSE_TUNING,
        .when = {SLOW, {"time_us", '<', 12}, {"sol_us", '<', 2}},
        .weight = 0.3,
        .message = "the work is shorter than a launch: its latency is what is measured",
        .evidence = "{time_us} us, of which the device needs {sol_us} us",
        .change = "one launch, not several; else fuse it with its neighbours, or replay it in a CUDA graph",
    },
    {
        .id = "slow-when-large",
        .cause = KG_CAUSE_TUNING,
        .when = {SLOW, {"lre_small", '>', 0.9}, {"lre", '<', 0.8}},
        .weight = 0.2,
        .message = "it keeps up with the library at the smallest size and falls behind at the largest",
        .evidence = "library time over its time: {lre_small} at the smallest size, {lre} at the largest",
        .change = "tune on the large size: configurations chosen on a small one can cost half the speed there",
    },
    {
        .id = "waits-each-call",
        .cause = KG_CAUSE_AUTHORING,
        .when = {SLOW, {"synchronises", '=', 1}},
        .explains = "host_share",
        .weight = 0.3,
        .message = "the call returns only when the device is done",
        .evidence = "the host is held until the device has finished",
        .change = "remove what waits: synchronisation, .item(), copies to the host, allocations",
    },
};

KG_TABLE(kg_rules_times);
