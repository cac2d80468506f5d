/* Columns of Arrow as words of rows, without an object of Python for a cell; texts have one while they are looked up.
 *
 * Whatever a column holds that has no word, or is of another type than the column of the table, is LEFT for the long way.
 */
#include "native.h"
#include "arrow.h"

#define DAY 86400000000LL

/* One column of one batch: where its cells are, and how one is read. */
typedef struct {
    const struct ArrowArray *array;
    const char *format;
    const uint8_t *valid;
    int64_t offset;
    i64 *codes; /* of a column with a dictionary, the words of its texts */
    int64_t code_count;
} Column;

static int is_valid(const Column *c, int64_t row) {
    int64_t at = row + c->offset;
    return !c->valid || (c->valid[at >> 3] >> (at & 7) & 1);
}

/* An int of any width; LEFT for one beyond 63 bits. */
static int int_at(char format, const void *cells, int64_t at, i64 *value) {
    switch (format) {
    case 'c': *value = ((const int8_t *)cells)[at]; return DONE;
    case 'C': *value = ((const uint8_t *)cells)[at]; return DONE;
    case 's': *value = ((const int16_t *)cells)[at]; return DONE;
    case 'S': *value = ((const uint16_t *)cells)[at]; return DONE;
    case 'i': *value = ((const int32_t *)cells)[at]; return DONE;
    case 'I': *value = ((const uint32_t *)cells)[at]; return DONE;
    case 'l': *value = ((const i64 *)cells)[at]; return *value == NIL ? LEFT : DONE;
    case 'L': *value = (i64)((const u64 *)cells)[at]; return *value < 0 ? LEFT : DONE;
    }
    return LEFT;
}

/* The word of a day, given how many days after 1970-01-01 it is (years 1 to 9999). */
static int day_word(i64 days, i64 *word) {
    if (days < -719162 || days > 2932896) return LEFT;
    i64 z = days + 719468, era = z / 146097, of_era = z - era * 146097; /* z > 0 */
    i64 year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    i64 of_year = of_era - (365 * year + year / 4 - year / 100), month = (5 * of_year + 2) / 153;
    i64 day = of_year - (153 * month + 2) / 5 + 1;
    month += month < 10 ? 3 : -9;
    *word = ((year + era * 400 + (month <= 2)) * 16 + month) * 32 + day;
    return DONE;
}

/* Microseconds, of a column that counts seconds, milliseconds or microseconds. */
static int micros(char unit, i64 value, i64 *result) {
    i64 factor = unit == 's' ? 1000000 : unit == 'm' ? 1000 : unit == 'u' ? 1 : 0;
    return !factor || __builtin_mul_overflow(value, factor, result) ? LEFT : DONE;
}

static int moment_word(char unit, i64 value, i64 *word) {
    i64 micro, day;
    if (micros(unit, value, &micro)) return LEFT;
    i64 days = micro / DAY, rest = micro % DAY;
    if (rest < 0) days--, rest += DAY;
    if (day_word(days, &day)) return LEFT;
    *word = day * DAY + rest;
    return DONE;
}

static int float_word(double number, i64 *word) {
    PyObject *value = PyFloat_FromDouble(number);
    if (!value) return FAILED;
    int failed = number != number ? LEFT : encode(NULL, 'f', value, word);
    Py_DECREF(value);
    if (failed == FAILED && PyErr_ExceptionMatches(Unfit)) {
        PyErr_Clear();
        return LEFT;
    }
    return failed;
}

/* The bytes of a text. */
static int text_at(const struct ArrowArray *a, const char *format, int64_t at, const char **text, i64 *length) {
    if (!strcmp(format, "u") || !strcmp(format, "z")) {
        const int32_t *starts = a->buffers[1];
        *text = (const char *)a->buffers[2] + starts[at], *length = starts[at + 1] - (i64)starts[at];
    } else if (!strcmp(format, "U") || !strcmp(format, "Z")) {
        const i64 *starts = a->buffers[1];
        *text = (const char *)a->buffers[2] + starts[at], *length = starts[at + 1] - starts[at];
    } else if (!strcmp(format, "vu") || !strcmp(format, "vz")) {
        const char *view = (const char *)a->buffers[1] + at * 16;
        int32_t parts[4];
        memcpy(parts, view, sizeof parts);
        *length = parts[0];
        if (parts[0] <= 12) *text = view + 4;
        else if (parts[2] < 0 || parts[2] + 2 >= a->n_buffers - 1) return LEFT;
        else *text = (const char *)a->buffers[2 + parts[2]] + parts[3];
    } else {
        return LEFT;
    }
    return *length < 0 ? LEFT : DONE;
}

static int text_word(Texts *t, char kind, const struct ArrowArray *a, const char *format, int64_t at, i64 *word) {
    const char *text;
    i64 length;
    int is_text = strchr(format, 'u') || strchr(format, 'U');
    if (is_text != (kind == 's') || text_at(a, format, at, &text, &length)) return LEFT;
    PyObject *value = kind == 's' ? PyUnicode_DecodeUTF8(text, (Py_ssize_t)length, NULL)
                                  : PyBytes_FromStringAndSize(text, (Py_ssize_t)length);
    if (!value) {
        if (!PyErr_ExceptionMatches(PyExc_UnicodeDecodeError)) return FAILED;
        PyErr_Clear();
        return LEFT;
    }
    int failed = texts_number(t, kind, value, word);
    Py_DECREF(value);
    return failed;
}

static int cell_word(Texts *t, char kind, const Column *c, int64_t row, i64 *word) {
    const struct ArrowArray *a = c->array;
    const char *format = c->format;
    int64_t at = row + c->offset;
    i64 value;
    if (!is_valid(c, row)) {
        *word = NIL;
        return DONE;
    }
    if (c->codes) {
        if (int_at(*format, a->buffers[1], at, &value) || value < 0 || value >= c->code_count) return LEFT;
        *word = c->codes[value];
        return DONE;
    }
    switch (kind) {
    case 'i': return format[1] ? LEFT : int_at(*format, a->buffers[1], at, word);
    case 'b':
        if (strcmp(format, "b")) return LEFT;
        *word = ((const uint8_t *)a->buffers[1])[at >> 3] >> (at & 7) & 1;
        return DONE;
    case 'd': return strcmp(format, "tdD") ? LEFT : day_word(((const int32_t *)a->buffers[1])[at], word);
    case 't':
        if (strncmp(format, "ts", 2) || format[3] != ':' || format[4]) return LEFT; /* no time zone */
        return moment_word(format[2], ((const i64 *)a->buffers[1])[at], word);
    case 'p':
        if (strncmp(format, "tD", 2) || micros(format[2], ((const i64 *)a->buffers[1])[at], word)) return LEFT;
        return *word / DAY < 100000000 && *word / DAY > -100000000 ? DONE : LEFT;
    case 'f':
        if (!strcmp(format, "g")) return float_word(((const double *)a->buffers[1])[at], word);
        return strcmp(format, "f") ? LEFT : float_word(((const float *)a->buffers[1])[at], word);
    case 's': case 'y': return text_word(t, kind, a, format, at, word);
    }
    return LEFT;
}

/* The words of the texts in a column's dictionary. */
static int read_codes(Texts *t, char kind, Column *c, const struct ArrowSchema *schema) {
    const struct ArrowArray *values = c->array->dictionary;
    if (!schema->dictionary) return DONE;
    if (!values || (kind != 's' && kind != 'y') || schema->format[1]) return LEFT;
    Column inner = {values, schema->dictionary->format, values->null_count ? values->buffers[0] : NULL, values->offset, NULL, 0};
    c->code_count = values->length;
    if (!(c->codes = PyMem_RawCalloc((size_t)values->length + 1, sizeof *c->codes))) {
        PyErr_NoMemory();
        return FAILED;
    }
    for (int64_t i = 0; i < values->length; i++) {
        int failed = cell_word(t, kind, &inner, i, &c->codes[i]);
        if (failed) return failed;
    }
    return DONE;
}

/* The words of one column, in all rows of a batch. */
static int column_words(Texts *t, const Door *door, const Map *table, int column, const struct ArrowSchema *schema,
                        const struct ArrowArray *array, int64_t start, int64_t count, i64 *words) {
    int at = table->place[column], stride = table->columns + 1, result;
    char kind = table->kind[at];
    if (array->n_buffers < 1 || array->offset < 0 || array->length < start + count) return LEFT;
    Column c = {array, schema->format, array->null_count ? array->buffers[0] : NULL, array->offset + start, NULL, 0};
    result = read_codes(t, kind, &c, schema);
    for (int64_t row = 0; row < count && !result; row++) {
        i64 *word = words + row * stride + at;
        if ((result = cell_word(t, kind, &c, row, word))) break;
        if (*word == NIL && !door->nullable[column]) result = LEFT;
        else if (kind == 'i' && *word != NIL && (*word < door->low[column] || *word > door->high[column])) result = LEFT;
    }
    PyMem_RawFree(c.codes);
    return result;
}

/* Which child each column of the table is; LEFT where they are not exactly these. */
static int columns_of(const Door *door, const Map *table, const struct ArrowSchema *schema, int *child) {
    if (strcmp(schema->format, "+s") || schema->n_children != table->columns) return LEFT;
    for (int i = 0; i < table->columns; i++) {
        const char *name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(door->names, i));
        if (!name) return FAILED;
        int found = 0;
        for (int j = 0; j < schema->n_children; j++)
            if (schema->children[j]->name && !strcmp(schema->children[j]->name, name)) child[i] = j, found++;
        if (found != 1) return LEFT;
    }
    return DONE;
}

static int batch_words(Core *core, const Door *door, const struct ArrowSchema *schema, const struct ArrowArray *batch,
                       const int *child, int times, PyObject **words) {
    const Map *table = &core->maps[door->trigger->table];
    size_t stride = (size_t)table->columns + 1, before = (size_t)PyBytes_GET_SIZE(*words), size = stride * sizeof(i64);
    if (batch->null_count && batch->n_buffers > 0 && batch->buffers[0]) return LEFT; /* a row that is null */
    if (batch->n_children != table->columns || batch->length < 0) return LEFT;
    if ((u64)batch->length > MAX_ENTRIES / 4) return LEFT;
    if (_PyBytes_Resize(words, (Py_ssize_t)(before + (size_t)batch->length * size))) return FAILED;
    i64 *first = (i64 *)(void *)(PyBytes_AS_STRING(*words) + before);
    for (int i = 0; i < table->columns; i++) {
        int failed = column_words(&core->texts, door, table, i, schema->children[child[i]], batch->children[child[i]],
                                  batch->offset, batch->length, first);
        if (failed) return failed;
    }
    for (int64_t row = 0; row < batch->length; row++) first[(size_t)row * stride + stride - 1] = times;
    return DONE;
}

int arrow_words(Core *core, const Door *door, PyObject *capsule, int times, PyObject **words) {
    struct ArrowArrayStream *stream = PyCapsule_GetPointer(capsule, "arrow_array_stream");
    struct ArrowSchema schema = {0};
    int child[MAX_WORDS], result = LEFT;
    if (!stream) return FAILED;
    if (!stream->release || stream->get_schema(stream, &schema)) return LEFT; /* who reads it anew says why */
    if (!(*words = PyBytes_FromStringAndSize(NULL, 0))) result = FAILED;
    else result = columns_of(door, &core->maps[door->trigger->table], &schema, child);
    while (!result) {
        struct ArrowArray batch = {0};
        if (stream->get_next(stream, &batch)) {
            result = LEFT;
            break;
        }
        if (!batch.release) break;
        result = batch_words(core, door, &schema, &batch, child, times, words);
        batch.release(&batch);
    }
    if (schema.release) schema.release(&schema);
    if (PyErr_Occurred()) result = FAILED;
    return result;
}
