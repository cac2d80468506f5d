/* Texts, bytes and labels by number: equal ones have one, so that words are compared. */
#include "native.h"

static int kind_at(char kind) { return kind == 's' ? 0 : kind == 'y' ? 1 : 2; }

int texts_new(Texts *t) {
    memset(t, 0, sizeof *t);
    t->top = 1, t->after_sweep = 0;
    for (int i = 0; i < 3; i++)
        if (!(t->number[i] = PyDict_New())) return FAILED;
    return DONE;
}

void texts_free(Texts *t) {
    for (u32 i = 1; i < t->top; i++) Py_XDECREF(t->value[i]);
    for (int i = 0; i < 3; i++) Py_CLEAR(t->number[i]);
    PyMem_RawFree(t->value);
    PyMem_RawFree(t->is_used);
    PyMem_RawFree(t->next);
    memset(t, 0, sizeof *t);
}

static int texts_room(Texts *t) {
    if (t->spare || t->top < t->capacity) return DONE;
    u64 more = (u64)t->capacity * 2 + 64;
    if (more > MAX_ENTRIES) goto failed;
    PyObject **value = PyMem_RawRealloc(t->value, more * sizeof *value);
    if (!value) goto failed;
    t->value = value;
    unsigned char *is_used = PyMem_RawRealloc(t->is_used, more);
    if (!is_used) goto failed;
    t->is_used = is_used;
    u32 *next = PyMem_RawRealloc(t->next, more * sizeof *next);
    if (!next) goto failed;
    t->next = next, t->capacity = (u32)more;
    return DONE;
failed:
    PyErr_NoMemory();
    return FAILED;
}

int texts_number(Texts *t, char kind, PyObject *value, i64 *number) {
    PyObject *known = t->number[kind_at(kind)];
    PyObject *found = PyDict_GetItemWithError(known, value);
    if (found) {
        *number = PyLong_AsLongLong(found);
        return DONE;
    }
    if (PyErr_Occurred() || texts_room(t)) return FAILED;
    u32 id = t->spare ? t->spare : t->top;
    PyObject *made = PyLong_FromUnsignedLong(id);
    if (!made) return FAILED;
    int failed = PyDict_SetItem(known, value, made);
    Py_DECREF(made);
    if (failed) return FAILED;
    if (id == t->spare) t->spare = t->next[id];
    else t->top++;
    t->value[id] = Py_NewRef(value), t->is_used[id] = 0, t->live++;
    *number = id;
    return DONE;
}

static int forget(Texts *t, u32 id) {
    PyObject *value = t->value[id];
    char kind = PyUnicode_Check(value) ? 's' : PyBytes_Check(value) ? 'y' : 'l';
    if (PyDict_DelItem(t->number[kind_at(kind)], value)) return FAILED;
    t->value[id] = NULL, t->next[id] = t->spare, t->spare = id, t->live--;
    Py_DECREF(value);
    return DONE;
}

/* Forget what no entry has. It is asked between runs only: registers hold numbers too. */
int texts_sweep(Texts *t, Map *maps, int count) {
    for (u32 i = t->pinned; i < t->top; i++) t->is_used[i] = 0;
    for (int m = 0; m < count; m++)
        for (int c = 0; c < maps[m].columns; c++) {
            if (!strchr("syl", maps[m].kind[c])) continue;
            for (u32 id = 1; id < maps[m].top; id++) {
                i64 word = entry_at(&maps[m], id)[c];
                if (word > 0 && word < t->top && is_live(&maps[m], id)) t->is_used[word] = 1;
            }
        }
    for (u32 i = t->pinned; i < t->top; i++)
        if (t->value[i] && !t->is_used[i] && forget(t, i)) return FAILED;
    t->after_sweep = t->live;
    return DONE;
}
