/* The native engine: typed maps, the values in them as words, and byte code over them.
 *
 * Rules of all files here:
 *   - Whoever is called holds the GIL from its first line to its last.
 *   - A function that can fail returns an int: 0 is success, FAILED says that a Python error is set.
 *   - Entries move when a map grows: nobody keeps a pointer to one over a call that may add to a map.
 */
#ifndef NESTLING_NATIVE_H
#define NESTLING_NATIVE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <string.h>

typedef int64_t i64;
typedef uint64_t u64;
typedef uint32_t u32;
typedef __int128 i128;
typedef unsigned __int128 u128;

enum { DONE = 0, FAILED = -1, OVERFLOWED = 1, LEFT = 2 }; /* LEFT: nothing was done, it is for the long way in Python */

/* The word of a null, whatever the type: no value of any type has it. */
#define NIL INT64_MIN
/* Columns and measures of one map, registers of one program, arguments of one function. */
#define MAX_WORDS 256
#define MAX_REGISTERS 65536
#define MAX_ENTRIES 0x7fffffffu
/* Loops inside each other. */
#define MAX_LOOPS 64

/* ---- maps (map.c) ---- */

/* Slots of an open-addressing table: 32 bits of the hash above the id of an entry; 0 is an empty slot. The id is that
 * of the entry with the key or, of an index by a part, of the first entry of the group. */
typedef struct {
    u64 *slot;
    u32 mask, used;
    int length;
    int at[MAX_WORDS]; /* the words of an entry that it goes by */
} Index;

/* Entries in order (tree.c): their words ``at`` some places, and sums of all measures, or of none. */
typedef struct Node Node;
typedef struct Texts Texts;
typedef struct {
    int length, sums, height, spares[2], nodes[2]; /* inner nodes, and leaves */
    int is_strict; /* what has no place in an order has no place here */
    int overflowed, was_negative; /* some sum was beyond its words; some measure of an entry below zero */
    int at[MAX_WORDS];
    unsigned char is_text[MAX_WORDS];
    const Texts *texts;
    Node *root, *spare[2];
} Tree;

/* Entries of [columns, the key first][measures][one link per index]. The entries of a group are a list through the
 * links. An entry that is not in use has no measure but zeros, which a live one never has, and no links. */
typedef struct {
    i64 *entries;
    u32 capacity, top, live, spare;
    int keys, columns, measures, indexes, stride, tree_count;
    int is_positive; /* an entry whose first measure is zero is gone */
    int offset[MAX_WORDS]; /* by measure, its first word in an entry */
    unsigned char wide[MAX_WORDS]; /* by measure, whether it has two words */
    char kind[MAX_WORDS]; /* by word of the columns */
    char number[MAX_WORDS]; /* by measure, the kind of what it counts or sums */
    int place[MAX_WORDS]; /* by column, its word */
    Index own, *by;
    Tree *trees;
} Map;

extern u64 native_seed;

int map_new(Map *m);
void map_free(Map *m);
void map_clear(Map *m);
size_t map_bytes(const Map *m);
size_t index_bytes(const Index *x);
u64 map_hash(const i64 *key, int length);
u32 map_find(const Map *m, const i64 *key, u64 hash);
u32 map_slice(const Map *m, int index, const i64 *part);
/* Columns and measures. FAILED: out of memory, or no place in an order; OVERFLOWED: it is there, and a sum is not right. */
int map_insert(Map *m, const i64 *words, u64 hash, u32 *id);
void map_erase(Map *m, u32 id, u64 hash);
int map_add(Map *m, const i64 *key, const i128 *amounts); /* a key that is there, or a map without other columns */
int map_put(Map *m, const i64 *row, i64 times); /* a row of a table */

static inline i64 *entry_at(const Map *m, u32 id) { return m->entries + (size_t)id * (size_t)m->stride; }
static inline u32 next_in(i64 link) { return (u32)((u64)link >> 32); }

static inline u32 previous_in(i64 link) { return (u32)(u64)link; }

static inline int is_live(const Map *m, u32 id) {
    const i64 *e = entry_at(m, id);
    for (int i = m->columns, end = m->stride - m->indexes; i < end; i++)
        if (e[i]) return 1;
    return 0;
}

static inline u32 next_live(const Map *m, u32 id) {
    for (id++; id < m->top; id++)
        if (is_live(m, id)) return id;
    return 0;
}

static inline i128 wide_at(const i64 *word) {
    i128 value;
    memcpy(&value, word, sizeof value);
    return value;
}

static inline i128 measure_of(const Map *m, u32 id, int measure) {
    const i64 *e = entry_at(m, id) + m->offset[measure];
    return m->wide[measure] ? wide_at(e) : e[0];
}

/* ---- entries in order (tree.c) ---- */

/* A search for the key from which on a sum passes a test, while it is asked which sums do. */
typedef struct {
    const Tree *tree;
    const Node *node; /* NULL: none goes on */
    int measure, low, high, middle;
    i128 base, before, upto[32];
    i64 from[MAX_WORDS + 1], to[MAX_WORDS + 1];
} Descent;

int tree_room(Tree *x);
void tree_clear(Tree *x);
size_t tree_bytes(const Tree *x);
void tree_insert(Map *m, Tree *x, u32 id);
void tree_add(Map *m, Tree *x, u32 id, const i128 *amounts);
void tree_remove(Map *m, Tree *x, u32 id);
int tree_sum(const Tree *x, const i64 *low, const i64 *high, int measure, i128 *sum); /* -1: how many there are */
u32 tree_edge(const Map *m, const Tree *x, const i64 *low, const i64 *high, int is_last);
u32 tree_next(const Map *m, const Tree *x, u32 id, const i64 *low, const i64 *high, int is_back);
int descent_begin(Descent *d, const Tree *x, const i64 *low, const i64 *high, int measure, i128 *sum, u32 *found);
int descent_next(Descent *d, int passes, i128 *sum, u32 *found);

/* ---- texts, bytes and labels by number (intern.c) ---- */

struct Texts {
    PyObject **value; /* by number, from 1 */
    unsigned char *is_used; /* while unused ones are looked for; and those that a program names, always */
    u32 capacity, top, spare, live, pinned, after_sweep;
    u32 *next; /* of a spare number, the next one */
    PyObject *number[3]; /* by kind, {value: number} */
};

int texts_new(Texts *t);
void texts_free(Texts *t);
int texts_number(Texts *t, char kind, PyObject *value, i64 *number);
int texts_sweep(Texts *t, Map *maps, int count);

/* ---- byte code ---- */

#define OPERATIONS(X) \
    X(END) X(MOV) X(ADD) X(SUB) X(MUL) X(LT) X(LE) X(GT) X(GE) X(EQ) X(NE) X(NOT) X(IS_NULL) X(IS_TRUE) X(SELECT) \
    X(JUMP_IF_NOT) X(JUMP) X(PROBE) X(SLICE) X(NEXT_IN_SLICE) X(SCAN) X(NEXT_IN_SCAN) X(WORD) X(MEASURE) X(GET) \
    X(ADD_TO) X(PUT) X(CLEAR) X(CALL) X(EMIT) X(SUM) X(EDGE) X(RANGE) X(NEXT_IN_RANGE) X(WAS_NEGATIVE) X(DESCEND) \
    X(NEXT_IN_DESCENT) X(IS_FIRST)
#define AS_ENUM(name) OP_##name,
enum { OPERATIONS(AS_ENUM) OPERATION_COUNT };

/* A function of Python. What it gave for words of one length each is remembered. */
typedef struct {
    PyObject *callable;
    int arity;
    char kind[MAX_WORDS], result;
    Map memo;
} Function;

/* Registers: the inputs, then whatever is computed, then constants, which nothing writes. */
typedef struct {
    int32_t *code;
    int length, inputs, registers, constants_at, outputs;
    char input_kind[2 * MAX_WORDS + 1], output_kind[MAX_WORDS];
    i128 *reg;
} Program;

/* What a row of a table sets off: a program for the row, and one that passes on what several rows changed (or -1). */
typedef struct {
    int table, row, pass_on, is_update;
} Trigger;

/* Columns that refer to a row of one of some tables. */
typedef struct {
    int length, is_nullable, map_count, *maps;
    int at[MAX_WORDS]; /* the words of a row that say which */
} Site;

/* What has to hold of rows that a user gives; by column. */
typedef struct {
    const Trigger *trigger;
    PyObject *names;
    int family_count, *family, site_count;
    Site *sites;
    char nullable[MAX_WORDS];
    long long low[MAX_WORDS], high[MAX_WORDS];
} Door;

typedef struct {
    PyObject_HEAD
    int map_count, function_count, program_count, trigger_count;
    Map *maps;
    Function *functions;
    Program *programs;
    Trigger *triggers;
    Door **doors;
    int door_count;
    Texts texts;
    int is_busy, is_closed, writes; /* writes: how many rows the trigger has put into its table so far */
    PyObject *answer; /* the list that EMIT appends to */
} Core;

int check_program(const Core *core, const Program *program, PyObject *error); /* check.c */
int run_program(Core *core, Program *program); /* run.c */

/* ---- rows that come and go (events.c) ---- */

int encode_event(Core *core, const Trigger *t, PyObject *first, PyObject *second, i64 *words);
/* ``done``: how many rows the table has of them after a failure that is no overflow; after one it has all. */
int run_events(Core *core, const Trigger *t, const i64 *words, size_t count, size_t *done);

/* ---- rows as users give them (door.c) ---- */

Door *door_new(const Core *core, PyObject *spec);
void door_free(Door *door);
/* Rows of a stream of Arrow, each with how often it comes behind it; all batches, as bytes (arrow.c). */
int arrow_words(Core *core, const Door *door, PyObject *capsule, int times, PyObject **words);
PyObject *door_decoded(Core *core, const Door *door, PyObject *bytes);
PyObject *door_accept(Core *core, PyObject *const *args, Py_ssize_t count);

/* ---- entries of another machine (take.c) ---- */

int map_take(Core *to, int at, const Core *from, int other);

/* ---- values as words (values.c) ---- */

extern PyObject *Unfit; /* raised where a value has no word: nothing was changed then */
extern PyObject *Overflow; /* raised where a number outgrew its words: maps may be wrong then, tables are not */

int values_ready(void);
int is_kind(char kind);
static inline int is_decimal(char kind) { return kind >= 'A' && kind <= 'Z'; }
int has_place(char kind, i64 word); /* in an order; where not, a Python error is set */
int encode(Texts *t, char kind, PyObject *value, i64 *word);
int encode_wide(Texts *t, char kind, PyObject *value, i128 *word);
int encode_measure(Texts *t, char kind, PyObject *value, i128 *word); /* a decimal may have fewer places */
int encode_row(Texts *t, const Map *m, PyObject *row, i64 *words); /* in the order of the entry's words */
PyObject *decode(const Texts *t, char kind, i128 word);
PyObject *decode_int(i128 number);
PyObject *decode_row(const Texts *t, const Map *m, const i64 *words);

#endif
