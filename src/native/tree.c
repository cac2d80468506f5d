/* Entries of a map in order of some of their words, and sums of their measures: a B+-tree.
 *
 * A key is these words and the entry's id, so that all differ. The groups of a map are ranges of one tree. A cut is
 * like a key, and stands between keys: below all of its words where its id is the least, above them where the most.
 */
#include "native.h"

#define FULL 32
#define SPARSE 8
#define MAX_HEIGHT 20

/* Slots of [key][sums: of an entry, or of a kid], and of an inner node [how many entries a kid has][kid]. The key of a
 * kid is the least in it. */
struct Node {
    u32 count, is_leaf;
    Node *next; /* of spare ones */
};

static i64 *words_in(const Node *n) { return (i64 *)(n + 1); }
static i64 *key_in(const Tree *x, const Node *n, int i) { return words_in(n) + (size_t)i * (size_t)(x->length + 1); }
static i64 *sums_in(const Tree *x, const Node *n, int i) {
    return words_in(n) + (size_t)FULL * (size_t)(x->length + 1) + (size_t)i * (size_t)x->sums * 2;
}
static i64 *total_in(const Tree *x, const Node *n, int i) {
    return words_in(n) + (size_t)FULL * (size_t)(x->length + 1 + 2 * x->sums) + i;
}
static Node **kid_in(const Tree *x, const Node *n, int i) {
    return (Node **)(void *)(words_in(n) + (size_t)FULL * (size_t)(x->length + 2 + 2 * x->sums)) + i;
}

static size_t node_bytes(const Tree *x, int is_leaf) {
    return sizeof(Node) + (size_t)FULL * (size_t)(x->length + 1 + 2 * x->sums + (is_leaf ? 0 : 2)) * sizeof(i64);
}

static i128 wide_in(const i64 *word) {
    i128 value;
    memcpy(&value, word, sizeof value);
    return value;
}

/* A sum beyond 128 bits is noted, and stays noted until the map is emptied. */
static void add_wide(Tree *x, i64 *word, i128 amount) {
    i128 sum;
    if (__builtin_add_overflow(wide_in(word), amount, &sum)) x->overflowed = 1;
    memcpy(word, &sum, sizeof sum);
}

/* ---- nodes ---- */

static Node *node_new(Tree *x, int is_leaf) {
    Node *n = PyMem_RawCalloc(1, node_bytes(x, is_leaf));
    if (n) n->is_leaf = (u32)is_leaf, x->nodes[is_leaf]++;
    return n;
}

/* Spare nodes for one more entry: a leaf, and on each level above it an inner node, and a new root. */
int tree_room(Tree *x) {
    while (x->spares[1] < 2 || x->spares[0] < x->height + 2) {
        int is_leaf = x->spares[1] < 2;
        Node *n = node_new(x, is_leaf);
        if (!n) return FAILED;
        n->next = x->spare[is_leaf], x->spare[is_leaf] = n, x->spares[is_leaf]++;
    }
    return DONE;
}

static Node *taken(Tree *x, int is_leaf) {
    Node *n = x->spare[is_leaf];
    x->spare[is_leaf] = n->next, x->spares[is_leaf]--;
    n->next = NULL, n->count = 0;
    return n;
}

static void given_back(Tree *x, Node *n) {
    if (x->spares[n->is_leaf] > x->height + 2) {
        x->nodes[n->is_leaf]--;
        PyMem_RawFree(n);
        return;
    }
    n->next = x->spare[n->is_leaf], x->spare[n->is_leaf] = n, x->spares[n->is_leaf]++;
}

static void free_all(const Tree *x, Node *n) {
    if (!n) return;
    for (int i = 0; !n->is_leaf && i < (int)n->count; i++) free_all(x, *kid_in(x, n, i));
    PyMem_RawFree(n);
}

void tree_clear(Tree *x) {
    free_all(x, x->root);
    for (int i = 0; i < 2; i++) {
        for (Node *n = x->spare[i], *next; n; n = next) next = n->next, PyMem_RawFree(n);
        x->spare[i] = NULL, x->spares[i] = 0, x->nodes[i] = 0;
    }
    x->root = NULL, x->height = 0, x->overflowed = x->was_negative = 0;
}

size_t tree_bytes(const Tree *x) {
    return (size_t)x->nodes[0] * node_bytes(x, 0) + (size_t)x->nodes[1] * node_bytes(x, 1);
}

/* ---- order ---- */

/* Words are in the order of values but for texts and bytes, which are asked. A cut may have a word that is no number. */
static int compared(const Tree *x, const i64 *a, const i64 *b) {
    const Texts *t = x->texts;
    for (int i = 0; i <= x->length; i++) {
        if (a[i] == b[i]) continue;
        int is_text = i < x->length && x->is_text[i];
        if (is_text && a[i] > 0 && b[i] > 0 && a[i] < t->top && b[i] < t->top && t->value[a[i]] && t->value[b[i]]) {
            PyObject *one = t->value[a[i]], *other = t->value[b[i]];
            if (PyUnicode_Check(one)) return PyUnicode_Compare(one, other);
            Py_ssize_t length = PyBytes_GET_SIZE(one), others = PyBytes_GET_SIZE(other);
            int first = memcmp(PyBytes_AS_STRING(one), PyBytes_AS_STRING(other), (size_t)Py_MIN(length, others));
            return first ? first : length < others ? -1 : 1;
        }
        return a[i] < b[i] ? -1 : 1;
    }
    return 0;
}

/* The first slot whose key is not below. */
static int slot_of(const Tree *x, const Node *n, const i64 *key) {
    int low = 0, high = (int)n->count;
    while (low < high) {
        int middle = (low + high) / 2;
        if (compared(x, key_in(x, n, middle), key) < 0) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* The kid that has a key, or would have it. */
static int kid_of(const Tree *x, const Node *n, const i64 *key) {
    int at = slot_of(x, n, key);
    if (at < (int)n->count && !compared(x, key_in(x, n, at), key)) return at;
    return at ? at - 1 : 0;
}

/* ---- slots ---- */

static void moved(const Tree *x, Node *to, int i, Node *from, int j, int count) {
    if (count <= 0) return;
    size_t n = (size_t)count;
    memmove(key_in(x, to, i), key_in(x, from, j), n * (size_t)(x->length + 1) * sizeof(i64));
    if (x->sums) memmove(sums_in(x, to, i), sums_in(x, from, j), n * (size_t)x->sums * 2 * sizeof(i64));
    if (to->is_leaf) return;
    memmove(total_in(x, to, i), total_in(x, from, j), n * sizeof(i64));
    memmove(kid_in(x, to, i), kid_in(x, from, j), n * sizeof(Node *));
}

static void with_key(const Tree *x, Node *n, int i, const i64 *key) {
    memcpy(key_in(x, n, i), key, (size_t)(x->length + 1) * sizeof(i64));
}

/* What a node says of its kid, said anew. */
static void said_of(Tree *x, Node *n, int i) {
    Node *kid = *kid_in(x, n, i);
    with_key(x, n, i, key_in(x, kid, 0));
    i64 total = kid->is_leaf ? (i64)kid->count : 0;
    for (int k = 0; !kid->is_leaf && k < (int)kid->count; k++) total += *total_in(x, kid, k);
    *total_in(x, n, i) = total;
    i64 *sums = sums_in(x, n, i);
    if (x->sums) memset(sums, 0, (size_t)x->sums * 2 * sizeof(i64));
    for (int k = 0; k < (int)kid->count; k++)
        for (int j = 0; j < x->sums; j++) add_wide(x, sums + 2 * j, wide_in(sums_in(x, kid, k) + 2 * j));
}

static void halved(Tree *x, Node *n, int i) {
    Node *left = *kid_in(x, n, i), *right = taken(x, (int)left->is_leaf);
    int half = (int)left->count / 2;
    moved(x, right, 0, left, half, (int)left->count - half);
    right->count = left->count - (u32)half, left->count = (u32)half;
    moved(x, n, i + 2, n, i + 1, (int)n->count - i - 1);
    *kid_in(x, n, i + 1) = right;
    n->count++;
    said_of(x, n, i);
    said_of(x, n, i + 1);
}

/* A sparse kid is joined to its neighbour, or gets some of what that has. */
static void mended(Tree *x, Node *n, int i) {
    if (n->count < 2) return;
    i = i + 1 < (int)n->count ? i : i - 1;
    Node *left = *kid_in(x, n, i), *right = *kid_in(x, n, i + 1);
    int of_left = (int)left->count, both = of_left + (int)right->count, half = both / 2;
    if (both <= FULL) {
        moved(x, left, of_left, right, 0, both - of_left);
        left->count = (u32)both;
        moved(x, n, i + 1, n, i + 2, (int)n->count - i - 2);
        n->count--;
        given_back(x, right);
        said_of(x, n, i);
        return;
    }
    if (of_left < half) {
        moved(x, left, of_left, right, 0, half - of_left);
        moved(x, right, 0, right, half - of_left, both - half);
    } else {
        moved(x, right, of_left - half, right, 0, both - of_left);
        moved(x, right, 0, left, half, of_left - half);
    }
    left->count = (u32)half, right->count = (u32)(both - half);
    said_of(x, n, i);
    said_of(x, n, i + 1);
}

/* ---- changes ---- */

static void key_of(const Map *m, const Tree *x, u32 id, i64 *key) {
    const i64 *e = entry_at(m, id);
    for (int i = 0; i < x->length; i++) key[i] = e[x->at[i]];
    key[x->length] = id;
}

static void added_in(Tree *x, i64 *sums, const i128 *amounts, int is_leaf) {
    for (int j = 0; j < x->sums; j++) {
        add_wide(x, sums + 2 * j, amounts[j]);
        if (is_leaf && wide_in(sums + 2 * j) < 0) x->was_negative = 1;
    }
}

/* After tree_room. */
void tree_insert(Map *m, Tree *x, u32 id) {
    i64 key[MAX_WORDS + 1];
    i128 amounts[MAX_WORDS];
    key_of(m, x, id, key);
    for (int j = 0; j < x->sums; j++) amounts[j] = measure_of(m, id, j);
    if (!x->root) x->root = taken(x, 1);
    if (x->root->count == FULL) {
        Node *root = taken(x, 0);
        *kid_in(x, root, 0) = x->root;
        root->count = 1, x->root = root, x->height++;
        halved(x, root, 0);
    }
    Node *n = x->root;
    while (!n->is_leaf) {
        int i = kid_of(x, n, key);
        if ((*kid_in(x, n, i))->count == FULL) {
            halved(x, n, i);
            i = kid_of(x, n, key);
        }
        if (compared(x, key, key_in(x, n, i)) < 0) with_key(x, n, i, key);
        *total_in(x, n, i) += 1;
        added_in(x, sums_in(x, n, i), amounts, 0);
        n = *kid_in(x, n, i);
    }
    int at = slot_of(x, n, key);
    moved(x, n, at + 1, n, at, (int)n->count - at);
    with_key(x, n, at, key);
    if (x->sums) memset(sums_in(x, n, at), 0, (size_t)x->sums * 2 * sizeof(i64));
    added_in(x, sums_in(x, n, at), amounts, 1);
    n->count++;
}

void tree_add(Map *m, Tree *x, u32 id, const i128 *amounts) {
    i64 key[MAX_WORDS + 1];
    if (!x->sums || !x->root) return;
    key_of(m, x, id, key);
    Node *n = x->root;
    while (!n->is_leaf) {
        int i = kid_of(x, n, key);
        added_in(x, sums_in(x, n, i), amounts, 0);
        n = *kid_in(x, n, i);
    }
    int at = slot_of(x, n, key);
    if (at < (int)n->count) added_in(x, sums_in(x, n, at), amounts, 1);
}

void tree_remove(Map *m, Tree *x, u32 id) {
    i64 key[MAX_WORDS + 1];
    i128 amounts[MAX_WORDS];
    Node *path[MAX_HEIGHT], *n = x->root;
    int at[MAX_HEIGHT], depth = 0;
    if (!n) return;
    key_of(m, x, id, key);
    for (; !n->is_leaf && depth < MAX_HEIGHT; n = *kid_in(x, n, at[depth]), depth++)
        path[depth] = n, at[depth] = kid_of(x, n, key);
    int slot = slot_of(x, n, key);
    if (!n->is_leaf || slot == (int)n->count || compared(x, key_in(x, n, slot), key)) return;
    for (int j = 0; j < x->sums; j++) amounts[j] = (i128)(-(u128)wide_in(sums_in(x, n, slot) + 2 * j));
    n->count--;
    moved(x, n, slot, n, slot + 1, (int)n->count - slot);
    while (depth--) {
        Node *above = path[depth], *kid = *kid_in(x, above, at[depth]);
        *total_in(x, above, at[depth]) -= 1;
        added_in(x, sums_in(x, above, at[depth]), amounts, 0);
        if (kid->count) with_key(x, above, at[depth], key_in(x, kid, 0));
        if (kid->count < SPARSE) mended(x, above, at[depth]);
    }
    while (!x->root->is_leaf && x->root->count == 1) {
        Node *root = x->root;
        x->root = *kid_in(x, root, 0), x->height--;
        given_back(x, root);
    }
    if (x->root->is_leaf && !x->root->count) x->was_negative = x->overflowed = 0;
}

/* ---- questions: of what is between two cuts ---- */

static int sum_up(const Tree *x, const Node *n, const i64 *low, const i64 *high, int measure, i128 *sum) {
    int inner = !n->is_leaf, first = 0, end = (int)n->count;
    if (low) first = inner ? kid_of(x, n, low) : slot_of(x, n, low);
    if (high) end = inner ? kid_of(x, n, high) + 1 : slot_of(x, n, high);
    for (int i = first; i < end; i++) {
        const i64 *from = low && i == first ? low : NULL, *to = high && i == end - 1 ? high : NULL;
        if (inner && (from || to)) {
            if (sum_up(x, *kid_in(x, n, i), from, to, measure, sum)) return OVERFLOWED;
            continue;
        }
        i128 amount = measure >= 0 ? wide_in(sums_in(x, n, i) + 2 * measure) : inner ? *total_in(x, n, i) : 1;
        if (__builtin_add_overflow(*sum, amount, sum)) return OVERFLOWED;
    }
    return DONE;
}

int tree_sum(const Tree *x, const i64 *low, const i64 *high, int measure, i128 *sum) {
    *sum = 0;
    if (x->overflowed) return OVERFLOWED;
    if (!x->root || (low && compared(x, low, high) >= 0)) return DONE;
    return sum_up(x, x->root, low, high, measure, sum);
}

static u32 id_in(const Tree *x, const Node *n, int i) { return (u32)key_in(x, n, i)[x->length]; }

static u32 first_from(const Tree *x, const Node *n, const i64 *low) {
    if (n->is_leaf) {
        int at = slot_of(x, n, low);
        return at < (int)n->count ? id_in(x, n, at) : 0;
    }
    int at = kid_of(x, n, low);
    u32 found = first_from(x, *kid_in(x, n, at), low);
    return found || at + 1 == (int)n->count ? found : id_in(x, n, at + 1);
}

static u32 last_below(const Tree *x, const Node *n, const i64 *high) {
    if (n->is_leaf) {
        int at = slot_of(x, n, high);
        return at ? id_in(x, n, at - 1) : 0;
    }
    int at = kid_of(x, n, high);
    u32 found = last_below(x, *kid_in(x, n, at), high);
    if (found || !at) return found;
    for (n = *kid_in(x, n, at - 1); !n->is_leaf;) n = *kid_in(x, n, (int)n->count - 1);
    return id_in(x, n, (int)n->count - 1);
}

u32 tree_edge(const Map *m, const Tree *x, const i64 *low, const i64 *high, int is_last) {
    i64 key[MAX_WORDS + 1];
    u32 id = !x->root ? 0 : is_last ? last_below(x, x->root, high) : first_from(x, x->root, low);
    if (!id) return 0;
    key_of(m, x, id, key);
    return compared(x, key, is_last ? low : high) * (is_last ? -1 : 1) < 0 ? id : 0;
}

u32 tree_next(const Map *m, const Tree *x, u32 id, const i64 *low, const i64 *high, int is_back) {
    i64 key[MAX_WORDS + 1];
    key_of(m, x, id, key);
    if (!is_back) key[x->length]++;
    return is_back ? tree_edge(m, x, low, key, 1) : tree_edge(m, x, key, high, 0);
}

/* ---- the key from which on a sum passes a test ---- */

/* Of the sums up to and with each slot: what is before the group counts too, and is taken off when asked. */
static void entered(Descent *d, const Node *n, i128 before) {
    const Tree *x = d->tree;
    d->node = n, d->before = before;
    for (int i = 0; i < (int)n->count; i++)
        d->upto[i] = before = (i128)((u128)before + (u128)wide_in(sums_in(x, n, i) + 2 * d->measure));
    d->low = n->is_leaf ? slot_of(x, n, d->from) : kid_of(x, n, d->from);
    d->high = n->is_leaf ? slot_of(x, n, d->to) - 1 : kid_of(x, n, d->to);
}

/* The sum to test next, with 0; with 1 the entry from which on it is otherwise; with 2, there is none. */
static int looked(Descent *d, i128 *sum, u32 *found) {
    while (d->low >= d->high) {
        const Node *n = d->node;
        if (n->is_leaf) {
            *found = d->low == d->high ? id_in(d->tree, n, d->low) : 0;
            d->node = NULL;
            return *found ? 1 : 2;
        }
        entered(d, *kid_in(d->tree, n, d->low), d->low ? d->upto[d->low - 1] : d->before);
    }
    d->middle = (d->low + d->high) / 2;
    *sum = (i128)((u128)d->upto[d->middle] - (u128)d->base);
    return 0;
}

int descent_begin(Descent *d, const Tree *x, const i64 *low, const i64 *high, int measure, i128 *sum, u32 *found) {
    size_t bytes = (size_t)(x->length + 1) * sizeof(i64);
    d->node = NULL, d->tree = x, d->measure = measure;
    if (!x->root || !x->root->count) return 2;
    d->base = 0;
    if (x->overflowed || sum_up(x, x->root, NULL, low, measure, &d->base)) return -1;
    memcpy(d->from, low, bytes), memcpy(d->to, high, bytes);
    entered(d, x->root, 0);
    return looked(d, sum, found);
}

int descent_next(Descent *d, int passes, i128 *sum, u32 *found) {
    if (!d->node) return 2;
    if (passes) d->high = d->middle;
    else d->low = d->middle + 1;
    return looked(d, sum, found);
}
