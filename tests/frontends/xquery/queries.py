"""Random queries over the fragment of XQuery that views are written in, and random documents and updates for them.

Documents have elements ``c`` (with attributes ``id`` and ``d``, a day, or none), in them ``n`` (a word), ``p`` (a
number), ``k`` (mixed content) and further ``c``; everything may be missing or there several times.
"""

from __future__ import annotations

from random import Random

WORDS = ("ann", "bob", "cyd", "")


class Queries:
    """Draws queries; ``vars`` holds the variables that are bound to elements ``c`` or to other nodes."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.names = 0
        #: Whether names have namespaces, in the document, the query and the updates.
        self.is_spaced = seed % 4 == 3
        self.prolog = (
            'declare default element namespace "urn:d"; declare namespace q = "urn:q"; '
            if self.is_spaced
            else ""
        )

    def pick(self, *choices):
        return self.random.choice(choices)

    def fresh(self) -> str:
        self.names += 1
        return f"$v{self.names}"

    # -- documents

    def document(self) -> str:
        root = '<s xmlns="urn:d" xmlns:q="urn:o">' if self.is_spaced else "<s>"
        return f"{root}{''.join(self.element(2) for _ in range(self.random.randrange(1, 6)))}</s>"

    def element(self, depth: int) -> str:
        content = []
        for _ in range(self.random.randrange(5)):
            kind = self.pick("n", "n", "p", "p", "k", "c")
            if kind == "c" and depth:
                content.append(self.element(depth - 1))
            elif kind == "k":
                content.append(f"<k>{self.pick(*WORDS)} <n>{self.pick(*WORDS)}</n> x</k>")
            elif kind != "c":
                content.append(
                    f"<{kind}>{self.pick(*WORDS) if kind == 'n' else self.random.randrange(5)}</{kind}>"
                )
        id_ = self.pick("", f' id="{self.random.randrange(4)}"', f' id="{self.random.randrange(4)}"')
        day = self.pick("", "", f' d="2001-0{self.random.randrange(1, 5)}-1{self.random.randrange(3)}"')
        if self.is_spaced:
            day += self.pick("", ' xmlns:q="urn:q" q:m="1"', ' xmlns:z="urn:z"', ' xmlns:q="urn:d"')
            content += self.pick("", "<e xmlns=''><n/></e>", "<z:e xmlns:z='urn:y' z:k='2'/>")
        return f"<c{id_}{day}>{''.join(content)}</c>"

    def update(self) -> str:
        target = f"({self.pick('//c', '//n', '//p', '/s/c', '//k')})[{self.random.randrange(1, 5)}]"
        where = self.pick("before", "after", "as first into", "as last into")
        new = self.pick(self.element(1), "<p>3</p>", "<n>eve</n>", "<k>a<n>b</n></k>")
        change = self.pick(
            f"delete node {target}",
            f"insert node {new} {where} {target}",
            f"replace node {target} with {new}",
            f'rename node {target} as "{self.pick("c", "n", "k")}"',
            f'replace value of node {target} with "{self.random.randrange(5)}"',
            f'(delete node {target}/@id, insert node attribute id {{ "2" }} into (//c[not(@id)])[1])',
        )
        return f"{self.prolog}if ({target}[not(self::s)] and (//c[not(@id)])[1]) then {change} else ()"

    # -- queries

    def query(self) -> str:
        body = ", ".join(self.item({}, 2) for _ in range(self.random.randrange(1, 3)))
        if not self.is_spaced:
            return f"<r>{{{body}}}</r>"
        start, end = self.pick(
            ("<r>", "</r>"), ('<q:r xmlns:a="urn:a">', "</q:r>"), ('<r xmlns:q="urn:e">', "</r>")
        )
        return f"{self.prolog}{start}{{{body}}}{end}"

    def path(self, scope: dict[str, str], kinds: str = "cnpk") -> tuple[str, str]:
        """A path to nodes of a kind."""
        kind = self.random.choice(kinds)
        bound = [name for name, of in scope.items() if of == "c"]
        if bound and self.random.randrange(3):
            start = self.pick(*bound)
            text = self.pick(
                f"{start}/{kind}", f"{start}/{kind}", f"{start}//{kind}", self.aside(start, kind)
            )
        else:
            text = self.pick(f"/s/c/{kind}", f"//{kind}", f"/s//{kind}", f"/s/c//{kind}", f"/s/*/{kind}")
            if kind == "c":
                text = self.pick("/s/c", "/s/c", "//c", "/s/c/c", "/s//c")
        return text + self.predicate(scope, kind), kind

    def aside(self, start: str, kind: str) -> str:
        """A path to siblings, or to what is above."""
        steps = [f"following-sibling::{kind}", f"preceding-sibling::{kind}", f"*/parent::c/{kind}"]
        steps += (
            [f"ancestor::c/{kind}", f"ancestor-or-self::c/{kind}"]
            if kind != "c"
            else ["ancestor::c", "parent::c"]
        )
        return f"{start}/{self.pick(*steps)}"

    def predicate(self, scope: dict[str, str], kind: str) -> str:
        if self.random.randrange(3):
            return ""
        tests = ["[1]", "[last()]", "[2]", "[position() <= 2]", "[position() > 1]"]
        if kind == "c":
            tests += [
                '[@id = "1"]',
                "[@id]",
                "[n]",
                "[p > 2]",
                "[not(p)]",
                "[count(p) > 1]",
                "[p = 2 or n]",
                "[c][1]",
                "[p[1] > 1]",
            ]
        if kind == "p":
            tests += ["[. > 1]", "[. = (1, 3)]"]
        if kind in "nk":
            tests += ['[. = "ann"]', '[contains(., "o")]']
        return self.pick(*tests)

    def values(self, scope: dict[str, str]) -> str:
        """A sequence of values that are texts or numbers."""
        bound = [name for name, of in scope.items() if of == "c"]
        if bound and self.random.randrange(2):
            return self.pick(*(f"{name}/@id" for name in bound), *(f"{name}/n" for name in bound))
        return self.path(scope, "n")[0]

    def numbers(self, scope: dict[str, str]) -> str:
        return self.path(scope, "p")[0]

    def condition(self, scope: dict[str, str], depth: int = 2) -> str:
        if depth and not self.random.randrange(4):
            left, right = self.condition(scope, depth - 1), self.condition(scope, depth - 1)
            return self.pick(f"({left} and {right})", f"({left} or {right})", f"not({left})")
        if depth and not self.random.randrange(5):
            path, kind = self.path(scope, "cp")
            name = self.fresh()
            inner = (
                self.condition({**scope, name: kind}, 0)
                if kind == "c"
                else f"{name} > {self.random.randrange(4)}"
            )
            return f"({self.pick('some', 'every')} {name} in {path} satisfies {inner})"
        sign = self.pick("=", "!=", "<", ">=", ">", "<=")
        return self.pick(
            f"{self.numbers(scope)} {sign} {self.random.randrange(4)}",
            f"{self.numbers(scope)} {sign} {self.numbers(scope)} + 0",
            f'{self.values(scope)} {self.pick("=", "!=")} "{self.pick(*WORDS)}"',
            f"{self.values(scope)} = {self.values(scope)}",
            f"{self.pick('exists', 'empty')}({self.path(scope)[0]})",
            f"count({self.path(scope)[0]}) {sign} {self.random.randrange(3)}",
            f"{self.path(scope)[0]}",
            f"not({self.values(scope)} = {self.values(scope)})",
            f"sum({self.numbers(scope)}) {sign} 4",
            f"number(({self.values(scope)})[1]) {sign} {self.random.randrange(4)}",
            f'(/s/c/@d)[1] {sign} xs:date("2001-0{self.random.randrange(1, 5)}-11")',
        ).replace(" + 0", "")

    def grouped(self, scope: dict[str, str]) -> str:
        path, kind = self.path(scope, "cccnp")
        name, key = self.fresh(), self.fresh()
        by = (
            self.pick(f"{name}/@id", f"string({name}/@d)", f"count({name}/p)")
            if kind == "c"
            else f"string({name})"
        )
        where = f"where {self.condition({**scope, name: kind}, 0)} " if not self.random.randrange(3) else ""
        made = self.pick(f"count({name})", f"{name}/text()", name, f'string-join({name}, "|")')
        return (
            f"for {name} in {path} {where}group by {key} := {by} order by {key} {self.pick('', 'descending')}"
            f' return <g k="{{{key}}}">{{{made}}}</g>'
        )

    def flwor(self, scope: dict[str, str], depth: int) -> str:
        path, kind = self.path(scope, "ccccnpk")
        name = self.fresh()
        inner = {**scope, name: kind}
        parts = [f"for {name} in {path}"]
        if not self.random.randrange(5):
            path, other = self.path(inner, "cnp")
            parts.append(f"for {self.fresh()} in {path}")
            inner[f"$v{self.names}"] = other
        if not self.random.randrange(4):
            let = self.fresh()
            parts.append(f"let {let} := {self.path(inner)[0]}")
            inner[let] = "let"
        if self.random.randrange(2):
            parts.append(f"where {self.condition(inner)}")
        if not self.random.randrange(4):
            key = (
                f"count({self.path(inner)[0]})"
                if kind != "c"
                else self.pick(f"{name}/@id", f"count({name}/p)")
            )
            parts.append(
                f"order by {key} {self.pick('', 'descending')} {self.pick('', 'empty greatest', 'empty least')}"
            )
        return f"{' '.join(parts)} return {self.item(inner, depth)}"

    def item(self, scope: dict[str, str], depth: int) -> str:
        choices = [
            self.path(scope)[0],
            f"count({self.path(scope)[0]})",
            f"sum({self.numbers(scope)})",
            self.made(scope, 0),
        ]
        choices += [
            *scope,
            f"string-length(string(count({self.path(scope)[0]})))",
            f"data({self.values(scope)})",
        ]
        choices += [f"{self.path(scope)[0]}/text()", f"{self.pick('min', 'max')}({self.numbers(scope)})"]
        choices += [f"distinct-values({self.pick('/s/c/n', '//p', '/s/c/@id')})"]
        name = self.fresh()
        choices += [
            f"number(({self.values(scope)})[1])",
            f'string-join({self.values(scope)}, "{self.pick(", ", "", "-")}")',
            f"avg(for {name} in {self.path(scope)[0]} return string-length({name}))",
            f"{self.pick('min', 'max')}(for {name} in //c[@d] return xs:date({name}/@d))",
            f"switch (count({self.path(scope)[0]})) case 0 return {self.numbers(scope)} case 1 case 2 return <few/>"
            f" default return {self.path(scope)[0]}",
            self.grouped(scope),
        ]
        choices += [f"<x>{{{name}/@*, 1}}</x>" for name, of in scope.items() if of == "c"]
        left, right = self.path(scope)[0], self.path(scope)[0]
        choices += [
            f"({left} {self.pick('union', 'intersect', 'except')} {right})",
            f"({left})[{self.random.randrange(1, 4)}]",
        ]
        if depth:
            choices += [self.flwor(scope, depth - 1)] * 6 + [self.made(scope, depth - 1)] * 3
            choices += [f"({self.item(scope, depth - 1)}, {self.item(scope, depth - 1)})"]
            choices += [f"if ({self.condition(scope)}) then {self.item(scope, 0)} else {self.item(scope, 0)}"]
        return self.pick(*choices)

    def made(self, scope: dict[str, str], depth: int) -> str:
        attribute = f' k="{{{self.values(scope)}}}"' if self.random.randrange(2) else ""
        content = f"{{{self.item(scope, depth)}}}" if self.random.randrange(4) else "text"
        if not self.is_spaced:
            return f"<x{attribute}>{content}</x>"
        tag = self.pick("x", "q:x", "z:x")
        declared = ' xmlns:z="urn:z"' if tag == "z:x" else self.pick("", "", ' xmlns:q="urn:w"')
        extra = ' q:l="1"' if not self.random.randrange(4) else ""
        return f"<{tag}{declared}{attribute}{extra}>{content}</{tag}>"
