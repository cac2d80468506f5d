/* The door of a table: rows that come or go as a user gives them, all of them or none.
 *
 * A row that is taken is a value of its table as it is, its key is free in the family of the table, and what it refers
 * to is there; one that goes is there. Whatever else is for the long way in Python, which does it, or says what is wrong
 * with it: then nothing was changed.
 *
 * Of a batch everything is looked at before the first row is run, so a later row may not lean on an earlier one.
 */
#include "native.h"

/* ---- made ---- */

void door_free(Door *door) {
    if (!door) return;
    for (int i = 0; i < door->site_count; i++) PyMem_RawFree(door->sites[i].maps);
    PyMem_RawFree(door->sites);
    PyMem_RawFree(door->family);
    Py_XDECREF(door->names);
    PyMem_RawFree(door);
}

/* The numbers of tables that are found by the key of ``like``. */
static int read_tables(const Core *core, PyObject *numbers, const char *kinds, int length, int **maps, int *count) {
    if (!PyTuple_Check(numbers)) return FAILED;
    Py_ssize_t total = PyTuple_GET_SIZE(numbers);
    if (total > MAX_WORDS || !(*maps = PyMem_RawCalloc((size_t)total + 1, sizeof **maps))) return FAILED;
    for (*count = 0; *count < total; ++*count) {
        long at = PyLong_AsLong(PyTuple_GET_ITEM(numbers, *count));
        if (at < 0 || at >= core->map_count) return FAILED;
        const Map *m = &core->maps[at];
        if (m->keys != length || memcmp(m->kind, kinds, (size_t)length)) return FAILED;
        (*maps)[*count] = (int)at;
    }
    return DONE;
}

/* (columns, tables that have such a row, may it be null) */
static int read_site(const Core *core, const Map *table, Site *site, PyObject *spec) {
    const char *columns;
    char kinds[MAX_WORDS];
    Py_ssize_t length;
    PyObject *tables;
    if (!PyArg_ParseTuple(spec, "y#Op", &columns, &length, &tables, &site->is_nullable)) return FAILED;
    if (length < 1 || length > table->columns) return FAILED;
    site->length = (int)length;
    for (int i = 0; i < site->length; i++) {
        if ((unsigned char)columns[i] >= table->columns) return FAILED;
        site->at[i] = table->place[(unsigned char)columns[i]];
        kinds[i] = table->kind[site->at[i]];
    }
    return read_tables(core, tables, kinds, site->length, &site->maps, &site->map_count);
}

static int read_limits(const Map *table, Door *door, PyObject *limits) {
    for (int i = 0; i < table->columns; i++) {
        PyObject *pair = PyTuple_GET_ITEM(limits, i);
        door->low[i] = -INT64_MAX, door->high[i] = INT64_MAX;
        if (pair != Py_None && !PyArg_ParseTuple(pair, "LL", &door->low[i], &door->high[i])) return FAILED;
    }
    return DONE;
}

/* (trigger, names of the columns, nullable columns, (lowest, highest) of each or None, family, references) */
Door *door_new(const Core *core, PyObject *spec) {
    PyObject *names, *limits, *family, *sites;
    const char *nullable;
    Py_ssize_t count;
    int trigger;
    Door *door = PyMem_RawCalloc(1, sizeof *door);
    if (!door) goto failed;
    if (!PyArg_ParseTuple(spec, "iO!y#O!OO!", &trigger, &PyTuple_Type, &names, &nullable, &count, &PyTuple_Type, &limits,
                          &family, &PyTuple_Type, &sites))
        goto failed;
    if (trigger < 0 || trigger >= core->trigger_count || core->triggers[trigger].is_update) goto failed;
    door->trigger = &core->triggers[trigger];
    const Map *table = &core->maps[door->trigger->table];
    if (count != table->columns || PyTuple_GET_SIZE(names) != count || PyTuple_GET_SIZE(limits) != count) goto failed;
    door->names = Py_NewRef(names);
    memcpy(door->nullable, nullable, (size_t)count);
    if (read_limits(table, door, limits)) goto failed;
    if (read_tables(core, family, table->kind, table->keys, &door->family, &door->family_count)) goto failed;
    Py_ssize_t total = PyTuple_GET_SIZE(sites);
    if (total > MAX_WORDS || !(door->sites = PyMem_RawCalloc((size_t)total + 1, sizeof *door->sites))) goto failed;
    for (; door->site_count < total; door->site_count++)
        if (read_site(core, table, &door->sites[door->site_count], PyTuple_GET_ITEM(sites, door->site_count))) {
            PyMem_RawFree(door->sites[door->site_count].maps);
            goto failed;
        }
    return door;
failed:
    door_free(door);
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "a door that cannot be made");
    return NULL;
}

/* ---- rows as words ---- */

/* A row as a tuple: a new reference; NULL without an error where it is for the long way. */
static PyObject *as_tuple(const Door *door, PyObject *row, int columns) {
    if (PyTuple_CheckExact(row)) return PyTuple_GET_SIZE(row) == columns ? Py_NewRef(row) : NULL;
    if (!PyDict_CheckExact(row) || PyDict_GET_SIZE(row) != columns) return NULL;
    PyObject *found = PyTuple_New(columns);
    for (int i = 0; found && i < columns; i++) {
        PyObject *value = PyDict_GetItemWithError(row, PyTuple_GET_ITEM(door->names, i));
        if (!value) Py_CLEAR(found);
        else PyTuple_SET_ITEM(found, i, Py_NewRef(value));
    }
    return found;
}

static int encode_taken(Core *core, const Door *door, const Map *table, PyObject *row, i64 *words) {
    for (int i = 0; i < table->columns; i++) {
        int at = table->place[i];
        char kind = table->kind[at];
        PyObject *value = PyTuple_GET_ITEM(row, i);
        if (value == Py_None && !door->nullable[i]) return LEFT;
        if (kind == 'f' && PyFloat_CheckExact(value) && PyFloat_AS_DOUBLE(value) != PyFloat_AS_DOUBLE(value)) return LEFT;
        if (encode(&core->texts, kind, value, &words[at])) {
            if (!PyErr_ExceptionMatches(Unfit)) return FAILED;
            PyErr_Clear();
            return LEFT;
        }
        int is_limited = (kind == 'i' || is_decimal(kind)) && words[at] != NIL;
        if (is_limited && (words[at] < door->low[i] || words[at] > door->high[i])) return LEFT;
    }
    return DONE;
}

/* ---- what is there ---- */

static int refers(const Core *core, const Site *site, const i64 *words) {
    i64 key[MAX_WORDS];
    for (int i = 0; i < site->length; i++) {
        key[i] = words[site->at[i]];
        if (key[i] == NIL && site->is_nullable) return 1;
    }
    u64 hash = map_hash(key, site->length);
    for (int i = 0; i < site->map_count; i++)
        if (map_find(&core->maps[site->maps[i]], key, hash)) return 1;
    return 0;
}

static int may_come(const Core *core, const Door *door, const i64 *words, u64 hash) {
    for (int i = 0; i < door->family_count; i++)
        if (map_find(&core->maps[door->family[i]], words, hash)) return 0;
    for (int i = 0; i < door->site_count; i++)
        if (!refers(core, &door->sites[i], words)) return 0;
    return 1;
}

static int may_go(const Map *table, const i64 *words, u64 hash) {
    u32 id = map_find(table, words, hash);
    return id && !memcmp(entry_at(table, id), words, (size_t)table->columns * sizeof *words) && measure_of(table, id, 0) > 0;
}

/* Whether each of the rows has a key of its own; of some that go, whether each is another one. */
static int are_distinct(const Map *table, const i64 *words, size_t stride, size_t count, const u64 *hashes, u32 *slots, u32 mask) {
    for (size_t i = 0; i < count; i++) {
        u32 at = (u32)(hashes[i] >> 32) & mask;
        for (; slots[at]; at = (at + 1) & mask) {
            size_t other = slots[at] - 1;
            if (hashes[other] == hashes[i] &&
                !memcmp(words + other * stride, words + i * stride, (size_t)table->keys * sizeof *words))
                return 0;
        }
        slots[at] = (u32)i + 1;
    }
    return 1;
}

static int all_fit(Core *core, const Door *door, const i64 *words, size_t count, int times) {
    const Map *table = &core->maps[door->trigger->table];
    size_t stride = (size_t)table->columns + 1;
    int is_keyed = door->family_count > 0, result = LEFT;
    if (count == 1) {
        u64 hash = map_hash(words, table->keys);
        return (times > 0 ? may_come(core, door, words, hash) : may_go(table, words, hash)) ? DONE : LEFT;
    }
    if (count > MAX_ENTRIES / 4) return LEFT;
    u32 mask = 15;
    while (mask < count * 2) mask = mask * 2 + 1;
    u64 *hashes = PyMem_RawMalloc(count * sizeof *hashes);
    u32 *slots = PyMem_RawCalloc((size_t)mask + 1, sizeof *slots);
    if (!hashes || !slots) {
        PyErr_NoMemory();
        result = FAILED;
        goto end;
    }
    for (size_t i = 0; i < count; i++) {
        const i64 *row = words + i * stride;
        hashes[i] = map_hash(row, table->keys);
        if (!(times > 0 ? may_come(core, door, row, hashes[i]) : may_go(table, row, hashes[i]))) goto end;
    }
    if ((times > 0 && !is_keyed) || are_distinct(table, words, stride, count, hashes, slots, mask)) result = DONE;
end:
    PyMem_RawFree(hashes);
    PyMem_RawFree(slots);
    return result;
}

/* ---- taken ---- */

/* The rows are encoded, each with how often it comes behind it. What fails leaves the tables as they were; maps may be
 * wrong then, which the caller says to whoever is asked to mend them. A number that overflows leaves the rows there. */
static int run_taken(Core *core, const Door *door, const i64 *words, size_t count, int times) {
    int result = all_fit(core, door, words, count, times);
    if (result) return result;
    Map *table = &core->maps[door->trigger->table];
    size_t done, stride = (size_t)table->columns + 1;
    result = run_events(core, door->trigger, words, count, &done);
    if (result == FAILED) {
        PyObject *type, *value, *traceback;
        PyErr_Fetch(&type, &value, &traceback);
        while (done--) map_put(table, words + done * stride, -times); /* there was room for it */
        PyErr_Restore(type, value, traceback);
    }
    return result;
}

/* The last item goes, whatever error is set. */
static void withdraw(PyObject *list) {
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    if (PyList_SetSlice(list, PyList_GET_SIZE(list) - 1, PyList_GET_SIZE(list), NULL)) PyErr_Clear();
    PyErr_Restore(type, value, traceback);
}

/* How many rows were taken; None where they are for the long way. ``taken``, a list, gets them as tuples. */
static PyObject *accept(Core *core, const Door *door, PyObject *given, int times, PyObject *taken) {
    const Map *table = &core->maps[door->trigger->table];
    int columns = table->columns, result = DONE;
    i64 some[64], *words = some;
    PyObject *rows = PySequence_Tuple(given);
    if (!rows) return NULL;
    size_t count = (size_t)PyTuple_GET_SIZE(rows), stride = (size_t)columns + 1;
    PyObject *tuples = PyTuple_New((Py_ssize_t)count);
    if (!tuples) result = FAILED;
    if (count * stride > 64 && !(words = PyMem_RawMalloc(count * stride * sizeof *words))) {
        PyErr_NoMemory();
        result = FAILED;
    }
    for (size_t i = 0; i < count && !result; i++) {
        PyObject *row = as_tuple(door, PyTuple_GET_ITEM(rows, (Py_ssize_t)i), columns);
        if (!row) {
            result = PyErr_Occurred() ? FAILED : LEFT;
            break;
        }
        PyTuple_SET_ITEM(tuples, (Py_ssize_t)i, row);
        result = encode_taken(core, door, table, row, words + i * stride);
        words[i * stride + (size_t)columns] = times;
    }
    /* Put there first: what is run could not be told of afterwards, were there no memory for it. */
    if (!result && PyList_Append(taken, tuples)) result = FAILED;
    else if (!result && count && (result = run_taken(core, door, words, count, times)) && result != OVERFLOWED)
        withdraw(taken);
    if (words != some) PyMem_RawFree(words);
    Py_DECREF(rows);
    Py_XDECREF(tuples);
    if (result == LEFT) Py_RETURN_NONE;
    return result ? NULL : PyLong_FromSize_t(count);
}

/* The same, of a stream of Arrow; ``taken`` gets the words of the rows. */
static PyObject *accept_columns(Core *core, const Door *door, PyObject *capsule, int times, PyObject *taken) {
    PyObject *bytes = NULL;
    int result = arrow_words(core, door, capsule, times, &bytes);
    size_t size = ((size_t)core->maps[door->trigger->table].columns + 1) * sizeof(i64);
    size_t count = bytes ? (size_t)PyBytes_GET_SIZE(bytes) / size : 0;
    if (!result && !count) result = LEFT;
    if (!result && PyList_Append(taken, bytes)) result = FAILED;
    else if (!result && (result = run_taken(core, door, (const i64 *)(const void *)PyBytes_AS_STRING(bytes), count, times)) &&
             result != OVERFLOWED)
        withdraw(taken);
    Py_XDECREF(bytes);
    if (result == LEFT) Py_RETURN_NONE;
    return result ? NULL : PyLong_FromSize_t(count);
}

/* The rows whose words these are, while the texts in them are known: until the next change. */
PyObject *door_decoded(Core *core, const Door *door, PyObject *bytes) {
    const Map *table = &core->maps[door->trigger->table];
    size_t stride = (size_t)table->columns + 1, count = (size_t)PyBytes_GET_SIZE(bytes) / (stride * sizeof(i64));
    const i64 *words = (const i64 *)(const void *)PyBytes_AS_STRING(bytes);
    PyObject *rows = PyTuple_New((Py_ssize_t)count);
    for (size_t i = 0; rows && i < count; i++) {
        PyObject *row = decode_row(&core->texts, table, words + i * stride);
        if (!row) Py_CLEAR(rows);
        else PyTuple_SET_ITEM(rows, (Py_ssize_t)i, row);
    }
    return rows;
}

/* accept(door, rows, times, taken) */
PyObject *door_accept(Core *core, PyObject *const *args, Py_ssize_t count) {
    long at = count == 4 ? PyLong_AsLong(args[0]) : -1, times = count == 4 ? PyLong_AsLong(args[2]) : 0;
    if (PyErr_Occurred()) return NULL;
    if (at < 0 || at >= core->door_count || (times != 1 && times != -1) || !PyList_CheckExact(args[3]) ||
        !(PyList_CheckExact(args[1]) || PyTuple_CheckExact(args[1]) || PyCapsule_CheckExact(args[1]))) {
        PyErr_SetString(PyExc_TypeError, "accept(door, rows, 1 or -1, taken)");
        return NULL;
    }
    const Door *door = core->doors[at];
    return (PyCapsule_CheckExact(args[1]) ? accept_columns : accept)(core, door, args[1], (int)times, args[3]);
}
