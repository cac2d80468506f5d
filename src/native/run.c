/* Byte code that was checked, run. Numbers have 128 bits; one that does not fit ends the run with OVERFLOWED. */
#include "native.h"

/* So many results of a function are remembered. */
#define MEMO 65536

static int is_word(i128 value) { return value == (i64)value; }

/* The words of a key; one that was computed may be too large. */
static int words_of(const i128 *reg, const int32_t *which, int count, i64 *words) {
    for (int i = 0; i < count; i++) {
        i128 value = reg[which[i]];
        if (!is_word(value)) return OVERFLOWED;
        words[i] = (i64)value;
    }
    return DONE;
}

static int multiplied(i128 a, i128 b, i128 *product) {
    if (is_word(a) && is_word(b)) {
        *product = a * b;
        return 0;
    }
    return __builtin_mul_overflow(a, b, product);
}

static PyObject *arguments(const Core *core, const Function *f, const i128 *reg, const int32_t *which) {
    PyObject *given = PyTuple_New(f->arity);
    for (int i = 0; given && i < f->arity; i++) {
        PyObject *value = decode(&core->texts, f->kind[i], reg[which[i]]);
        if (!value) Py_CLEAR(given);
        else PyTuple_SET_ITEM(given, i, value);
    }
    return given;
}

static int called(Core *core, Function *f, const i128 *reg, const int32_t *which, i128 *result) {
    i64 key[MAX_WORDS + 2];
    int is_short = words_of(reg, which, f->arity, key) == DONE;
    u64 hash = is_short ? map_hash(key, f->arity) : 0;
    u32 id = is_short ? map_find(&f->memo, key, hash) : 0;
    if (id) {
        *result = measure_of(&f->memo, id, 0);
        return DONE;
    }
    PyObject *given = arguments(core, f, reg, which);
    if (!given) return FAILED;
    PyObject *value = PyObject_CallObject(f->callable, given);
    Py_DECREF(given);
    if (!value) return FAILED;
    int failed = encode_wide(&core->texts, f->result, value, result);
    Py_DECREF(value);
    if (failed && PyErr_ExceptionMatches(Unfit)) {
        PyErr_Clear();
        return OVERFLOWED;
    }
    if (failed || !is_short) return failed;
    if (f->memo.live >= MEMO) map_clear(&f->memo);
    memcpy(key + f->arity, result, sizeof *result);
    return map_insert(&f->memo, key, hash, NULL);
}

static int emitted(Core *core, const Program *p, const int32_t *which) {
    PyObject *times = decode_int(p->reg[which[0]]), *row = PyTuple_New(p->outputs), *pair = NULL;
    for (int i = 0; row && i < p->outputs; i++) {
        PyObject *value = decode(&core->texts, p->output_kind[i], p->reg[which[1 + i]]);
        if (!value) Py_CLEAR(row);
        else PyTuple_SET_ITEM(row, i, value);
    }
    if (times && row) pair = PyTuple_Pack(2, row, times);
    int failed = !pair || !core->answer || PyList_Append(core->answer, pair);
    if (failed && !PyErr_Occurred()) PyErr_SetString(PyExc_SystemError, "rows that nobody asked for");
    Py_XDECREF(times);
    Py_XDECREF(row);
    Py_XDECREF(pair);
    return failed ? FAILED : DONE;
}

static int added(Map *m, const i128 *reg, const int32_t *which) {
    i64 key[MAX_WORDS];
    i128 amounts[MAX_WORDS];
    if (words_of(reg, which, m->keys, key)) return OVERFLOWED;
    for (int i = 0; i < m->measures; i++) amounts[i] = reg[which[m->keys + i]];
    return map_add(m, key, amounts);
}

static int put(Core *core, Map *m, const i128 *reg, const int32_t *which) {
    i64 row[MAX_WORDS];
    if (words_of(reg, which + 1, m->columns, row) || !is_word(reg[which[0]])) return OVERFLOWED;
    core->writes++;
    return map_put(m, row, (i64)reg[which[0]]);
}

/* A place between keys: below those that have a value behind the group's words, or above them. */
static void cut_at(i64 *cut, int length, i128 value, int is_above) {
    int beyond = is_word(value) ? 0 : value < 0 ? -1 : 1;
    cut[length - 1] = !beyond ? (i64)value : beyond < 0 ? INT64_MIN : INT64_MAX;
    cut[length] = beyond > 0 || (!beyond && is_above) ? INT64_MAX : INT64_MIN;
}

/* Both ends of a range: a value and a side each, and the words of the group behind them. */
static int cuts_of(const Tree *x, const i128 *reg, const int32_t *at, i64 *low, i64 *high) {
    if (words_of(reg, at + 4, x->length - 1, low)) return OVERFLOWED;
    memcpy(high, low, (size_t)(x->length - 1) * sizeof *low);
    cut_at(low, x->length, reg[at[0]], at[1]);
    cut_at(high, x->length, reg[at[2]], at[3]);
    return DONE;
}

/* The entry of a range that comes after one. */
static u32 next_in_range(const Map *m, const Tree *x, const i128 *reg, const int32_t *at, u32 id) {
    i64 low[MAX_WORDS + 1], high[MAX_WORDS + 1];
    const i64 *e = entry_at(m, id);
    for (int i = 0; i < x->length - 1; i++) low[i] = high[i] = e[x->at[i]];
    cut_at(low, x->length, reg[at[1]], at[2]);
    cut_at(high, x->length, reg[at[3]], at[4]);
    return tree_next(m, x, id, low, high, at[0]);
}

/* The entry that a register names, or 0. */
static u32 named(const Map *m, i128 id) { return id > 0 && id < m->top ? (u32)id : 0; }

#define OUT(to, value) (reg[to] = (value))
/* A number that is computed, or summed up, may not look like a null. */
#define NUMBER(computed) do { if ((computed) || number == NIL) return OVERFLOWED; reg[at[1]] = number; } while (0)
#define TRY(action) do { int failed_ = (action); if (failed_) return failed_; } while (0)
#define ENTRY(id, map, from) \
    u32 id = named(map, from); \
    if (!id) goto nothing_there

int run_program(Core *core, Program *program) {
    const int32_t *code = program->code, *at = code;
    i128 *reg = program->reg;
    i64 key[MAX_WORDS + 1], high[MAX_WORDS + 1];
    i128 number;
    Descent descent;
    descent.node = NULL, descent.tree = NULL;
    for (;;) {
        const Map *m;
        const Tree *x;
        switch (*at) {
        case OP_END: return DONE;
        case OP_MOV: OUT(at[1], reg[at[2]]); at += 3; break;
        case OP_ADD: NUMBER(__builtin_add_overflow(reg[at[2]], reg[at[3]], &number)); at += 4; break;
        case OP_SUB: NUMBER(__builtin_sub_overflow(reg[at[2]], reg[at[3]], &number)); at += 4; break;
        case OP_MUL: NUMBER(multiplied(reg[at[2]], reg[at[3]], &number)); at += 4; break;
        case OP_LT: OUT(at[1], reg[at[2]] < reg[at[3]]); at += 4; break;
        case OP_LE: OUT(at[1], reg[at[2]] <= reg[at[3]]); at += 4; break;
        case OP_GT: OUT(at[1], reg[at[2]] > reg[at[3]]); at += 4; break;
        case OP_GE: OUT(at[1], reg[at[2]] >= reg[at[3]]); at += 4; break;
        case OP_EQ: OUT(at[1], reg[at[2]] == reg[at[3]]); at += 4; break;
        case OP_NE: OUT(at[1], reg[at[2]] != reg[at[3]]); at += 4; break;
        case OP_NOT: OUT(at[1], !reg[at[2]]); at += 3; break;
        case OP_IS_NULL: OUT(at[1], reg[at[2]] == NIL); at += 3; break;
        case OP_IS_TRUE: OUT(at[1], reg[at[2]] == 1); at += 3; break;
        case OP_SELECT: OUT(at[1], reg[at[2]] ? reg[at[3]] : reg[at[4]]); at += 5; break;
        case OP_JUMP_IF_NOT: at = reg[at[1]] ? at + 3 : code + at[2]; break;
        case OP_JUMP: at = code + at[1]; break;
        case OP_PROBE: {
            m = &core->maps[at[1]];
            TRY(words_of(reg, at + 4, m->keys, key));
            u32 id = map_find(m, key, map_hash(key, m->keys));
            if (id) OUT(at[2], id), at += 4 + m->keys;
            else at = code + at[3];
            break;
        }
        case OP_SLICE: {
            m = &core->maps[at[1]];
            int length = m->by[at[2]].length;
            TRY(words_of(reg, at + 5, length, key));
            u32 id = map_slice(m, at[2], key);
            if (id) OUT(at[3], id), at += 5 + length;
            else at = code + at[4];
            break;
        }
        case OP_NEXT_IN_SLICE: {
            m = &core->maps[at[1]];
            ENTRY(id, m, reg[at[3]]);
            u32 next = next_in(entry_at(m, id)[m->stride - m->indexes + at[2]]);
            if (next) OUT(at[3], next), at = code + at[4];
            else at += 5;
            break;
        }
        case OP_SCAN: {
            u32 id = next_live(&core->maps[at[1]], 0);
            if (id) OUT(at[2], id), at += 4;
            else at = code + at[3];
            break;
        }
        case OP_NEXT_IN_SCAN: {
            m = &core->maps[at[1]];
            ENTRY(id, m, reg[at[2]]);
            u32 next = next_live(m, id);
            if (next) OUT(at[2], next), at = code + at[3];
            else at += 4;
            break;
        }
        case OP_WORD: {
            m = &core->maps[at[2]];
            ENTRY(id, m, reg[at[3]]);
            OUT(at[1], entry_at(m, id)[at[4]]);
            at += 5;
            break;
        }
        case OP_MEASURE: {
            m = &core->maps[at[2]];
            ENTRY(id, m, reg[at[3]]);
            NUMBER((number = measure_of(m, id, at[4]), 0));
            at += 5;
            break;
        }
        case OP_GET: {
            m = &core->maps[at[2]];
            TRY(words_of(reg, at + 4, m->keys, key));
            u32 id = map_find(m, key, map_hash(key, m->keys));
            NUMBER((number = id ? measure_of(m, id, at[3]) : 0, 0));
            at += 4 + m->keys;
            break;
        }
        case OP_ADD_TO: {
            Map *target = &core->maps[at[1]];
            TRY(added(target, reg, at + 2));
            at += 2 + target->keys + target->measures;
            break;
        }
        case OP_PUT: {
            Map *table = &core->maps[at[1]];
            TRY(put(core, table, reg, at + 2));
            at += 3 + table->columns;
            break;
        }
        case OP_CLEAR: map_clear(&core->maps[at[1]]); at += 2; break;
        case OP_CALL: {
            Function *f = &core->functions[at[1]];
            TRY(called(core, f, reg, at + 3, &reg[at[2]]));
            at += 3 + f->arity;
            break;
        }
        case OP_EMIT: TRY(emitted(core, program, at + 1)); at += 2 + program->outputs; break;
        case OP_SUM: {
            x = &core->maps[at[1]].trees[at[2]];
            TRY(cuts_of(x, reg, at + 5, key, high));
            TRY(tree_sum(x, key, high, at[4], &number));
            if (number == NIL) return OVERFLOWED;
            OUT(at[3], number);
            at += 8 + x->length;
            break;
        }
        case OP_EDGE:
        case OP_RANGE: {
            m = &core->maps[at[1]], x = &m->trees[at[2]];
            TRY(cuts_of(x, reg, at + 6, key, high));
            u32 id = tree_edge(m, x, key, high, at[5]);
            if (id) OUT(at[3], id), at += 9 + x->length;
            else at = code + at[4];
            break;
        }
        case OP_NEXT_IN_RANGE: {
            m = &core->maps[at[1]];
            ENTRY(id, m, reg[at[3]]);
            u32 next = next_in_range(m, &m->trees[at[2]], reg, at + 5, id);
            if (next) OUT(at[3], next), at = code + at[4];
            else at += 10;
            break;
        }
        case OP_WAS_NEGATIVE: OUT(at[1], core->maps[at[2]].trees[at[3]].was_negative); at += 4; break;
        case OP_IS_FIRST: {
            m = &core->maps[at[2]];
            ENTRY(id, m, reg[at[3]]);
            OUT(at[1], !previous_in(entry_at(m, id)[m->stride - m->indexes + at[4]]));
            at += 5;
            break;
        }
        case OP_DESCEND: {
            x = &core->maps[at[1]].trees[at[2]];
            TRY(words_of(reg, at + 7, x->length - 1, key));
            memcpy(high, key, (size_t)(x->length - 1) * sizeof *key);
            key[x->length - 1] = key[x->length] = INT64_MIN, high[x->length - 1] = high[x->length] = INT64_MAX;
            u32 id = 0;
            int found = descent_begin(&descent, x, key, high, at[5], &number, &id);
            if (found < 0) return OVERFLOWED;
            OUT(at[6], id);
            if (found) {
                at = code + at[4];
            } else {
                if (number == NIL) return OVERFLOWED;
                OUT(at[3], number), at += 6 + x->length;
            }
            break;
        }
        case OP_NEXT_IN_DESCENT: {
            u32 id = 0;
            if (descent.tree != &core->maps[at[1]].trees[at[2]]) descent.node = NULL;
            if (descent_next(&descent, reg[at[5]] != 0, &number, &id)) {
                OUT(at[6], id), at += 7;
            } else {
                if (number == NIL) return OVERFLOWED;
                OUT(at[3], number), at = code + at[4];
            }
            break;
        }
        default: goto nothing_there;
        }
    }
nothing_there:
    PyErr_SetString(PyExc_SystemError, "byte code that names an entry which is not there");
    return FAILED;
}
