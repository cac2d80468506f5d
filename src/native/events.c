/* Rows that come, go or are replaced: encoded, and run through the programs of their table. */
#include "native.h"

static int encode_times(PyObject *value, i64 *times) {
    int overflow = 0;
    if (!PyLong_CheckExact(value)) {
        PyErr_SetString(Unfit, "a count that is no int");
        return FAILED;
    }
    *times = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow || *times > INT32_MAX || *times < -INT32_MAX) {
        PyErr_SetString(Unfit, "a count beyond 32 bits");
        return FAILED;
    }
    return DONE;
}

/* The inputs of a trigger's program. */
int encode_event(Core *core, const Trigger *t, PyObject *first, PyObject *second, i64 *words) {
    const Map *table = &core->maps[t->table];
    if (encode_row(&core->texts, table, first, words)) return FAILED;
    if (t->is_update) return encode_row(&core->texts, table, second, words + table->columns);
    return encode_times(second, words + table->columns);
}

static int run_event(Core *core, const Trigger *t, const i64 *words) {
    Program *p = &core->programs[t->row];
    for (int i = 0; i < p->inputs; i++) p->reg[i] = words[i];
    core->writes = 0;
    return run_program(core, p);
}

/* Maps may be wrong from here on; tables are not: rows that did not get there are put there. */
static void finish_tables(Core *core, const Trigger *t, const i64 *words, size_t count, int done) {
    Map *table = &core->maps[t->table];
    int inputs = core->programs[t->row].inputs;
    for (size_t i = 0; i < count; i++, words += inputs, done = 0) {
        if (!t->is_update && !done) map_put(table, words, words[table->columns]);
        if (t->is_update && done < 1) map_put(table, words, -1);
        if (t->is_update && done < 2) map_put(table, words + table->columns, 1);
    }
}

int run_events(Core *core, const Trigger *t, const i64 *words, size_t count, size_t *done) {
    int inputs = core->programs[t->row].inputs, failed = DONE;
    *done = count;
    for (size_t i = 0; i < count && !failed; i++)
        if ((failed = run_event(core, t, words + i * (size_t)inputs)) != DONE) {
            if (failed == OVERFLOWED) finish_tables(core, t, words + i * (size_t)inputs, count - i, core->writes);
            else *done = i + (core->writes > 0);
        }
    if (!failed && t->pass_on >= 0) failed = run_program(core, &core->programs[t->pass_on]);
    if (failed == OVERFLOWED) PyErr_SetString(Overflow, "a number beyond its words");
    return failed;
}
