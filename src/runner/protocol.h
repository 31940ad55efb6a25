// The protocol between judge and runner, and the page they share. Nothing the runner says is believed unless the
// judge can check it.
//
// Transport: one AF_UNIX SOCK_SEQPACKET socket, one JSON object a packet (at most KG_PACKET bytes), file descriptors
// attached by SCM_RIGHTS. The judge asks, the runner answers each request with exactly one packet:
//     {"ok":true, ...}  or  {"ok":false, "error":"one line", "fault":"candidate"|"runner"}
//
// op          request                                                        answer
// hello       {"op","device","ordinal","scratch","memory_bytes"}, fds: control page
//                                                                            {"sandbox":[...], "pid"}
//             scratch: the only folder the runner may write (absent: its working folder). memory_bytes: host memory a
//             candidate on the CPU may take beside the arenas (absent or 0: half of what the machine has)
// arenas      {"op","in_bytes","out_bytes"}, fds: inputs (read-only), outputs (read-write)
//                                                                            {}
//             Asked again, it replaces (and unmaps) the arenas before.
// calibrate   {"op","calls","held","flush_bytes","seq","nothing":bool}: a batch of empty calls (a kernel that does
//             nothing; with "nothing", not even that), before any candidate code is loaded
//                                                                            enqueued, then {"times":[s...],"host_s"}
// load        {"op","language","path","entry","task","function","launch","host_entry"}; entry, launch may be null
//                                                                            {"entry","seconds","log"}
//             entry: the only name that the candidate's function may have; null: the task's, or `function`, which its
//             signature has, or kernel_function
// case        {"op","case":{args, outs, slots}}: describes arguments; tensors as {offset, dtype, shape, strides, arena,
//             slot_stride}, n slots laid out slot_stride bytes apart         {}
// call        {"op","slot","n"}: n calls on a slot one after the other, synchronised at the end
//                                                                            {} or a candidate error
// observe     {"op","slot","folder"}: one call, whose kernels' machine code is written into the folder, in the scratch
//                                                                            {}, or a candidate error
// batch       {"op","calls","first_slot","held":bool,"flush_bytes","collect":bool,"seq"}: enqueues `calls` calls,
//             call i on slot (first_slot + i), behind the hold when held; answers twice:
//               {"enqueued":true} once all is queued (held) or before it starts (unheld),
//               {"times":[s...], "host_s":s} when all of it is done.
//             The judge fills the inputs after `enqueued`, then releases by control.go = seq, and clocks until
//             control.done == seq. Held: the queue waits for go (on the CPU: the runner, before the first call). Not
//             held: the runner itself waits for go after saying `enqueued`, then makes the calls.
// bye         {"op"}                                                         {}
//
// The "case" object (kg_case_to_json makes it, kg_parse_case reads it):
//     {"calls":1, "slots":8, "alias_first_out":false, "args":[ARG...], "outs":[TENSOR...]}
//   ARG: {"name", "kind":"tensor|int|float|bool|str|dtype|ints|floats", "role":"in|inout|state|out_arg", ...}
//     flags, only when true: "optional","nullable","keyword","native_only","listed","none","absent","scalar"
//     kind tensor: "tensor":TENSOR, or with "scalar" a Python number in "value"; neither when none or absent
//     other kinds: "value", also when absent (the default); null when none. A number that JSON lacks is the string
//     "nan", "inf" or "-inf". ints, floats: a list; with "scalar" a list of one, given as a bare number. ints with
//     "text": Python passes the text (padding='same'), C the list
//     "seed" of kind int with "native_only": C and CUDA get a number made from the value, another at every call
//   TENSOR: {"dtype":"float32", "shape":[...], "strides":[...], "arena":"in"|"out", "offset":N,
//     "slot_stride":N}, both in bytes.
//     outs[0] with alias_first_out has no place of its own: it lies where args[0] lies.
//
// When a batch fails, the error is its last answer, whether `enqueued` was said before or not; the judge then releases
// the hold. A batch collects (copies what the callable allocated into the outs) call by call, before
// control.done is written.
//
// A candidate that synchronises inside its call never gets to `enqueued` while held: the judge notices, releases
// the hold (go = seq), throws the batch away and measures unheld from then on.
#ifndef KG_PROTOCOL_H
#define KG_PROTOCOL_H

#include <jansson.h>
#include <stdatomic.h>
#include <stdint.h>

#include "base/base.h"

#define KG_PACKET           (192 * 1024)
#define KG_PROTOCOL_VERSION 1

// One 4096-byte page, a memfd shared by judge and runner (and, on CUDA, by the device).
typedef struct {
    _Atomic uint32_t go;    // judge -> runner or queue: batch `seq` may run; also a futex on the CPU
    _Atomic uint32_t done;  // last write of the batch; also a futex on the CPU
    uint32_t reserved[30];
} kg_control;

// ---- packets (src/runner/wire/) -----------------------------------------------------------------
#define KG_PACKET_FDS 4

typedef struct {
    json_t *json;            // always an object; owned
    int fds[KG_PACKET_FDS];  // owned; -1 where none
    int n_fds;
} kg_packet;

// Sends one object with n_fds descriptors attached. timeout_s < 0: waits for ever. Errors: KG_ERR_DIED (the other side
// is gone), KG_ERR_TIMEOUT, KG_ERR_INTERNAL (too large).
int kg_packet_send(int socket, const json_t *object, const int *fds, int n_fds, double timeout_s, kg_error *err);
// Receives one. Whatever bytes come, the answer is an object or an error: KG_ERR_DIED (end of file), KG_ERR_TIMEOUT,
// KG_ERR_CANDIDATE (not a JSON object, too deep, too large, more descriptors than expected).
int kg_packet_receive(int socket, double timeout_s, kg_packet *out, kg_error *err);
void kg_packet_free(kg_packet *p);           // closes descriptors still held; take one by setting it to -1
int kg_packet_take_fd(kg_packet *p, int i);  // -1 when there is none

// Judge: a fresh control page. *fd for SCM_RIGHTS; sealed, so that a runner cannot shrink it. Owned: munmap and close.
int kg_control_create(int *fd, kg_control **out, kg_error *err);
void kg_control_destroy(int fd, kg_control *c);
// Stores and wakes; waits until *word == value (true) or the time is over (false).
void kg_control_set(_Atomic uint32_t *word, uint32_t value);
bool kg_control_wait(_Atomic uint32_t *word, uint32_t value, double timeout_s);

#endif
