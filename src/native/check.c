/* Whether byte code is safe to run. A program that passes ends, and reads and writes nothing but registers, maps and
 * functions that there are:
 *
 *   - every operand is in its range, and no constant is written;
 *   - jumps go forward, to the start of an instruction, and not out of a loop;
 *   - a loop ends where its head says; nothing in it writes the register that counts, nor the map it goes through.
 *
 * That a register which names an entry names one is asked when it is used.
 */
#include "native.h"

typedef struct {
    int next, map, index, id, body, end; /* next: the operation that ends it */
} Loop;

typedef struct {
    const Core *core;
    const Program *program;
    int at, depth; /* of the instruction that is looked at */
    Loop loops[MAX_LOOPS];
    unsigned char *is_start, *is_target;
} Checker;

/* Operands: d written, r read, m map, x index of it, z order of it, t a jump, i a loop's register, b a loop's body,
 * c a column, j a measure, s a sum that the order has, n the same or -1 for how many, f a function, g zero or one; after
 * it K, X, T, P, A, O: one read register for each key, word of the index, word of the order but the last, column of the
 * table, argument, output; L: each key and measure. */
static const char *const operands[OPERATION_COUNT] = {
    [OP_END] = "", [OP_MOV] = "dr", [OP_ADD] = "drr", [OP_SUB] = "drr", [OP_MUL] = "drr", [OP_LT] = "drr",
    [OP_LE] = "drr", [OP_GT] = "drr", [OP_GE] = "drr", [OP_EQ] = "drr", [OP_NE] = "drr", [OP_NOT] = "dr",
    [OP_IS_NULL] = "dr", [OP_IS_TRUE] = "dr", [OP_SELECT] = "drrr", [OP_JUMP_IF_NOT] = "rt", [OP_JUMP] = "t",
    [OP_PROBE] = "mdtK", [OP_SLICE] = "mxdtX", [OP_NEXT_IN_SLICE] = "mxib", [OP_SCAN] = "mdt",
    [OP_NEXT_IN_SCAN] = "mib", [OP_WORD] = "dmrc", [OP_MEASURE] = "dmrj", [OP_GET] = "dmjK", [OP_ADD_TO] = "mL",
    [OP_PUT] = "mrP", [OP_CLEAR] = "m", [OP_CALL] = "fdA", [OP_EMIT] = "rO", [OP_SUM] = "mzdnrgrgT",
    [OP_EDGE] = "mzdtgrgrgT", [OP_RANGE] = "mzdtgrgrgT", [OP_NEXT_IN_RANGE] = "mzibgrgrg", [OP_WAS_NEGATIVE] = "dmz",
    [OP_DESCEND] = "mzdtsdT", [OP_NEXT_IN_DESCENT] = "mzibrd",
    [OP_IS_FIRST] = "dmrx",
};

static int is_within(int value, int end) { return value >= 0 && value < end; }

/* One operand; ``map`` and ``function`` are those named before it. */
static int operand_ok(Checker *c, char what, int value, const Map *map, const Tree *tree) {
    const Program *p = c->program;
    switch (what) {
    case 'd':
        if (!is_within(value, p->constants_at)) return 0;
        for (int i = 0; i < c->depth; i++)
            if (c->loops[i].id == value) return 0;
        return 1;
    case 'r': case 'i': return is_within(value, p->registers);
    case 'm': return is_within(value, c->core->map_count);
    case 'x': return map && is_within(value, map->indexes);
    case 'z': return map && is_within(value, map->tree_count);
    case 's': return tree && is_within(value, tree->sums);
    case 'n': return tree && (value == -1 || is_within(value, tree->sums));
    case 'g': return value == 0 || value == 1;
    case 'c': return map && is_within(value, map->columns);
    case 'j': return map && is_within(value, map->measures);
    case 'f': return is_within(value, c->core->function_count);
    case 'b': return 1; /* looked at with the loop */
    case 't': {
        int limit = c->depth ? c->loops[c->depth - 1].end : p->length;
        if (value <= c->at || value >= p->length || value > limit) return 0;
        c->is_target[value] = 1;
        return 1;
    }
    }
    return 0;
}

static int listed(char what, const Map *map, const Index *index, const Tree *tree, const Function *function,
                  const Program *p) {
    switch (what) {
    case 'K': return map ? map->keys : -1;
    case 'L': return map && map->keys == map->columns ? map->keys + map->measures : -1;
    case 'P': return map && map->measures == 1 && !map->wide[0] ? map->columns : -1;
    case 'X': return index ? index->length : -1;
    case 'T': return tree ? tree->length - 1 : -1;
    case 'A': return function ? function->arity : -1;
    case 'O': return p->outputs;
    }
    return -1;
}

/* The end of the instruction at ``at``, or 0. */
static int instruction_end(Checker *c) {
    const Program *p = c->program;
    int op = p->code[c->at], at = c->at + 1;
    const Map *map = NULL;
    const Index *index = NULL;
    const Tree *tree = NULL;
    const Function *function = NULL;
    if (!is_within(op, OPERATION_COUNT)) return 0;
    for (const char *what = operands[op]; *what; what++) {
        if (*what < 'a') {
            int count = listed(*what, map, index, tree, function, p);
            if (count < 0 || count > p->length - at) return 0;
            for (; count--; at++)
                if (!is_within(p->code[at], p->registers)) return 0;
            continue;
        }
        if (at >= p->length || !operand_ok(c, *what, p->code[at], map, tree)) return 0;
        if (*what == 'm') map = &c->core->maps[p->code[at]];
        if (*what == 'x') index = &map->by[p->code[at]];
        if (*what == 'z') tree = &map->trees[p->code[at]];
        if (*what == 'f') function = &c->core->functions[p->code[at]];
        at++;
    }
    return at;
}

/* By the operation that begins a loop, the one that ends it. */
static const unsigned char next_of[OPERATION_COUNT] = {
    [OP_SLICE] = OP_NEXT_IN_SLICE, [OP_SCAN] = OP_NEXT_IN_SCAN, [OP_RANGE] = OP_NEXT_IN_RANGE,
    [OP_DESCEND] = OP_NEXT_IN_DESCENT,
};

static int is_next(int op) {
    return op == OP_NEXT_IN_SLICE || op == OP_NEXT_IN_SCAN || op == OP_NEXT_IN_RANGE || op == OP_NEXT_IN_DESCENT;
}

static int loop_ok(Checker *c, int end) {
    const int32_t *code = c->program->code + c->at;
    int next = is_next(*code) ? *code : next_of[*code], by_index = next != OP_NEXT_IN_SCAN;
    int next_length = (int)strlen(operands[next]) + 1;
    int index = by_index ? code[2] : -1, id = code[2 + by_index], target = code[3 + by_index];
    if (!is_next(*code)) {
        if (c->depth == MAX_LOOPS || target - next_length < end) return 0;
        /* There is one search at a time. */
        for (int i = 0; i < c->depth; i++)
            if (next == OP_NEXT_IN_DESCENT && c->loops[i].next == next) return 0;
        c->loops[c->depth++] = (Loop){next, code[1], index, id, end, target - next_length};
        return 1;
    }
    if (!c->depth) return 0;
    const Loop *loop = &c->loops[--c->depth];
    return loop->next == next && loop->map == code[1] && loop->index == index && loop->id == id &&
           loop->body == target && loop->end == c->at;
}

static int writes_ok(const Checker *c) {
    const int32_t *code = c->program->code + c->at;
    if (*code != OP_ADD_TO && *code != OP_PUT && *code != OP_CLEAR) return 1;
    for (int i = 0; i < c->depth; i++)
        if (c->loops[i].map == code[1]) return 0;
    return 1;
}

static int checked(Checker *c) {
    const Program *p = c->program;
    if (p->length < 1 || p->code[p->length - 1] != OP_END) return 0;
    int last = 0;
    while (c->at < p->length) {
        int op = p->code[c->at], end = 0;
        c->is_start[c->at] = 1, last = c->at;
        if (!writes_ok(c) || !(end = instruction_end(c))) return 0;
        if ((next_of[op] || is_next(op)) && !loop_ok(c, end)) return 0;
        c->at = end;
    }
    if (c->depth || last != p->length - 1) return 0;
    for (int i = 0; i < p->length; i++)
        if (c->is_target[i] && !c->is_start[i]) return 0;
    return 1;
}

int check_program(const Core *core, const Program *program, PyObject *error) {
    Checker c = {core, program, 0, 0, {{0}}, NULL, NULL};
    c.is_start = PyMem_RawCalloc((size_t)program->length + 1, 1);
    c.is_target = PyMem_RawCalloc((size_t)program->length + 1, 1);
    int failed = FAILED;
    if (!c.is_start || !c.is_target) PyErr_NoMemory();
    else if (checked(&c)) failed = DONE;
    else PyErr_Format(error, "byte code that is not safe to run, at %d", c.at);
    PyMem_RawFree(c.is_start);
    PyMem_RawFree(c.is_target);
    return failed;
}
