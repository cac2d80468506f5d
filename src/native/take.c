/* Entries of a map of another machine, word by word: texts have other numbers there, all else is the same. */
#include "native.h"

static int is_alike(const Map *a, const Map *b) {
    return a->keys == b->keys && a->columns == b->columns && a->measures == b->measures && a->is_positive == b->is_positive &&
           !memcmp(a->kind, b->kind, (size_t)a->columns) && !memcmp(a->wide, b->wide, (size_t)a->measures) &&
           !memcmp(a->number, b->number, (size_t)a->measures);
}

/* The number here of a text that has one there; ``known``: those that were asked for, by their number there. */
static int number_of(Texts *to, const Texts *from, char kind, i64 *word, i64 *known) {
    if (*word == NIL) return DONE;
    if (*word <= 0 || *word >= from->top || !from->value[*word]) {
        PyErr_SetString(PyExc_SystemError, "a text that has no number");
        return FAILED;
    }
    i64 *number = &known[*word];
    if (!*number && texts_number(to, kind, from->value[*word], number)) return FAILED;
    *word = *number;
    return DONE;
}

static int take_entry(Core *to, const Core *from, Map *m, const Map *source, u32 id, i64 *known) {
    i64 words[3 * MAX_WORDS];
    memcpy(words, entry_at(source, id), (size_t)(source->stride - source->indexes) * sizeof *words);
    for (int i = 0; i < m->columns; i++)
        if (strchr("syl", m->kind[i]) && number_of(&to->texts, &from->texts, m->kind[i], &words[i], known)) return FAILED;
    int failed = map_insert(m, words, map_hash(words, m->keys), NULL);
    if (failed != OVERFLOWED) return failed;
    PyErr_SetString(Unfit, "a sum beyond 128 bits");
    return FAILED;
}

/* All entries, or none. LEFT: the maps are not alike. */
int map_take(Core *to, int at, const Core *from, int other) {
    Map *m = &to->maps[at];
    const Map *source = &from->maps[other];
    if (!is_alike(m, source)) return LEFT;
    i64 *known = PyMem_RawCalloc((size_t)from->texts.top + 1, sizeof *known);
    if (!known) {
        PyErr_NoMemory();
        return FAILED;
    }
    int failed = DONE;
    map_clear(m);
    for (u32 id = next_live(source, 0); id && !failed; id = next_live(source, id))
        failed = take_entry(to, from, m, source, id, known);
    if (failed) map_clear(m);
    PyMem_RawFree(known);
    return failed;
}
