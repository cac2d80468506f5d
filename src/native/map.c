/* Maps: dense entries, their own index by the key, and indexes by parts of it. */
#include "native.h"

u64 native_seed = 0;

#define ID(slot) ((u32)(slot))
#define TAG(hash) ((u32)((hash) >> 32))
#define SLOT(hash, id) (((hash) & 0xFFFFFFFF00000000ull) | (id))
#define IS_FULL(used, mask) ((u64)(used) * 3 > ((u64)(mask) + 1) * 2)
#define LINK(next, previous) ((i64)(((u64)(next) << 32) | (previous)))
#define FIRST_SLOTS 16u

/* Keys come from outside, so the seed is drawn by the process. */
static inline u64 mixed(u64 hash, u64 word) {
    u128 product = (u128)(hash ^ word ^ 0xA0761D6478BD642Full) * 0xE7037ED1A0B428DBull;
    return (u64)product ^ (u64)(product >> 64) ^ native_seed;
}

u64 map_hash(const i64 *key, int length) {
    u64 hash = native_seed;
    for (int i = 0; i < length; i++) hash = mixed(hash, (u64)key[i]);
    return mixed(hash, (u64)length);
}

static u64 hash_of_part(const Index *x, const i64 *entry) {
    u64 hash = native_seed;
    for (int i = 0; i < x->length; i++) hash = mixed(hash, (u64)entry[x->at[i]]);
    return mixed(hash, (u64)x->length);
}

static int index_new(Index *x) {
    x->slot = PyMem_RawCalloc(FIRST_SLOTS, sizeof *x->slot);
    x->mask = FIRST_SLOTS - 1, x->used = 0;
    return x->slot ? DONE : FAILED;
}

/* Room for one more. Slots hold enough of the hash for that: no entry is read. */
static int index_room(Index *x) {
    if (!IS_FULL(x->used + 1, x->mask)) return DONE;
    u32 old = x->mask + 1, mask = old * 2 - 1;
    if (old > MAX_ENTRIES / 2) return FAILED;
    u64 *slots = PyMem_RawCalloc((size_t)old * 2, sizeof *slots);
    if (!slots) return FAILED;
    for (u32 i = 0; i < old; i++) {
        if (!x->slot[i]) continue;
        u32 at = TAG(x->slot[i]) & mask;
        while (slots[at]) at = (at + 1) & mask;
        slots[at] = x->slot[i];
    }
    PyMem_RawFree(x->slot);
    x->slot = slots, x->mask = mask;
    return DONE;
}

/* Close the hole at ``at``: what stands behind it and belongs before it moves up. */
static void index_remove(Index *x, u32 at) {
    for (u32 other = at;;) {
        other = (other + 1) & x->mask;
        u64 slot = x->slot[other];
        if (!slot) break;
        u32 home = TAG(slot) & x->mask;
        if (((other - home) & x->mask) < ((other - at) & x->mask)) continue;
        x->slot[at] = slot, at = other;
    }
    x->slot[at] = 0;
    x->used--;
}

static u32 slot_of_id(const Index *x, u32 id, u64 hash) {
    u32 at = TAG(hash) & x->mask;
    while (ID(x->slot[at]) != id) at = (at + 1) & x->mask;
    return at;
}

/* The slot of the group that ``entry`` is in, or the empty one where it would be. */
static u32 slot_of_group(const Map *m, const Index *x, const i64 *entry, u64 hash) {
    u32 at = TAG(hash) & x->mask;
    for (u64 slot; (slot = x->slot[at]); at = (at + 1) & x->mask) {
        if (TAG(slot) != TAG(hash)) continue;
        const i64 *other = entry_at(m, ID(slot));
        int i = 0;
        while (i < x->length && other[x->at[i]] == entry[x->at[i]]) i++;
        if (i == x->length) break;
    }
    return at;
}

int map_new(Map *m) {
    m->stride = m->columns;
    for (int i = 0; i < m->measures; i++) m->offset[i] = m->stride, m->stride += m->wide[i] ? 2 : 1;
    m->stride += m->indexes;
    m->top = 1, m->capacity = 8, m->live = m->spare = 0;
    m->entries = PyMem_RawCalloc(m->capacity, (size_t)m->stride * sizeof *m->entries);
    if (!m->entries || index_new(&m->own)) return FAILED;
    for (int i = 0; i < m->indexes; i++)
        if (index_new(&m->by[i])) return FAILED;
    return DONE;
}

void map_free(Map *m) {
    PyMem_RawFree(m->entries);
    PyMem_RawFree(m->own.slot);
    for (int i = 0; i < m->indexes && m->by; i++) PyMem_RawFree(m->by[i].slot);
    for (int i = 0; i < m->tree_count && m->trees; i++) tree_clear(&m->trees[i]);
    PyMem_RawFree(m->by);
    PyMem_RawFree(m->trees);
    m->entries = NULL, m->own.slot = NULL, m->by = NULL, m->trees = NULL;
}

/* What was large becomes small, or emptying it again and again would cost what it once held. */
static void index_clear(Index *x) {
    u64 *small = x->mask >= 1024 ? PyMem_RawCalloc(FIRST_SLOTS, sizeof *small) : NULL;
    if (small) {
        PyMem_RawFree(x->slot);
        x->slot = small, x->mask = FIRST_SLOTS - 1;
    } else {
        memset(x->slot, 0, ((size_t)x->mask + 1) * sizeof *x->slot);
    }
    x->used = 0;
}

void map_clear(Map *m) {
    if (m->top == 1) return;
    index_clear(&m->own);
    for (int i = 0; i < m->indexes; i++) index_clear(&m->by[i]);
    for (int i = 0; i < m->tree_count; i++) tree_clear(&m->trees[i]);
    if (m->capacity > 1024) {
        i64 *small = PyMem_RawRealloc(m->entries, 8 * (size_t)m->stride * sizeof *m->entries);
        if (small) m->entries = small, m->capacity = 8;
    }
    m->top = 1, m->live = m->spare = 0;
}

size_t index_bytes(const Index *x) { return ((size_t)x->mask + 1) * sizeof *x->slot; }

size_t map_bytes(const Map *m) {
    size_t bytes = (size_t)m->capacity * (size_t)m->stride * sizeof *m->entries + index_bytes(&m->own);
    for (int i = 0; i < m->tree_count; i++) bytes += tree_bytes(&m->trees[i]);
    return bytes;
}

u32 map_find(const Map *m, const i64 *key, u64 hash) {
    u32 at = TAG(hash) & m->own.mask;
    for (u64 slot; (slot = m->own.slot[at]); at = (at + 1) & m->own.mask) {
        if (TAG(slot) != TAG(hash)) continue;
        const i64 *e = entry_at(m, ID(slot));
        int i = 0;
        while (i < m->keys && e[i] == key[i]) i++;
        if (i == m->keys) return ID(slot);
    }
    return 0;
}

u32 map_slice(const Map *m, int index, const i64 *part) {
    const Index *x = &m->by[index];
    u64 hash = map_hash(part, x->length);
    u32 at = TAG(hash) & x->mask;
    for (u64 slot; (slot = x->slot[at]); at = (at + 1) & x->mask) {
        if (TAG(slot) != TAG(hash)) continue;
        const i64 *e = entry_at(m, ID(slot));
        int i = 0;
        while (i < x->length && e[x->at[i]] == part[i]) i++;
        if (i == x->length) return ID(slot);
    }
    return 0;
}

/* Room for one more, everywhere: after it nothing fails, so an entry is in all indexes or in none. */
static int map_room(Map *m) {
    if (!m->spare && m->top == m->capacity) {
        u64 more = (u64)m->capacity + m->capacity / 4 + 8;
        if (more > MAX_ENTRIES) return FAILED;
        i64 *entries = PyMem_RawRealloc(m->entries, (size_t)more * (size_t)m->stride * sizeof *entries);
        if (!entries) return FAILED;
        m->entries = entries, m->capacity = (u32)more;
    }
    if (index_room(&m->own)) return FAILED;
    for (int i = 0; i < m->indexes; i++)
        if (index_room(&m->by[i])) return FAILED;
    for (int i = 0; i < m->tree_count; i++)
        if (tree_room(&m->trees[i])) return FAILED;
    return DONE;
}

/* Where nothing but the measures says that an entry is not in use, and nothing has to know when one is moved. */
static int is_dense(const Map *m) { return !m->indexes && !m->tree_count; }

/* The word that leads from a spare entry to the next: of a link, the half that says what comes before, or else a
 * column. No scan looks at it. */
static i64 *spare_link(const Map *m, i64 *e) { return m->indexes ? &e[m->stride - 1] : &e[0]; }

int map_insert(Map *m, const i64 *words, u64 hash, u32 *found) {
    for (int i = 0; i < m->tree_count; i++)
        for (int k = 0; m->trees[i].is_strict && k < m->trees[i].length; k++)
            if (!has_place(m->kind[m->trees[i].at[k]], words[m->trees[i].at[k]])) return FAILED;
    if (map_room(m)) {
        PyErr_NoMemory();
        return FAILED;
    }
    u32 id = m->spare;
    int links = m->stride - m->indexes;
    if (id) m->spare = (u32)*spare_link(m, entry_at(m, id));
    else id = m->top++;
    i64 *e = entry_at(m, id);
    memcpy(e, words, (size_t)links * sizeof *e);
    u32 at = TAG(hash) & m->own.mask;
    while (m->own.slot[at]) at = (at + 1) & m->own.mask;
    m->own.slot[at] = SLOT(hash, id), m->own.used++, m->live++;
    for (int i = 0; i < m->indexes; i++) {
        Index *x = &m->by[i];
        u64 part = hash_of_part(x, e);
        u32 group = slot_of_group(m, x, e, part), head = ID(x->slot[group]);
        e[links + i] = LINK(head, 0);
        if (head) {
            i64 *first = entry_at(m, head) + links + i;
            *first = LINK(next_in(*first), id);
        } else {
            x->used++;
        }
        x->slot[group] = SLOT(part, id);
    }
    int failed = DONE;
    for (int i = 0; i < m->tree_count; i++) {
        tree_insert(m, &m->trees[i], id);
        if (m->trees[i].overflowed) failed = OVERFLOWED;
    }
    if (found) *found = id;
    return failed;
}

void map_erase(Map *m, u32 id, u64 hash) {
    i64 *e = entry_at(m, id);
    int links = m->stride - m->indexes;
    for (int i = 0; i < m->tree_count; i++) tree_remove(m, &m->trees[i], id);
    index_remove(&m->own, slot_of_id(&m->own, id, hash));
    for (int i = 0; i < m->indexes; i++) {
        u32 next = next_in(e[links + i]), previous = previous_in(e[links + i]);
        if (next) {
            i64 *link = entry_at(m, next) + links + i;
            *link = LINK(next_in(*link), previous);
        }
        if (previous) {
            i64 *link = entry_at(m, previous) + links + i;
            *link = LINK(next, previous_in(*link));
            continue;
        }
        Index *x = &m->by[i];
        u64 part = hash_of_part(x, e);
        u32 group = slot_of_id(x, id, part);
        if (next) x->slot[group] = SLOT(part, next);
        else index_remove(x, group);
    }
    memset(e + m->columns, 0, (size_t)(m->stride - m->columns) * sizeof *e);
    if (m->live == 1) {
        m->live = m->spare = 0, m->top = 1;
        return;
    }
    m->live--;
    if (!is_dense(m)) {
        *spare_link(m, e) = LINK(0, m->spare), m->spare = id;
    } else {
        /* Without links there is no word that a scan does not look at: the last entry takes the place. */
        u32 last = --m->top;
        if (last == id) return;
        i64 *moved = entry_at(m, last);
        u64 moved_hash = map_hash(moved, m->keys);
        m->own.slot[slot_of_id(&m->own, last, moved_hash)] = SLOT(moved_hash, id);
        memcpy(e, moved, (size_t)m->stride * sizeof *e);
    }
}

static int fits(i128 value) { return value == (i64)value; }

int map_add(Map *m, const i64 *key, const i128 *amounts) {
    u64 hash = map_hash(key, m->keys);
    u32 id = map_find(m, key, hash);
    int any = 0;
    if (!id) {
        i64 words[3 * MAX_WORDS];
        memcpy(words, key, (size_t)m->keys * sizeof *words);
        for (int i = 0; i < m->measures; i++) {
            any |= amounts[i] != 0;
            if (m->wide[i]) memcpy(words + m->offset[i], &amounts[i], sizeof amounts[i]);
            else if (fits(amounts[i])) words[m->offset[i]] = (i64)amounts[i];
            else return OVERFLOWED;
        }
        return any ? map_insert(m, words, hash, NULL) : DONE;
    }
    i64 *e = entry_at(m, id);
    for (int i = 0; i < m->measures; i++) {
        i64 *word = e + m->offset[i];
        i128 sum;
        if (__builtin_add_overflow(m->wide[i] ? wide_at(word) : word[0], amounts[i], &sum)) return OVERFLOWED;
        if (m->wide[i]) memcpy(word, &sum, sizeof sum);
        else if (fits(sum)) word[0] = (i64)sum;
        else return OVERFLOWED;
        any |= sum != 0 && (!m->is_positive || i == 0);
    }
    if (!any) map_erase(m, id, hash);
    int failed = DONE;
    for (int i = 0; any && i < m->tree_count; i++) {
        tree_add(m, &m->trees[i], id, amounts);
        if (m->trees[i].overflowed) failed = OVERFLOWED;
    }
    return failed;
}

int map_put(Map *m, const i64 *row, i64 times) {
    u64 hash = map_hash(row, m->keys);
    u32 id = map_find(m, row, hash);
    i64 words[3 * MAX_WORDS];
    if (m->keys == m->columns) {
        i64 total = times;
        if (id && __builtin_add_overflow(entry_at(m, id)[m->columns], times, &total)) return OVERFLOWED;
        if (id && total) {
            entry_at(m, id)[m->columns] = total;
        } else if (id) {
            map_erase(m, id, hash);
        } else if (total) {
            memcpy(words, row, (size_t)m->columns * sizeof *words);
            words[m->columns] = total;
            return map_insert(m, words, hash, NULL);
        }
        return DONE;
    }
    if (id) map_erase(m, id, hash);
    if (times <= 0) return DONE;
    memcpy(words, row, (size_t)m->columns * sizeof *words);
    words[m->columns] = 1;
    return map_insert(m, words, hash, NULL);
}
