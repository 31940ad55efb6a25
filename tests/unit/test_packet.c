// Packets against a hostile sender: every one is an object or an error, no descriptor is lost, nothing blocks.
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "runner/protocol.h"

static int open_files(void) {
    int n = 0;
    DIR *d = opendir("/proc/self/fd");
    while (readdir(d)) n++;
    closedir(d);
    return n;
}

static void pair(int s[2]) {
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, s), 0);
    int size = 1 << 20;
    setsockopt(s[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
}

static kg_code receive_bytes(const void *bytes, size_t size) {
    int s[2];
    kg_packet p;
    kg_error e = {0};
    pair(s);
    assert_int_equal(send(s[0], bytes, size, 0), (ssize_t)size);
    kg_code code = kg_packet_receive(s[1], 1, &p, &e) ? e.code : KG_OK;
    if (code == KG_OK) kg_packet_free(&p);
    assert_null(p.json);
    kg_error_clear(&e);
    close(s[0]);
    close(s[1]);
    return code;
}

static void only_objects_are_taken(void **state) {
    (void)state;
    static const char *const wrong[] = {
        "[1]", "5", "\"x\"", "{", "{}{}", "{\"a\":1,\"a\":2}", "{\"a\":1e999}", "\xff\xfe", "null", "{\"a\":\"\xc3\"}"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(receive_bytes(wrong[i], strlen(wrong[i])), KG_ERR_CANDIDATE);
    assert_int_equal(receive_bytes("{}\0", 3), KG_ERR_CANDIDATE);
    assert_int_equal(receive_bytes("{\"a\":[1]}", 9), KG_OK);
}

static void deep_and_long_ones_are_refused(void **state) {
    (void)state;
    size_t size = KG_PACKET;
    char *deep = malloc(size + 1);
    memset(deep, '[', size + 1);
    memcpy(deep, "{\"a\":", 5);
    assert_int_equal(receive_bytes(deep, size), KG_ERR_CANDIDATE);
    assert_int_equal(receive_bytes(deep, size + 1), KG_ERR_CANDIDATE);
    free(deep);
}

static void surplus_descriptors_are_closed(void **state) {
    (void)state;
    int s[2], before = open_files();
    pair(s);
    enum { MANY = 40 };
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int) * MANY)];
    } control = {0};
    struct iovec io = {"{}", 2};
    struct msghdr m = {
        .msg_iov = &io, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    *c = (struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int) * MANY)};
    for (int i = 0; i < MANY; i++) memcpy(CMSG_DATA(c) + i * sizeof(int), &s[0], sizeof(int));
    assert_int_equal(sendmsg(s[0], &m, 0), 2);
    kg_packet p;
    kg_error e = {0};
    assert_int_equal(kg_packet_receive(s[1], 1, &p, &e), -1);
    assert_int_equal(e.code, KG_ERR_CANDIDATE);
    kg_error_clear(&e);
    close(s[0]);
    close(s[1]);
    assert_int_equal(open_files(), before);
}

static void silence_and_closing_are_told_apart(void **state) {
    (void)state;
    int s[2];
    kg_packet p;
    kg_error e = {0};
    pair(s);
    double start = kg_now();
    assert_int_equal(kg_packet_receive(s[1], 0.05, &p, &e), -1);
    assert_int_equal(e.code, KG_ERR_TIMEOUT);
    assert_true(kg_now() - start < 2);
    // A runner that never reads fills its queue: sending ends with the time too.
    json_t *o = json_pack("{s:s}", "op", "call");
    int sent = 0;
    while (sent < 100000 && kg_packet_send(s[0], o, NULL, 0, 0.05, &e) == 0) sent++;
    assert_true(sent > 0 && sent < 100000);
    assert_int_equal(e.code, KG_ERR_TIMEOUT);
    json_decref(o);
    close(s[0]);
    for (int i = 0; i < sent; i++) {
        assert_int_equal(kg_packet_receive(s[1], 1, &p, &e), 0);
        kg_packet_free(&p);
    }
    assert_int_equal(kg_packet_receive(s[1], 1, &p, &e), -1);
    assert_int_equal(e.code, KG_ERR_DIED);
    o = json_object();
    assert_int_equal(kg_packet_send(s[1], o, NULL, 0, 1, &e), -1);
    assert_int_equal(e.code, KG_ERR_DIED);
    json_decref(o);
    kg_error_clear(&e);
    close(s[1]);
}

static void descriptors_travel(void **state) {
    (void)state;
    int s[2], before = open_files();
    kg_packet p;
    pair(s);
    json_t *o = json_pack("{s:s}", "op", "hello");
    assert_int_equal(kg_packet_send(s[0], o, (int[]){0, 1}, 2, 1, NULL), 0);
    json_decref(o);
    assert_int_equal(kg_packet_receive(s[1], 1, &p, NULL), 0);
    assert_int_equal(p.n_fds, 2);
    int fd = kg_packet_take_fd(&p, 1);
    assert_true(fd > 2);
    assert_int_equal(kg_packet_take_fd(&p, 1), -1);
    assert_int_equal(kg_packet_take_fd(&p, 2), -1);
    assert_string_equal(json_string_value(json_object_get(p.json, "op")), "hello");
    kg_packet_free(&p);
    close(fd);
    close(s[0]);
    close(s[1]);
    assert_int_equal(open_files(), before);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_objects_are_taken), cmocka_unit_test(deep_and_long_ones_are_refused),
        cmocka_unit_test(surplus_descriptors_are_closed), cmocka_unit_test(silence_and_closing_are_told_apart),
        cmocka_unit_test(descriptors_travel)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
