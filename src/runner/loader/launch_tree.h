// Inside the room only: a stated launch as read. Nodes refer to one another by index; -1 is none.
#ifndef KG_LAUNCH_TREE_H
#define KG_LAUNCH_TREE_H

#include "runner/loader/launch_spec.h"

typedef enum {
    OP_NUMBER,
    OP_PARAMETER,
    OP_NUMEL,
    OP_NDIM,
    OP_SIZE,
    OP_STRIDE,
    OP_CODE,
    OP_BITS,
    OP_CEILDIV,
    OP_MIN,
    OP_MAX,
    OP_ADD,
    OP_SUBTRACT,
    OP_MULTIPLY,
    OP_DIVIDE,
    OP_REMAINDER,
    OP_NEGATE
} op;

typedef struct {
    op op;
    char *name;  // parameter or tensor; owned
    int64_t number;
    int a, b;  // children, each older than the node or made while it was read
} node;

typedef enum { ITEM_TENSOR, ITEM_I32, ITEM_I64, ITEM_F32, ITEM_F64 } item_kind;
typedef struct {
    item_kind kind;
    char *name;  // tensor or parameter; owned; NULL for i32, i64
    int expression;
} item;

typedef struct {
    char *kernel;  // owned
    int grid[3], block[3], smem;
    int n_items;
    item items[KG_LAUNCH_MAX_ARGS];
} launch;

struct kg_launch_spec {
    node *nodes;
    size_t n_nodes, node_cap;
    launch *launches;
    size_t n_launches;
};

#endif
