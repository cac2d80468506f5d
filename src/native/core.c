/* The type that Python sees: a program's maps, functions and byte code, and what is done with them. */
#include "native.h"

static PyObject *BadCode = NULL;

/* ---- made ---- */

static int read_index(Index *x, const char *words, Py_ssize_t length, int columns) {
    if (length > MAX_WORDS) return FAILED;
    x->length = (int)length;
    for (int i = 0; i < x->length; i++)
        if ((x->at[i] = (unsigned char)words[i]) >= columns) return FAILED;
    return DONE;
}

/* (words, how many of them say the group, whether it has sums, whether what has no place in an order is refused) */
static int read_tree(const Core *core, const Map *m, Tree *x, PyObject *spec) {
    const char *words;
    Py_ssize_t length;
    int of_group, has_sums;
    if (!PyArg_ParseTuple(spec, "y#ipp", &words, &length, &of_group, &has_sums, &x->is_strict)) return FAILED;
    if (length < 1 || length > MAX_WORDS) goto wrong;
    x->length = (int)length, x->sums = has_sums ? m->measures : 0, x->texts = &core->texts;
    for (int i = 0; i < x->length; i++) {
        if ((x->at[i] = (unsigned char)words[i]) >= m->columns) goto wrong;
        x->is_text[i] = i >= of_group && (m->kind[x->at[i]] == 's' || m->kind[x->at[i]] == 'y');
    }
    return DONE;
wrong:
    PyErr_SetString(BadCode, "an order that cannot be laid out");
    return FAILED;
}

static int read_trees(const Core *core, Map *m, PyObject *trees) {
    Py_ssize_t count = trees ? PyTuple_GET_SIZE(trees) : 0;
    if (count > MAX_WORDS) {
        PyErr_SetString(BadCode, "more orders than there is room for");
        return FAILED;
    }
    if (!count) return DONE;
    if (!(m->trees = PyMem_RawCalloc((size_t)count, sizeof *m->trees))) {
        PyErr_NoMemory();
        return FAILED;
    }
    for (m->tree_count = 0; m->tree_count < count; m->tree_count++)
        if (read_tree(core, m, &m->trees[m->tree_count], PyTuple_GET_ITEM(trees, m->tree_count))) return FAILED;
    return DONE;
}

/* (keys, kinds by word, word by column, words by measure, indexes, is_positive, trees, kinds by measure) */
static int read_map(const Core *core, Map *m, PyObject *spec) {
    const char *kinds, *place, *widths;
    Py_ssize_t kind_count, place_count, width_count;
    const char *numbers = NULL;
    Py_ssize_t number_count = 0;
    PyObject *indexes, *trees = NULL;
    if (!PyArg_ParseTuple(spec, "iy#y#y#O!p|O!y#", &m->keys, &kinds, &kind_count, &place, &place_count, &widths,
                          &width_count, &PyTuple_Type, &indexes, &m->is_positive, &PyTuple_Type, &trees, &numbers,
                          &number_count))
        return FAILED;
    Py_ssize_t index_count = PyTuple_GET_SIZE(indexes);
    if (kind_count > MAX_WORDS || place_count != kind_count || width_count < 1 || width_count > MAX_WORDS ||
        (numbers && number_count != width_count) || index_count > MAX_WORDS || m->keys < 0 || m->keys > kind_count)
        goto wrong;
    m->columns = (int)kind_count, m->measures = (int)width_count, m->indexes = 0;
    for (int i = 0; i < m->columns; i++) {
        if (!is_kind(m->kind[i] = kinds[i]) || (m->place[i] = (unsigned char)place[i]) >= m->columns) goto wrong;
    }
    for (int i = 0; i < m->measures; i++) {
        m->wide[i] = widths[i] == 2, m->number[i] = numbers ? numbers[i] : 'i';
        if (m->number[i] != 'i' && !is_decimal(m->number[i])) goto wrong;
    }
    m->by = PyMem_RawCalloc((size_t)index_count + 1, sizeof *m->by);
    if (!m->by) goto no_memory;
    m->indexes = (int)index_count;
    for (int i = 0; i < m->indexes; i++) {
        char *words;
        Py_ssize_t length;
        if (PyBytes_AsStringAndSize(PyTuple_GET_ITEM(indexes, i), &words, &length)) return FAILED;
        if (read_index(&m->by[i], words, length, m->columns)) goto wrong;
    }
    if (read_trees(core, m, trees)) return FAILED;
    if (map_new(m)) goto no_memory;
    return DONE;
wrong:
    PyErr_SetString(BadCode, "a map that cannot be laid out");
    return FAILED;
no_memory:
    PyErr_NoMemory();
    return FAILED;
}

/* (callable, kinds of the arguments, kind of the result) */
static int read_function(Function *f, PyObject *spec) {
    const char *kinds, *result;
    Py_ssize_t count, one;
    PyObject *callable;
    if (!PyArg_ParseTuple(spec, "Oy#y#", &callable, &kinds, &count, &result, &one)) return FAILED;
    if (count > MAX_WORDS || one != 1 || !is_kind(*result)) goto wrong;
    f->arity = (int)count, f->result = *result;
    for (int i = 0; i < f->arity; i++)
        if (!is_kind(f->kind[i] = kinds[i])) goto wrong;
    f->memo.keys = f->memo.columns = f->arity, f->memo.measures = 1, f->memo.wide[0] = 1;
    if (map_new(&f->memo)) {
        PyErr_NoMemory();
        return FAILED;
    }
    f->callable = Py_NewRef(callable);
    return DONE;
wrong:
    PyErr_SetString(BadCode, "a function of values that have no words");
    return FAILED;
}

static int read_constants(Core *core, Program *p, PyObject *constants, const char *kinds) {
    for (int i = 0; i < p->registers - p->constants_at; i++)
        if (encode_wide(&core->texts, kinds[i], PyTuple_GET_ITEM(constants, i), &p->reg[p->constants_at + i]))
            return FAILED;
    return DONE;
}

/* (kinds of the inputs, registers, kinds of the constants, constants, code, kinds of the outputs) */
static int read_program(Core *core, Program *p, PyObject *spec) {
    const char *inputs, *kinds, *code, *outputs;
    Py_ssize_t input_count, kind_count, length, output_count;
    PyObject *constants;
    if (!PyArg_ParseTuple(spec, "y#iy#O!y#y#", &inputs, &input_count, &p->registers, &kinds, &kind_count,
                          &PyTuple_Type, &constants, &code, &length, &outputs, &output_count))
        return FAILED;
    if (input_count > 2 * MAX_WORDS || output_count > MAX_WORDS || p->registers < 0 ||
        p->registers > MAX_REGISTERS || kind_count != PyTuple_GET_SIZE(constants) ||
        input_count + kind_count > p->registers || length % 4 || length > (1 << 24))
        goto wrong;
    p->inputs = (int)input_count, p->outputs = (int)output_count, p->length = (int)(length / 4);
    p->constants_at = p->registers - (int)kind_count;
    for (int i = 0; i < p->inputs; i++)
        if (!is_kind(p->input_kind[i] = inputs[i])) goto wrong;
    for (int i = 0; i < p->outputs; i++)
        if (!is_kind(p->output_kind[i] = outputs[i])) goto wrong;
    p->reg = PyMem_RawCalloc((size_t)p->registers + 1, sizeof *p->reg);
    p->code = PyMem_RawMalloc((size_t)length + 4);
    if (!p->reg || !p->code) {
        PyErr_NoMemory();
        return FAILED;
    }
    memcpy(p->code, code, (size_t)length);
    if (read_constants(core, p, constants, kinds)) return FAILED;
    return check_program(core, p, BadCode);
wrong:
    PyErr_SetString(BadCode, "a program that cannot be laid out");
    return FAILED;
}

/* (table, program for a row, program that passes on or -1, is_update): its inputs are the words of a row in the order
 * of the table's entries, then how often it comes; or those of the old row, then those of the new one. */
static int read_trigger(const Core *core, Trigger *t, PyObject *spec) {
    if (!PyArg_ParseTuple(spec, "iiip", &t->table, &t->row, &t->pass_on, &t->is_update)) return FAILED;
    if (t->table < 0 || t->table >= core->map_count || t->row < 0 || t->row >= core->program_count ||
        t->pass_on < -1 || t->pass_on >= core->program_count)
        goto wrong;
    const Map *table = &core->maps[t->table];
    if (core->programs[t->row].inputs != (t->is_update ? 2 * table->columns : table->columns + 1) ||
        table->measures != 1 || table->wide[0] || (t->pass_on >= 0 && core->programs[t->pass_on].inputs))
        goto wrong;
    return DONE;
wrong:
    PyErr_SetString(BadCode, "a trigger of what is not there");
    return FAILED;
}

#define ALLOCATE(field, count) \
    if (!(core->field = PyMem_RawCalloc((size_t)(count) + 1, sizeof *core->field))) { \
        PyErr_NoMemory(); \
        goto failed; \
    }

/* What is counted is freed, also where it was made in part. */
#define READ(list, count, action) \
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++) { \
        PyObject *item = PyList_GET_ITEM(list, i); \
        core->count = (int)i + 1; \
        if (action) goto failed; \
    }

static PyObject *core_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *maps, *functions, *programs, *triggers;
    (void)kwargs;
    if (!PyArg_ParseTuple(args, "O!O!O!O!", &PyList_Type, &maps, &PyList_Type, &functions, &PyList_Type, &programs,
                          &PyList_Type, &triggers))
        return NULL;
    Core *core = (Core *)type->tp_alloc(type, 0);
    if (!core) return NULL;
    if (texts_new(&core->texts)) goto failed;
    ALLOCATE(maps, PyList_GET_SIZE(maps))
    ALLOCATE(functions, PyList_GET_SIZE(functions))
    ALLOCATE(programs, PyList_GET_SIZE(programs))
    ALLOCATE(triggers, PyList_GET_SIZE(triggers))
    READ(maps, map_count, read_map(core, &core->maps[i], item))
    READ(functions, function_count, read_function(&core->functions[i], item))
    READ(programs, program_count, read_program(core, &core->programs[i], item))
    READ(triggers, trigger_count, read_trigger(core, &core->triggers[i], item))
    core->texts.pinned = core->texts.top;
    return (PyObject *)core;
failed:
    Py_DECREF(core);
    return NULL;
}

static void core_empty(Core *core) {
    for (int i = 0; i < core->map_count; i++) map_free(&core->maps[i]);
    for (int i = 0; i < core->function_count; i++) {
        map_free(&core->functions[i].memo);
        Py_CLEAR(core->functions[i].callable);
    }
    for (int i = 0; i < core->program_count; i++) {
        PyMem_RawFree(core->programs[i].code);
        PyMem_RawFree(core->programs[i].reg);
    }
    for (int i = 0; i < core->door_count; i++) door_free(core->doors[i]);
    core->map_count = core->function_count = core->program_count = core->trigger_count = core->door_count = 0;
    PyMem_RawFree(core->doors);
    core->doors = NULL;
    PyMem_RawFree(core->maps);
    PyMem_RawFree(core->functions);
    PyMem_RawFree(core->programs);
    PyMem_RawFree(core->triggers);
    core->maps = NULL, core->functions = NULL, core->programs = NULL, core->triggers = NULL;
    texts_free(&core->texts);
}

static void core_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    core_empty((Core *)self);
    type->tp_free(self);
    Py_DECREF(type);
}

/* ---- entered: one at a time, and not after it was closed ---- */

static int enter(Core *core) {
    if (core->is_closed) {
        PyErr_SetString(Unfit, "it was left");
        return FAILED;
    }
    if (core->is_busy) {
        PyErr_SetString(PyExc_RuntimeError, "another thread is in this engine");
        return FAILED;
    }
    core->is_busy = 1;
    return DONE;
}

static PyObject *leave(Core *core, PyObject *result) {
    core->is_busy = 0;
    return result;
}

static Map *map_at(Core *core, PyObject *number) {
    long at = PyLong_AsLong(number);
    if (at == -1 && PyErr_Occurred()) return NULL;
    if (at < 0 || at >= core->map_count) {
        PyErr_SetString(PyExc_IndexError, "no such map");
        return NULL;
    }
    return &core->maps[at];
}

/* Texts that nobody uses are looked for when there may be as many of them as there are others, and a part of the
 * entries that are looked at for it. */
static int swept(Core *core) {
    Texts *t = &core->texts;
    u64 enough = (u64)t->after_sweep * 2 + 1024;
    if (t->live < enough) return DONE;
    for (int i = 0; i < core->map_count; i++) enough += core->maps[i].live / 4;
    if (t->live < enough) return DONE;
    for (int i = 0; i < core->function_count; i++) map_clear(&core->functions[i].memo);
    return texts_sweep(t, core->maps, core->map_count);
}

/* ---- rows ---- */

static const Trigger *trigger_at(const Core *core, PyObject *number) {
    long at = PyLong_AsLong(number);
    if (at == -1 && PyErr_Occurred()) return NULL;
    if (at < 0 || at >= core->trigger_count) {
        PyErr_SetString(PyExc_IndexError, "no such trigger");
        return NULL;
    }
    return &core->triggers[at];
}

static PyObject *core_one(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    Core *core = (Core *)self;
    i64 words[2 * MAX_WORDS + 1];
    size_t done;
    if (count != 3) {
        PyErr_SetString(PyExc_TypeError, "one(trigger, row, times)");
        return NULL;
    }
    if (enter(core)) return NULL;
    const Trigger *t = trigger_at(core, args[0]);
    if (!t || swept(core) || encode_event(core, t, args[1], args[2], words) || run_events(core, t, words, 1, &done))
        return leave(core, NULL);
    return leave(core, Py_NewRef(Py_None));
}

/* The number of a new door. */
static PyObject *core_door(PyObject *self, PyObject *spec) {
    Core *core = (Core *)self;
    if (enter(core)) return NULL;
    Door **doors = PyMem_RawRealloc(core->doors, ((size_t)core->door_count + 1) * sizeof *doors);
    if (!doors) return leave(core, PyErr_NoMemory());
    core->doors = doors;
    Door *door = door_new(core, spec);
    if (!door) return leave(core, NULL);
    doors[core->door_count] = door;
    return leave(core, PyLong_FromLong(core->door_count++));
}

static PyObject *core_accept(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    Core *core = (Core *)self;
    if (enter(core)) return NULL;
    return leave(core, swept(core) ? NULL : door_accept(core, args, count));
}

static PyObject *core_decoded(PyObject *self, PyObject *args) {
    Core *core = (Core *)self;
    int at;
    PyObject *bytes;
    if (!PyArg_ParseTuple(args, "iO!", &at, &PyBytes_Type, &bytes) || enter(core)) return NULL;
    if (at >= 0 && at < core->door_count) return leave(core, door_decoded(core, core->doors[at], bytes));
    PyErr_SetString(PyExc_IndexError, "no such door");
    return leave(core, NULL);
}

static PyObject *many(Core *core, const Trigger *t, PyObject *pairs) {
    size_t done, count = (size_t)PySequence_Fast_GET_SIZE(pairs), inputs = (size_t)core->programs[t->row].inputs;
    i64 *words = PyMem_RawMalloc((count * inputs + 1) * sizeof *words);
    PyObject *result = NULL;
    if (!words) return PyErr_NoMemory();
    for (size_t i = 0; i < count; i++) {
        PyObject *pair = PySequence_Fast_GET_ITEM(pairs, i);
        if (!PyTuple_Check(pair) || PyTuple_GET_SIZE(pair) != 2) {
            PyErr_SetString(PyExc_TypeError, "pairs of a row and a count");
            goto end;
        }
        if (encode_event(core, t, PyTuple_GET_ITEM(pair, 0), PyTuple_GET_ITEM(pair, 1), words + i * inputs)) goto end;
    }
    if (!run_events(core, t, words, count, &done)) result = Py_NewRef(Py_None);
end:
    PyMem_RawFree(words);
    return result;
}

/* ``pairs`` is a tuple: what calls back from here cannot change it. */
static PyObject *core_many(PyObject *self, PyObject *args) {
    Core *core = (Core *)self;
    PyObject *number, *pairs;
    if (!PyArg_ParseTuple(args, "OO!", &number, &PyTuple_Type, &pairs) || enter(core)) return NULL;
    const Trigger *t = trigger_at(core, number);
    return leave(core, t && !swept(core) ? many(core, t, pairs) : NULL);
}

static PyObject *core_run(PyObject *self, PyObject *args) {
    Core *core = (Core *)self;
    int at;
    PyObject *given, *answer = NULL;
    i64 word;
    if (!PyArg_ParseTuple(args, "iO!", &at, &PyTuple_Type, &given) || enter(core)) return NULL;
    if (at < 0 || at >= core->program_count || PyTuple_GET_SIZE(given) != core->programs[at].inputs) {
        PyErr_SetString(PyExc_IndexError, "no such program");
        return leave(core, NULL);
    }
    Program *p = &core->programs[at];
    for (int i = 0; i < p->inputs; i++) {
        if (encode(&core->texts, p->input_kind[i], PyTuple_GET_ITEM(given, i), &word)) return leave(core, NULL);
        p->reg[i] = word;
    }
    core->answer = answer = PyList_New(0);
    int failed = answer ? run_program(core, p) : FAILED;
    core->answer = NULL;
    if (failed == OVERFLOWED) PyErr_SetString(Overflow, "a number beyond its words");
    if (failed) Py_CLEAR(answer);
    return leave(core, answer);
}

/* ---- entries ---- */

static PyObject *cell_of(const Map *m, u32 id, int as_count) {
    if (as_count) return decode_int(measure_of(m, id, 0));
    PyObject *cell = PyTuple_New(m->measures);
    for (int i = 0; cell && i < m->measures; i++) {
        i128 measure = measure_of(m, id, i);
        PyObject *number = m->number[i] == 'i' ? decode_int(measure) : decode(NULL, m->number[i], measure);
        if (!number) Py_CLEAR(cell);
        else PyTuple_SET_ITEM(cell, i, number);
    }
    return cell;
}

static int put_entry(const Core *core, const Map *m, u32 id, int as_count, PyObject *found) {
    PyObject *row = decode_row(&core->texts, m, entry_at(m, id)), *cell = row ? cell_of(m, id, as_count) : NULL;
    int failed = cell ? PyDict_SetItem(found, row, cell) : FAILED;
    Py_XDECREF(row);
    Py_XDECREF(cell);
    return failed;
}

static PyObject *core_entries(PyObject *self, PyObject *args) {
    Core *core = (Core *)self;
    PyObject *number, *found = NULL;
    int as_count;
    if (!PyArg_ParseTuple(args, "Op", &number, &as_count) || enter(core)) return NULL;
    const Map *m = map_at(core, number);
    if (m) found = PyDict_New();
    for (u32 id = found ? next_live(m, 0) : 0; id && found; id = next_live(m, id))
        if (put_entry(core, m, id, as_count, found)) Py_CLEAR(found);
    return leave(core, found);
}

static PyObject *core_slice(PyObject *self, PyObject *args) {
    Core *core = (Core *)self;
    PyObject *number, *part, *found = NULL;
    int index;
    i64 words[MAX_WORDS];
    if (!PyArg_ParseTuple(args, "OiO!", &number, &index, &PyTuple_Type, &part) || enter(core)) return NULL;
    const Map *m = map_at(core, number);
    if (!m || index < 0 || index >= m->indexes || PyTuple_GET_SIZE(part) != m->by[index].length) {
        if (m) PyErr_SetString(PyExc_IndexError, "no such index");
        return leave(core, NULL);
    }
    for (int i = 0; i < m->by[index].length; i++)
        if (encode(&core->texts, m->kind[m->by[index].at[i]], PyTuple_GET_ITEM(part, i), &words[i]))
            return leave(core, NULL);
    found = PyDict_New();
    for (u32 id = found ? map_slice(m, index, words) : 0; id && found;
         id = next_in(entry_at(m, id)[m->stride - m->indexes + index]))
        if (put_entry(core, m, id, 1, found)) Py_CLEAR(found);
    return leave(core, found);
}

/* The row under a key, or None. */
static PyObject *core_row(PyObject *self, PyObject *args) {
    Core *core = (Core *)self;
    PyObject *number, *key;
    i64 words[MAX_WORDS];
    if (!PyArg_ParseTuple(args, "OO!", &number, &PyTuple_Type, &key) || enter(core)) return NULL;
    const Map *m = map_at(core, number);
    if (!m || PyTuple_GET_SIZE(key) != m->keys) {
        if (m) PyErr_SetString(PyExc_IndexError, "not the columns of its key");
        return leave(core, NULL);
    }
    for (int i = 0; i < m->keys; i++)
        if (encode(&core->texts, m->kind[i], PyTuple_GET_ITEM(key, i), &words[i])) return leave(core, NULL);
    u32 id = map_find(m, words, map_hash(words, m->keys));
    return leave(core, id ? decode_row(&core->texts, m, entry_at(m, id)) : Py_NewRef(Py_None));
}

static PyObject *core_count(PyObject *self, PyObject *args) {
    Core *core = (Core *)self;
    PyObject *number, *row;
    i64 words[MAX_WORDS];
    if (!PyArg_ParseTuple(args, "OO", &number, &row) || enter(core)) return NULL;
    const Map *m = map_at(core, number);
    if (!m || encode_row(&core->texts, m, row, words)) return leave(core, NULL);
    u32 id = map_find(m, words, map_hash(words, m->keys));
    int is_same = id && !memcmp(words, entry_at(m, id), (size_t)m->columns * sizeof *words);
    return leave(core, decode_int(is_same ? measure_of(m, id, 0) : 0));
}

static int load_entry(Core *core, Map *m, PyObject *row, PyObject *cell) {
    i64 words[3 * MAX_WORDS];
    i128 number;
    int any = 0;
    if (encode_row(&core->texts, m, row, words)) return FAILED;
    for (int i = 0; i < m->measures; i++) {
        PyObject *measure = PyTuple_Check(cell) ? PyTuple_GET_ITEM(cell, i) : cell;
        if (encode_measure(&core->texts, m->number[i], measure, &number)) return FAILED;
        any |= number != 0;
        if (m->wide[i]) {
            memcpy(words + m->offset[i], &number, sizeof number);
        } else {
            words[m->offset[i]] = (i64)number;
            if (number != (i64)number) {
                PyErr_SetString(Unfit, "a measure beyond 64 bits");
                return FAILED;
            }
        }
    }
    u64 hash = map_hash(words, m->keys);
    u32 id = map_find(m, words, hash);
    if (id) map_erase(m, id, hash);
    int failed = any ? map_insert(m, words, hash, NULL) : DONE;
    if (failed != OVERFLOWED) return failed;
    map_erase(m, map_find(m, words, hash), hash);
    PyErr_SetString(Unfit, "a sum beyond 128 bits");
    return FAILED;
}

/* Entries of a dictionary, to those that are there: all of them, or none. */
static int load_items(Core *core, Map *m, PyObject *items) {
    i64 words[MAX_WORDS];
    Py_ssize_t at;
    for (at = 0; at < PyList_GET_SIZE(items); at++) {
        PyObject *row = PyTuple_GET_ITEM(PyList_GET_ITEM(items, at), 0), *cell = PyTuple_GET_ITEM(PyList_GET_ITEM(items, at), 1);
        if (PyTuple_Check(cell) ? PyTuple_GET_SIZE(cell) != m->measures : m->measures != 1) {
            PyErr_SetString(PyExc_TypeError, "not the measures of its map");
            break;
        }
        if (load_entry(core, m, row, cell)) break;
    }
    if (at == PyList_GET_SIZE(items)) return DONE;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    while (at--) {
        if (encode_row(&core->texts, m, PyTuple_GET_ITEM(PyList_GET_ITEM(items, at), 0), words)) {
            PyErr_Clear();
            continue;
        }
        u64 hash = map_hash(words, m->keys);
        u32 id = map_find(m, words, hash);
        if (id) map_erase(m, id, hash);
    }
    PyErr_Restore(type, value, traceback);
    return FAILED;
}

static PyObject *core_load(PyObject *self, PyObject *args) {
    Core *core = (Core *)self;
    PyObject *number, *cells, *items = NULL;
    if (!PyArg_ParseTuple(args, "OO!", &number, &PyDict_Type, &cells) || enter(core)) return NULL;
    Map *m = map_at(core, number);
    int failed = !m || swept(core) || !(items = PyDict_Items(cells)) || load_items(core, m, items);
    Py_XDECREF(items);
    return leave(core, failed ? NULL : Py_NewRef(Py_None));
}

static PyTypeObject *machine_type = NULL;

/* Whether the entries were taken: all of them, or none. */
static PyObject *core_take(PyObject *self, PyObject *args) {
    Core *core = (Core *)self, *from;
    int at, other;
    if (!PyArg_ParseTuple(args, "iO!i", &at, machine_type, &from, &other) || enter(core)) return NULL;
    if (enter(from)) return leave(core, NULL);
    int result = FAILED;
    if (at < 0 || at >= core->map_count || other < 0 || other >= from->map_count)
        PyErr_SetString(PyExc_IndexError, "no such map");
    else if (!swept(core))
        result = map_take(core, at, from, other);
    from->is_busy = 0;
    return leave(core, result == FAILED ? NULL : PyBool_FromLong(result == DONE));
}

static PyObject *core_clear(PyObject *self, PyObject *number) {
    Core *core = (Core *)self;
    if (enter(core)) return NULL;
    Map *m = map_at(core, number);
    if (m) map_clear(m);
    return leave(core, m ? Py_NewRef(Py_None) : NULL);
}

static PyObject *core_size(PyObject *self, PyObject *number) {
    const Map *m = map_at((Core *)self, number);
    return m ? PyLong_FromUnsignedLong(m->live) : NULL;
}

/* (bytes without the indexes, ((bytes, groups) by index)) */
static PyObject *core_bytes(PyObject *self, PyObject *number) {
    const Map *m = map_at((Core *)self, number);
    PyObject *indexes = m ? PyTuple_New(m->indexes) : NULL;
    if (!indexes) return NULL;
    for (int i = 0; i < m->indexes; i++) {
        size_t links = (size_t)m->capacity * sizeof *m->entries;
        PyObject *size = Py_BuildValue("(nk)", (Py_ssize_t)(index_bytes(&m->by[i]) + links), (unsigned long)m->by[i].used);
        if (!size) {
            Py_DECREF(indexes);
            return NULL;
        }
        PyTuple_SET_ITEM(indexes, i, size);
    }
    size_t links = (size_t)m->indexes * m->capacity * sizeof *m->entries;
    return Py_BuildValue("(nN)", (Py_ssize_t)(map_bytes(m) - links), indexes);
}

static PyObject *core_texts(PyObject *self, PyObject *nothing) {
    (void)nothing;
    return PyLong_FromUnsignedLong(((Core *)self)->texts.live);
}

/* Whoever calls afterwards is told that it was left. */
static PyObject *core_close(PyObject *self, PyObject *nothing) {
    Core *core = (Core *)self;
    (void)nothing;
    if (enter(core)) return NULL;
    core->is_closed = 1;
    core_empty(core);
    return leave(core, Py_NewRef(Py_None));
}

static PyMethodDef methods[] = {
    {"one", (PyCFunction)(void (*)(void))core_one, METH_FASTCALL, "one(trigger, row, times): a row, or an update"},
    {"many", core_many, METH_VARARGS, "many(trigger, pairs): rows or updates, encoded before the first is run"},
    {"door", core_door, METH_O, "door(specification): its number"},
    {"accept", (PyCFunction)(void (*)(void))core_accept, METH_FASTCALL, "accept(door, rows, times, taken): how many, or None"},
    {"decoded", core_decoded, METH_VARARGS, "decoded(door, words): the rows"},
    {"run", core_run, METH_VARARGS, "run(program, inputs): the rows that it emits"},
    {"entries", core_entries, METH_VARARGS, "entries(map, as_count): {columns: measures, or the first of them}"},
    {"slice", core_slice, METH_VARARGS, "slice(map, index, part): {columns: first measure}"},
    {"row", core_row, METH_VARARGS, "row(map, key): its columns, or None"},
    {"count", core_count, METH_VARARGS, "count(map, columns): their first measure"},
    {"load", core_load, METH_VARARGS, "load(map, entries)"},
    {"take", core_take, METH_VARARGS, "take(map, machine, its map): whether its entries were taken, which takes maps alike"},
    {"clear", core_clear, METH_O, "clear(map)"},
    {"size", core_size, METH_O, "size(map): how many entries it has"},
    {"bytes", core_bytes, METH_O, "bytes(map): (bytes, ((bytes, groups) by index))"},
    {"texts", core_texts, METH_NOARGS, "How many texts, bytes and labels have a number"},
    {"close", core_close, METH_NOARGS, "Give everything back"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_new, core_new}, {Py_tp_dealloc, core_dealloc}, {Py_tp_methods, methods},
    {Py_tp_doc, "Machine(maps, functions, programs, triggers)"}, {0, NULL},
};
static PyType_Spec spec = {"nestling._native.Machine", sizeof(Core), 0, Py_TPFLAGS_DEFAULT, slots};

static int add_names(PyObject *module) {
    PyObject *names = PyList_New(0);
#define AS_NAME(name) #name,
    static const char *const operations[] = {OPERATIONS(AS_NAME)};
    for (int i = 0; names && i < OPERATION_COUNT; i++) {
        PyObject *name = PyUnicode_FromString(operations[i]);
        if (!name || PyList_Append(names, name)) Py_CLEAR(names);
        Py_XDECREF(name);
    }
    PyObject *tuple = names ? PyList_AsTuple(names) : NULL;
    Py_XDECREF(names);
    int failed = !tuple || PyModule_AddObjectRef(module, "OPERATIONS", tuple);
    Py_XDECREF(tuple);
    return failed;
}

static int draw_seed(void) {
    PyObject *os = PyImport_ImportModule("os"), *drawn = os ? PyObject_CallMethod(os, "urandom", "i", 8) : NULL;
    char *bytes;
    Py_ssize_t length;
    int failed = !drawn || PyBytes_AsStringAndSize(drawn, &bytes, &length) || length != sizeof native_seed;
    if (!failed) memcpy(&native_seed, bytes, sizeof native_seed);
    Py_XDECREF(os);
    Py_XDECREF(drawn);
    return failed;
}

static struct PyModuleDef module_def = {
    PyModuleDef_HEAD_INIT, "nestling._native", "Trigger programs as byte code over typed maps.", -1, NULL, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__native(void) {
    PyObject *module = PyModule_Create(&module_def), *type = NULL;
    if (!module || draw_seed() || values_ready() || add_names(module)) goto failed;
    Unfit = PyErr_NewExceptionWithDoc("nestling._native.Unfit", "A value has no word; nothing was changed.", NULL, NULL);
    Overflow = PyErr_NewExceptionWithDoc("nestling._native.Overflow", "A number outgrew its words.", NULL, NULL);
    BadCode = PyErr_NewExceptionWithDoc("nestling._native.BadCode", "Byte code that is not safe to run.", NULL, NULL);
    type = PyType_FromSpec(&spec);
    machine_type = (PyTypeObject *)Py_XNewRef(type); /* as long as the process */
    if (!Unfit || !Overflow || !BadCode || !type || PyModule_AddObjectRef(module, "Unfit", Unfit) ||
        PyModule_AddObjectRef(module, "Overflow", Overflow) || PyModule_AddObjectRef(module, "BadCode", BadCode) || PyModule_AddObjectRef(module, "Machine", type))
        goto failed;
    Py_DECREF(type);
    return module;
failed:
    Py_XDECREF(type);
    Py_XDECREF(module);
    return NULL;
}
