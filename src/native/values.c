/* Values as words of 64 bits. The order of the words is the order of the values, but for texts, bytes and labels.
 *
 *   i  int         itself
 *   b  bool        0 or 1
 *   d  date        year, month, day
 *   t  datetime    year to microsecond; without a time zone, and not the second of two equal ones
 *   p  timedelta   microseconds
 *   f  float       its bits, in order; one NaN; not -0.0, which equals 0.0
 *   s  str         by number
 *   y  bytes       by number
 *   l  label       by number
 *   A  decimal     without places; B: with one, in tenths; … Z. It has all places of its kind, no more and no fewer.
 */
#include "native.h"
#include <datetime.h>
#include <math.h>
#include <stdlib.h>

PyObject *Unfit = NULL, *Overflow = NULL;
static PyObject *the_nan = NULL, *no_value = NULL, *decimal = NULL;

#define DAY 86400000000LL
/* A NaN, above all numbers. */
#define NAN_WORD 0x7ff8000000000000ull

int values_ready(void) {
    PyDateTime_IMPORT;
    if (!PyDateTimeAPI) return FAILED;
    PyObject *module = PyImport_ImportModule("nestling.values.nan");
    if (!module) return FAILED;
    the_nan = PyObject_GetAttrString(module, "NAN");
    Py_DECREF(module);
    if (!(module = PyImport_ImportModule("nestling.errors"))) return FAILED;
    no_value = PyObject_GetAttrString(module, "NoValue");
    Py_DECREF(module);
    if (!(module = PyImport_ImportModule("decimal"))) return FAILED;
    decimal = PyObject_GetAttrString(module, "Decimal");
    Py_DECREF(module);
    return the_nan && no_value && decimal ? DONE : FAILED;
}

int is_kind(char kind) { return is_decimal(kind) || (kind && strchr("ibdtpfsyl", kind) != NULL); }

static int unfit(const char *why) {
    PyErr_SetString(Unfit, why);
    return FAILED;
}

static int encode_int(PyObject *value, i64 *word) {
    int overflow = 0;
    if (!PyLong_CheckExact(value)) return unfit("a value that is not the int that its column holds");
    *word = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow || *word == NIL) return unfit("an int beyond 64 bits");
    return DONE;
}

/* Digits, a point and an exponent, as a decimal is written. ``may_fill``: it may have fewer places. */
static int encode_decimal(PyObject *value, int places, int may_fill, i128 *word) {
    if ((PyObject *)Py_TYPE(value) != decimal) return unfit("a value that is not the Decimal that its column holds");
    PyObject *text = PyObject_Str(value);
    Py_ssize_t length;
    const char *at = text ? PyUnicode_AsUTF8AndSize(text, &length) : NULL;
    if (!at) {
        Py_XDECREF(text);
        return FAILED;
    }
    const char *end = at + length;
    int is_negative = *at == '-', after_point = 0;
    long has = 0;
    i128 number = 0;
    int beyond = 0;
    for (at += is_negative; at < end && *at != 'E'; at++) {
        if (*at == '.') {
            after_point = 1;
            continue;
        }
        if (*at < '0' || *at > '9') goto wrong; /* no number */
        beyond |= __builtin_mul_overflow(number, 10, &number) || __builtin_add_overflow(number, *at - '0', &number);
        has += after_point;
    }
    if (at < end) has -= strtol(at + 1, NULL, 10);
    if (has > places || (has < places && (!may_fill || places - has > 64)) || (is_negative && !number)) goto wrong;
    for (; has < places; has++) beyond |= __builtin_mul_overflow(number, 10, &number);
    if (beyond) goto wrong;
    Py_DECREF(text);
    *word = is_negative ? -number : number;
    return DONE;
wrong:
    Py_DECREF(text);
    return unfit("a decimal that is too large, or has not the places of its column");
}

static int encode_datetime(PyObject *value, i64 *word) {
    if (!PyDateTime_CheckExact(value)) return unfit("a value that is not the datetime that its column holds");
    if (PyDateTime_DATE_GET_TZINFO(value) != Py_None || PyDateTime_DATE_GET_FOLD(value))
        return unfit("a datetime with a time zone or a fold");
    i64 day = (PyDateTime_GET_YEAR(value) * 16LL + PyDateTime_GET_MONTH(value)) * 32 + PyDateTime_GET_DAY(value);
    i64 second = (PyDateTime_DATE_GET_HOUR(value) * 60LL + PyDateTime_DATE_GET_MINUTE(value)) * 60 +
                 PyDateTime_DATE_GET_SECOND(value);
    *word = day * DAY + second * 1000000 + PyDateTime_DATE_GET_MICROSECOND(value);
    return DONE;
}

static int encode_span(PyObject *value, i64 *word) {
    if (!PyDelta_CheckExact(value)) return unfit("a value that is not the timedelta that its column holds");
    i64 days = PyDateTime_DELTA_GET_DAYS(value);
    if (days < -100000000 || days > 100000000) return unfit("a timedelta of more than 100 million days");
    *word = days * DAY + PyDateTime_DELTA_GET_SECONDS(value) * 1000000LL + PyDateTime_DELTA_GET_MICROSECONDS(value);
    return DONE;
}

static int encode_float(PyObject *value, i64 *word) {
    if (!PyFloat_CheckExact(value)) return unfit("a value that is not the float that its column holds");
    double number = PyFloat_AS_DOUBLE(value);
    if (number == 0 && signbit(number)) return unfit("-0.0, which equals 0.0 and is written otherwise");
    u64 bits;
    memcpy(&bits, &number, sizeof bits);
    if (isnan(number)) bits = NAN_WORD;
    /* Of what is negative, less is more. */
    if (bits >> 63) bits ^= 0x7fffffffffffffffull;
    memcpy(word, &bits, sizeof bits);
    return DONE;
}

int has_place(char kind, i64 word) {
    if (kind != 'f' || word != (i64)NAN_WORD) return 1;
    PyErr_SetString(no_value, "nan has no place in an order");
    return 0;
}

int encode(Texts *t, char kind, PyObject *value, i64 *word) {
    if (value == Py_None) {
        *word = NIL;
        return DONE;
    }
    if (is_decimal(kind)) {
        i128 number;
        if (encode_decimal(value, kind - 'A', 0, &number)) return FAILED;
        *word = (i64)number;
        return number == *word && *word != NIL ? DONE : unfit("a decimal beyond 64 bits");
    }
    switch (kind) {
    case 'i': return encode_int(value, word);
    case 'b':
        if (!PyBool_Check(value)) return unfit("a value that is not the bool that its column holds");
        *word = value == Py_True;
        return DONE;
    case 'd':
        if (!PyDate_CheckExact(value)) return unfit("a value that is not the date that its column holds");
        *word = (PyDateTime_GET_YEAR(value) * 16LL + PyDateTime_GET_MONTH(value)) * 32 + PyDateTime_GET_DAY(value);
        return DONE;
    case 't': return encode_datetime(value, word);
    case 'p': return encode_span(value, word);
    case 'f': return encode_float(value, word);
    case 's':
        if (!PyUnicode_CheckExact(value)) return unfit("a value that is not the str that its column holds");
        return texts_number(t, kind, value, word);
    case 'y':
        if (!PyBytes_CheckExact(value)) return unfit("a value that is not the bytes that its column holds");
        return texts_number(t, kind, value, word);
    case 'l':
        if (!PyTuple_Check(value)) return unfit("a value that is not the label that its column holds");
        return texts_number(t, kind, value, word);
    }
    return unfit("a kind that there is not");
}

int encode_measure(Texts *t, char kind, PyObject *value, i128 *word) {
    if (!is_decimal(kind)) return encode_wide(t, kind, value, word);
    if (!PyLong_CheckExact(value))
        return encode_decimal(value, kind - 'A', 1, word) ? FAILED : *word == NIL ? unfit("the word of a null") : DONE;
    /* A sum begins with the int 0. */
    if (encode_wide(t, 'i', value, word)) return FAILED;
    for (int i = kind - 'A'; i--;)
        if (__builtin_mul_overflow(*word, 10, word)) return unfit("a decimal beyond 128 bits");
    return DONE;
}

/* The same as encode; an int and a decimal may have 128 bits. */
int encode_wide(Texts *t, char kind, PyObject *value, i128 *word) {
    i64 narrow;
    if (is_decimal(kind) && value != Py_None) {
        if (encode_decimal(value, kind - 'A', 0, word)) return FAILED;
        return *word == NIL ? unfit("a decimal that is the word of a null") : DONE;
    }
    if (kind != 'i' || !PyLong_CheckExact(value)) {
        if (encode(t, kind, value, &narrow)) return FAILED;
        *word = narrow;
        return DONE;
    }
    int overflow = 0;
    narrow = PyLong_AsLongLongAndOverflow(value, &overflow);
    *word = narrow;
    if (!overflow) return narrow == NIL ? unfit("an int that is the word of a null") : DONE;
    /* Of two's complement: what is above the lowest 64 bits, rounded down, and these. */
    PyObject *by = PyLong_FromLong(64), *high = by ? PyNumber_Rshift(value, by) : NULL;
    Py_XDECREF(by);
    if (!high) return FAILED;
    i64 above = PyLong_AsLongLongAndOverflow(high, &overflow);
    Py_DECREF(high);
    if (overflow) return unfit("an int beyond 128 bits");
    u64 below = PyLong_AsUnsignedLongLongMask(value);
    if (PyErr_Occurred()) return FAILED;
    *word = (i128)(((u128)(u64)above << 64) | below);
    return DONE;
}

int encode_row(Texts *t, const Map *m, PyObject *row, i64 *words) {
    if (!PyTuple_Check(row) || PyTuple_GET_SIZE(row) != m->columns)
        return unfit("a row that has not the columns of its table");
    for (int i = 0; i < m->columns; i++)
        if (encode(t, m->kind[m->place[i]], PyTuple_GET_ITEM(row, i), &words[m->place[i]])) return FAILED;
    return DONE;
}

PyObject *decode_int(i128 word) {
    if (word == (i64)word) return PyLong_FromLongLong((i64)word);
    PyObject *high = PyLong_FromLongLong((i64)(word >> 64)), *by = PyLong_FromLong(64), *moved = NULL, *whole = NULL;
    PyObject *low = PyLong_FromUnsignedLongLong((u64)word);
    if (high && by && low && (moved = PyNumber_Lshift(high, by))) whole = PyNumber_Or(moved, low);
    Py_XDECREF(high);
    Py_XDECREF(by);
    Py_XDECREF(low);
    Py_XDECREF(moved);
    return whole;
}

static PyObject *decode_datetime(i64 word) {
    i64 day = word / DAY, rest = word % DAY;
    int second = (int)(rest / 1000000), micro = (int)(rest % 1000000);
    return PyDateTime_FromDateAndTime((int)(day >> 9), (int)(day >> 5 & 15), (int)(day & 31), second / 3600,
                                      second / 60 % 60, second % 60, micro);
}

static PyObject *decode_span(i64 word) {
    i64 days = word / DAY, rest = word % DAY;
    if (rest < 0) days--, rest += DAY;
    return PyDelta_FromDSU((int)days, (int)(rest / 1000000), (int)(rest % 1000000));
}

static PyObject *decode_float(i64 word) {
    u64 bits = (u64)word;
    double number;
    if (bits >> 63) bits ^= 0x7fffffffffffffffull;
    memcpy(&number, &bits, sizeof number);
    return isnan(number) ? Py_NewRef(the_nan) : PyFloat_FromDouble(number);
}

static PyObject *decode_decimal(i128 word, int places) {
    char text[80], *at = text + sizeof text;
    u128 rest = word < 0 ? -(u128)word : (u128)word;
    *--at = 0;
    for (int i = 0; rest || i <= places; i++) {
        if (i == places && places) *--at = '.';
        *--at = (char)('0' + (int)(rest % 10)), rest /= 10;
    }
    if (word < 0) *--at = '-';
    return PyObject_CallFunction(decimal, "s", at);
}

PyObject *decode(const Texts *t, char kind, i128 word) {
    if (word == NIL) Py_RETURN_NONE;
    if (is_decimal(kind)) return decode_decimal(word, kind - 'A');
    switch (kind) {
    case 'i': return decode_int(word);
    case 'b': return PyBool_FromLong(word != 0);
    case 'd': return PyDate_FromDate((int)(word >> 9), (int)(word >> 5 & 15), (int)(word & 31));
    case 't': return decode_datetime((i64)word);
    case 'p': return decode_span((i64)word);
    case 'f': return decode_float((i64)word);
    }
    if (word > 0 && word < t->top && t->value[word]) return Py_NewRef(t->value[word]);
    PyErr_SetString(PyExc_SystemError, "a number that no text has");
    return NULL;
}

PyObject *decode_row(const Texts *t, const Map *m, const i64 *words) {
    PyObject *row = PyTuple_New(m->columns);
    for (int i = 0; row && i < m->columns; i++) {
        PyObject *value = decode(t, m->kind[m->place[i]], words[m->place[i]]);
        if (!value) Py_CLEAR(row);
        else PyTuple_SET_ITEM(row, i, value);
    }
    return row;
}
