// Packets of the protocol: one JSON object and a few descriptors over a SOCK_SEQPACKET socket. Both sides link this;
// it must survive whatever the other side sends.
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runner/protocol.h"

// Room for more descriptors than we take, so that a sender of too many is noticed and none of them leaks.
#define CONTROL_FDS 64

static int wait_for(int socket, short what, double timeout_s, kg_error *err) {
    double deadline = timeout_s < 0 ? -1 : kg_now() + timeout_s;
    for (;;) {
        double left = deadline < 0 ? -1 : deadline - kg_now();
        if (deadline >= 0 && left < 0) left = 0;
        int ms = deadline < 0 ? -1 : left > 1e6 ? 1000000000 : (int)(left * 1e3 + 0.999);
        struct pollfd p = {.fd = socket, .events = what};
        int n = poll(&p, 1, ms);
        if (n > 0) return 0;
        if (n == 0) return kg_fail(err, KG_ERR_TIMEOUT, "no answer within %.3g s", timeout_s);
        if (errno != EINTR) return kg_fail(err, KG_ERR_INTERNAL, "poll: %s", strerror(errno));
        if (kg_interrupted()) return kg_fail(err, KG_ERR_CANNOT, "interrupted");
    }
}

static int send_error(int code, kg_error *err) {
    if (code == EPIPE || code == ECONNRESET || code == ENOTCONN)
        return kg_fail(err, KG_ERR_DIED, "the other side closed the connection");
    return kg_fail(err, KG_ERR_INTERNAL, "sending a packet: %s", strerror(code));
}

static int send_bytes(int socket, const char *text, size_t size, const int *fds, int n_fds, double timeout_s,
                      kg_error *err) {
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int) * KG_PACKET_FDS)];
    } control = {0};
    struct iovec io = {(void *)text, size};
    struct msghdr m = {.msg_iov = &io, .msg_iovlen = 1};
    if (n_fds > 0) {
        m.msg_control = control.bytes;
        m.msg_controllen = CMSG_SPACE(sizeof(int) * (size_t)n_fds);
        struct cmsghdr *c = CMSG_FIRSTHDR(&m);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof(int) * (size_t)n_fds);
        memcpy(CMSG_DATA(c), fds, sizeof(int) * (size_t)n_fds);
    }
    for (;;) {
        if (sendmsg(socket, &m, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) return 0;
        if (errno == EINTR) continue;
        if (errno != EAGAIN && errno != EWOULDBLOCK) return send_error(errno, err);
        if (wait_for(socket, POLLOUT, timeout_s, err)) return -1;
    }
}

int kg_packet_send(int socket, const json_t *object, const int *fds, int n_fds, double timeout_s, kg_error *err) {
    if (n_fds > KG_PACKET_FDS)
        return kg_fail(err, KG_ERR_INTERNAL, "a packet carries %d descriptors at most", KG_PACKET_FDS);
    char *text = json_dumps(object, JSON_COMPACT | JSON_ENSURE_ASCII);
    if (!text) return kg_fail(err, KG_ERR_INTERNAL, "a packet that cannot be written as JSON");
    size_t size = strlen(text);
    int r = size > KG_PACKET ? kg_fail(err, KG_ERR_INTERNAL, "a packet of %zu bytes: %d at most", size, KG_PACKET)
                             : send_bytes(socket, text, size, fds, n_fds, timeout_s, err);
    free(text);
    return r;
}

// Keeps the first KG_PACKET_FDS descriptors and closes the others; returns how many came.
static int take_fds(struct msghdr *m, kg_packet *out) {
    int came = 0;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
        size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < n; i++, came++) {
            int fd;
            memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof fd);
            if (out->n_fds < KG_PACKET_FDS) out->fds[out->n_fds++] = fd;
            else close(fd);
        }
    }
    return came;
}

static int read_packet(int socket, char *buffer, kg_packet *out, size_t *size, kg_error *err) {
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int) * CONTROL_FDS)];
    } control;
    struct iovec io = {buffer, KG_PACKET};
    struct msghdr m = {
        .msg_iov = &io, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
    ssize_t n;
    do n = recvmsg(socket, &m, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    if (n < 0 && errno != ECONNRESET && errno != EAGAIN)
        return kg_fail(err, KG_ERR_INTERNAL, "receiving a packet: %s", strerror(errno));
    if (n <= 0) return kg_fail(err, KG_ERR_DIED, "the other side closed the connection");
    int came = take_fds(&m, out);
    if (came > KG_PACKET_FDS || (m.msg_flags & MSG_CTRUNC))
        return kg_fail(err, KG_ERR_CANDIDATE, "a packet with too many descriptors");
    if (m.msg_flags & MSG_TRUNC) return kg_fail(err, KG_ERR_CANDIDATE, "a packet above %d bytes", KG_PACKET);
    *size = (size_t)n;
    return 0;
}

int kg_packet_receive(int socket, double timeout_s, kg_packet *out, kg_error *err) {
    *out = (kg_packet){.json = NULL};
    for (int i = 0; i < KG_PACKET_FDS; i++) out->fds[i] = -1;
    if (wait_for(socket, POLLIN, timeout_s, err)) return -1;
    char *buffer = kg_alloc(KG_PACKET);
    size_t size = 0;
    int r = read_packet(socket, buffer, out, &size, err);
    if (r == 0) {
        json_error_t e;
        // jansson refuses input nested deeper than 2048 levels, repeated keys and NUL bytes in keys by itself.
        out->json = json_loadb(buffer, size, JSON_REJECT_DUPLICATES, &e);
        if (!json_is_object(out->json)) r = kg_fail(err, KG_ERR_CANDIDATE, "a packet that is not a JSON object");
    }
    free(buffer);
    if (r) kg_packet_free(out);
    return r;
}

int kg_packet_take_fd(kg_packet *p, int i) {
    if (i < 0 || i >= p->n_fds) return -1;
    int fd = p->fds[i];
    p->fds[i] = -1;
    return fd;
}

void kg_packet_free(kg_packet *p) {
    for (int i = 0; i < p->n_fds; i++)
        if (p->fds[i] >= 0) close(p->fds[i]);
    p->n_fds = 0;
    json_decref(p->json);
    p->json = NULL;
}
