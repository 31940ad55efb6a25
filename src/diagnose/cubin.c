// What a cubin (an ELF file) says of its kernels: registers, shared and local memory.
#include <elf.h>
#include <math.h>
#include <string.h>

#include "diagnose/internal.h"

typedef struct {
    const unsigned char *bytes;
    size_t size;
    Elf64_Ehdr head;
} elf;

// Sections may claim the same bytes again and again: so much is read of all of them, in units of the file.
#define MOST_READ 4
#define LONG_NAME 256

static bool read_at(const elf *e, uint64_t at, void *to, size_t n) {
    if (at > e->size || n > e->size - at) return false;
    memcpy(to, e->bytes + at, n);
    return true;
}

static bool section(const elf *e, unsigned i, Elf64_Shdr *out) {
    const uint64_t at = (uint64_t)i * e->head.e_shentsize;
    return e->head.e_shentsize >= sizeof *out && e->head.e_shoff <= e->size &&
           read_at(e, e->head.e_shoff + at, out, sizeof *out);
}

// The section's name, NUL-terminated inside the file; NULL when it is not.
static const char *name_of(const elf *e, const Elf64_Shdr *names, const Elf64_Shdr *s) {
    const uint64_t at = names->sh_offset + s->sh_name;
    if (names->sh_offset > e->size || at >= e->size) return NULL;
    const size_t most = e->size - at < LONG_NAME ? e->size - at : LONG_NAME;
    return memchr(e->bytes + at, 0, most) ? (const char *)e->bytes + at : NULL;
}

// .nv.info is a list of {format, attribute, 16-bit value or size of what follows}; these two are followed by pairs
// (symbol, number), one a kernel. Names and numbers as cuobjdump -elf prints them.
#define FORMAT_SIZED 4
#define FRAME_SIZE   0x11  // EIATTR_FRAME_SIZE: bytes of local memory
#define REGCOUNT     0x2f  // EIATTR_REGCOUNT
//
// Of several kernels it is not known which ran: what the least of them takes, all of them do.
static void read_attributes(const elf *e, const Elf64_Shdr *s, double least[2]) {
    uint64_t at = s->sh_offset, end = s->sh_offset + s->sh_size;
    unsigned char head[4];
    if (s->sh_size > e->size || s->sh_offset > e->size) return;
    while (at + 4 <= end && read_at(e, at, head, 4)) {
        const uint64_t n = head[0] == FORMAT_SIZED ? (uint64_t)(head[2] | head[3] << 8) : 0;
        uint32_t pair[2];
        const bool known = head[0] == FORMAT_SIZED && (head[1] == FRAME_SIZE || head[1] == REGCOUNT) && n >= 8;
        if (known && read_at(e, at + 4, pair, 8))
            least[head[1] == REGCOUNT] = fmin(least[head[1] == REGCOUNT], pair[1]);
        at += 4 + n;
    }
}

void kg_facts_from_cubin(kg_facts *f, const void *bytes, size_t size) {
    elf e = {.bytes = bytes, .size = size};
    Elf64_Shdr names, s;
    if (!read_at(&e, 0, &e.head, sizeof e.head) || memcmp(e.head.e_ident, ELFMAG, SELFMAG) ||
        e.head.e_ident[EI_CLASS] != ELFCLASS64 || !section(&e, e.head.e_shstrndx, &names))
        return;
    double least[2] = {INFINITY, INFINITY};  // bytes of local memory, registers
    uint64_t left = MOST_READ * (uint64_t)size;
    for (unsigned i = 0; i < e.head.e_shnum && section(&e, i, &s); i++) {
        const char *name = name_of(&e, &names, &s);
        if (!name) continue;
        if (strncmp(name, ".nv.shared.", 11) == 0) kg_facts_at_least(f, "shared_bytes", (double)s.sh_size);
        if (strncmp(name, ".nv.info", 8) == 0 && s.sh_size <= left) {
            read_attributes(&e, &s, least);
            left -= s.sh_size;
        }
    }
    if (isfinite(least[0])) kg_facts_at_least(f, "local_bytes", least[0]);
    if (isfinite(least[1])) kg_facts_at_least(f, "registers", least[1]);
}
