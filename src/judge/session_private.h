// What the files of a session share. Not for others.
#ifndef KG_SESSION_PRIVATE_H
#define KG_SESSION_PRIVATE_H

#include <jansson.h>

#include "judge/layout.h"
#include "judge/scratch.h"
#include "judge/session.h"
#include "runner/protocol.h"

struct kg_session {
    kg_launcher *launcher;
    kg_device *device;
    bool python, native;
    kg_session_options o;
    kg_scratch scratch;
    char *sandbox, *entry;
    int socket, pid;
    kg_control *control;
    int control_fd;
    kg_arena *in, *out;
    uint64_t drawn;  // looks
    bool borrowed;   // both are another session's
    const kg_task *task;
    const kg_case *c;
    kg_layout layout;
    uint32_t seq;
    bool unheld;  // for good: the candidate synchronises
    bool killed;  // ended by SIGKILL
    bool paused;
    double paused_at, worked_at;  // when, and the processor time it had used
    int ran_paused;               // pauses in which it worked all the same
    bool wrong_result;            // the last refusal was for a result of another dtype, shape or number
    double call_overhead_s;       // judge's clock, per empty call
    double batch_overhead_s;      // judge's clock, per empty batch
    double event_s;               // what the runner's own timing adds to a call
    double empty_s;               // a call of a kernel that does nothing, so timed
};

// Sends a request (whose reference it takes) and waits for the answer; *answer is owned by the caller, NULL: not
// wanted.
int kg_session_ask(kg_session *s, json_t *request, const int *fds, int n, double timeout_s, json_t **answer,
                   kg_error *err);
int kg_session_receive(kg_session *s, double timeout_s, json_t **answer, kg_error *err);
void kg_session_resume(kg_session *s);
// After a failed call: does an empty one still go through? A broken device context answers nothing any more, and then
// the session is as good as dead.
void kg_session_check_health(kg_session *s, kg_error *err);

#endif
