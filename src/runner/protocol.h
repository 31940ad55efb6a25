// The protocol between judge and runner, and the page they share. Nothing the runner says is believed unless the
// judge can check it.
//
// Transport: one AF_UNIX SOCK_SEQPACKET socket, one JSON object a packet (at most KG_PACKET bytes), file descriptors
// attached by SCM_RIGHTS. The judge asks, the runner answers each request with exactly one packet:
//     {"ok":true, ...}  or  {"ok":false, "error":"one line", "fault":"candidate"|"runner"}
//
// op          request                                                        answer
// hello       {"op","device","ordinal"}, fds: control page                   {"sandbox":[...], "pid"}
// arenas      {"op","in_bytes","out_bytes"}, fds: inputs (read-only), outputs (read-write)
//                                                                            {}
// calibrate   {"op","calls","flush_bytes"}: a batch of empty calls, before any candidate code is loaded
//                                                                            enqueued, then {"times":[s...],"host_s"}
// load        {"op","language","path","entry","task","params":[...],"python_call":...}
//                                                                            {"entry","seconds","log"}
// case        {"op","case":{args, outs, slots}}: describes arguments; tensors as {offset, dtype, shape, strides, arena,
//             slot_stride}, n slots laid out slot_stride bytes apart         {}
// call        {"op","slot","n"}: n calls on a slot one after the other, synchronised at the end
//                                                                            {} or a candidate error
// batch       {"op","calls","first_slot","held":bool,"flush_bytes","collect":bool,"seq"}: enqueues `calls` calls, call i
//             on slot (first_slot + i), behind the hold when held; answers twice:
//               {"enqueued":true} once all is queued (held) or before it starts (unheld),
//               {"times":[s...], "host_s":s} when all of it is done.
//             The judge fills the inputs after `enqueued`, then releases by control.go = seq, and clocks until
//             control.done == seq.
// bye         {"op"}                                                         {}
//
// A candidate that synchronises inside its call never gets to `enqueued` while held: the judge notices, releases
// the hold (go = seq), throws the batch away and measures unheld from then on.
#ifndef KG_PROTOCOL_H
#define KG_PROTOCOL_H

#include <stdatomic.h>
#include <stdint.h>

#define KG_PACKET (192 * 1024)
#define KG_PROTOCOL_VERSION 1

// One 4096-byte page, a memfd shared by judge and runner (and, on CUDA, by the device).
typedef struct {
    _Atomic uint32_t go;     // judge -> runner or queue: batch `seq` may run; also a futex on the CPU
    _Atomic uint32_t done;   // last write of the batch; also a futex on the CPU
    uint32_t reserved[30];
} kg_control;

#endif
