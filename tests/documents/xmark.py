"""Auctions in the manner of XMark: a seeded generator of documents, the twenty queries, and random updates.

The element structure and the questions are those of the benchmark; names, words and texts are made here.
"""

from __future__ import annotations

from random import Random

WORDS = (
    "amber", "brass", "copper", "gold", "silver", "tin", "velvet", "linen", "oak", "pine", "ring", "bowl",
    "clock", "chair", "lamp", "mirror", "coin", "stamp", "map", "globe", "old", "new", "rare", "plain", "small",
    "large", "round", "square", "painted", "carved", "signed", "worn", "heavy", "light",
)  # fmt: skip
PLACES = ("Greece", "Norway", "Peru", "Kenya", "Japan", "Canada")
REGIONS = ("africa", "asia", "australia", "europe", "namerica", "samerica")


class Auctions:
    """A document of about ``factor`` × 100 MB."""

    def __init__(self, factor: float, seed: int = 1) -> None:
        self.random = Random(seed)
        self.items = max(6, int(21_750 * factor))
        self.people = max(8, int(25_500 * factor))
        self.opened = max(6, int(12_000 * factor))
        self.closed = max(6, int(9_750 * factor))
        self.categories = max(3, int(1_000 * factor))

    def text(self) -> str:
        return "".join(self.parts())

    def parts(self):
        yield "<site>\n<regions>\n"
        per = -(-self.items // len(REGIONS))
        number = 0
        for region in REGIONS:
            yield f"<{region}>\n"
            for _ in range(per):
                yield self.item(number)
                number += 1
            yield f"</{region}>\n"
        yield "</regions>\n<categories>\n"
        for each in range(self.categories):
            yield f'<category id="category{each}"><name>{self.words(2)}</name>{self.description()}</category>\n'
        yield "</categories>\n<catgraph>\n"
        for _ in range(self.categories):
            yield f'<edge from="{self.category()}" to="{self.category()}"/>\n'
        yield "</catgraph>\n<people>\n"
        for each in range(self.people):
            yield self.person(each)
        yield "</people>\n<open_auctions>\n"
        for each in range(self.opened):
            yield self.open_auction(each)
        yield "</open_auctions>\n<closed_auctions>\n"
        for _ in range(self.closed):
            yield self.closed_auction()
        yield "</closed_auctions>\n</site>\n"

    # -- parts

    def words(self, number: int) -> str:
        return " ".join(self.random.choice(WORDS) for _ in range(number))

    def one_in(self, number: int) -> bool:
        return self.random.randrange(number) == 0

    def category(self) -> str:
        return f"category{self.random.randrange(self.categories)}"

    def person_id(self) -> str:
        return f"person{self.random.randrange(self.people)}"

    def item_id(self) -> str:
        return f"item{self.random.randrange(self.items)}"

    def price(self) -> str:
        return f"{self.random.randrange(100, 20_000) / 100:.2f}"

    def date(self) -> str:
        r = self.random
        return f"{r.randrange(1, 13):02}/{r.randrange(1, 29):02}/{r.randrange(1998, 2002)}"

    def rich(self) -> str:
        """Mixed content."""
        kinds = ("", "keyword", "bold", "emph")
        parts = []
        for _ in range(self.random.randrange(1, 5)):
            kind, text = self.random.choice(kinds), self.words(self.random.randrange(2, 8))
            if kind == "emph" and self.one_in(3):
                text += f" <keyword>{self.words(2)}</keyword>"
            parts.append(f"<{kind}>{text}</{kind}>" if kind else text)
        return " ".join(parts)

    def description(self, deep: bool = False) -> str:
        if deep or self.one_in(4):
            inner = f"<parlist><listitem><text>{self.rich()}</text></listitem></parlist>"
            first = f"<text>a <emph>b <keyword>{self.words(2)}</keyword></emph> {self.words(2)}</text>"
            inner = (
                f"<parlist><listitem><parlist><listitem>{first}</listitem></parlist></listitem></parlist>"
                if deep
                else inner
            )
            return f"<description>{inner}</description>"
        return f"<description><text>{self.rich()}</text></description>"

    def item(self, number: int) -> str:
        mails = "".join(
            f"<mail><from>{self.words(2)}</from><to>{self.words(2)}</to><date>{self.date()}</date><text>{self.rich()}</text></mail>"
            for _ in range(self.random.randrange(3))
        )
        location = "" if self.one_in(12) else f"<location>{self.random.choice(PLACES)}</location>"
        return (
            f'<item id="item{number}">{location}<quantity>{self.random.randrange(1, 5)}</quantity>'
            f"<name>{self.words(2)}</name><payment>Cash</payment>{self.description()}<shipping>Worldwide</shipping>"
            f'<incategory category="{self.category()}"/><mailbox>{mails}</mailbox></item>\n'
        )

    def person(self, number: int) -> str:
        r = self.random
        interests = "".join(f'<interest category="{self.category()}"/>' for _ in range(r.randrange(4)))
        income = "" if self.one_in(3) else f' income="{r.randrange(900_000, 12_000_000) / 100:.2f}"'
        education = f"<education>{r.choice(('College', 'High School'))}</education>" if self.one_in(2) else ""
        gender = f"<gender>{r.choice(('male', 'female'))}</gender>" if self.one_in(2) else ""
        age = f"<age>{r.randrange(18, 80)}</age>" if self.one_in(2) else ""
        profile = f"<profile{income}>{interests}{education}{gender}<business>No</business>{age}</profile>"
        home = f"<homepage>http://example.org/~{number}</homepage>" if self.one_in(2) else ""
        card = f"<creditcard>{r.randrange(1000, 9999)}</creditcard>" if self.one_in(3) else ""
        street = (
            f"<address><street>{self.words(1)} {number}</street><city>{r.choice(WORDS)}</city>"
            f"<country>{r.choice(PLACES)}</country></address>"
        )
        return (
            f'<person id="person{number}"><name>{self.words(2)}</name><emailaddress>mailto:{number}@example.org'
            f"</emailaddress>{street if self.one_in(2) else ''}{home}{card}{'' if self.one_in(4) else profile}"
            f"<watches/></person>\n"
        )

    def bidder(self) -> str:
        return (
            f"<bidder><date>{self.date()}</date><time>{self.random.randrange(24):02}:00:00</time>"
            f'<personref person="{self.person_id()}"/>'
            f"<increase>{self.random.randrange(1, 20) * 1.5:.2f}</increase></bidder>"
        )

    def open_auction(self, number: int) -> str:
        bidders = "".join(self.bidder() for _ in range(self.random.randrange(5)))
        reserve = f"<reserve>{self.price()}</reserve>" if self.one_in(2) else ""
        return (
            f'<open_auction id="open_auction{number}"><initial>{self.price()}</initial>{reserve}{bidders}'
            f'<current>{self.price()}</current><itemref item="{self.item_id()}"/><seller person="{self.person_id()}"/>'
            f'<annotation><author person="{self.person_id()}"/>{self.description()}</annotation><quantity>1</quantity>'
            f"<type>Regular</type><interval><start>{self.date()}</start><end>{self.date()}</end></interval></open_auction>\n"
        )

    def closed_auction(self) -> str:
        return (
            f'<closed_auction><seller person="{self.person_id()}"/><buyer person="{self.person_id()}"/>'
            f'<itemref item="{self.item_id()}"/><price>{self.price()}</price>'
            f"<date>{self.date()}</date><quantity>1</quantity>"
            f'<type>Regular</type><annotation><author person="{self.person_id()}"/>{self.description(self.one_in(3))}'
            f"</annotation></closed_auction>\n"
        )


_DEEP = "annotation/description/parlist/listitem/parlist/listitem/text/emph/keyword"

#: The questions of XMark, each as one query over the document that ``/`` is.
QUERIES = {
    "Q1": "let $a := (/) return for $b in $a/site/people/person[@id = 'person0'] return $b/name/text()",
    "Q2": "for $b in /site/open_auctions/open_auction return <increase>{$b/bidder[1]/increase/text()}</increase>",
    "Q3": """
        for $b in /site/open_auctions/open_auction
        where zero-or-one($b/bidder[1]/increase/text()) * 2 <= $b/bidder[last()]/increase/text()
        return <increase first="{$b/bidder[1]/increase/text()}" last="{$b/bidder[last()]/increase/text()}"/>""",
    "Q4": """
        for $b in /site/open_auctions/open_auction
        where some $x in $b/bidder/personref[@person = "person3"], $y in $b/bidder/personref[@person = "person5"]
              satisfies $x << $y
        return <history>{$b/reserve/text()}</history>""",
    "Q5": "count(for $i in /site/closed_auctions/closed_auction where $i/price/text() >= 40 return $i/price)",
    "Q6": "for $b in //site/regions return count($b//item)",
    "Q7": "for $p in /site return count($p//description) + count($p//annotation) + count($p//emailaddress)",
    "Q8": """
        for $p in /site/people/person
        let $a := for $t in /site/closed_auctions/closed_auction where $t/buyer/@person = $p/@id return $t
        return <item person="{$p/name/text()}">{count($a)}</item>""",
    "Q9": """
        let $ca := /site/closed_auctions/closed_auction return let $ei := /site/regions/europe/item
        for $p in /site/people/person
        let $a := for $t in $ca
                  where $p/@id = $t/buyer/@person
                  return let $n := for $t2 in $ei where $t/itemref/@item = $t2/@id return $t2
                         return <item>{$n/name/text()}</item>
        return <person name="{$p/name/text()}">{$a}</person>""",
    "Q10": """
        for $i in distinct-values(/site/people/person/profile/interest/@category)
        let $p := for $t in /site/people/person
                  where $t/profile/interest/@category = $i
                  return <personne>
                      <statistiques><sexe>{$t/profile/gender/text()}</sexe><age>{$t/profile/age/text()}</age>
                          <education>{$t/profile/education/text()}</education>
                          <revenu>{data($t/profile/@income)}</revenu></statistiques>
                      <coordonnees><nom>{$t/name/text()}</nom><rue>{$t/address/street/text()}</rue>
                          <ville>{$t/address/city/text()}</ville><pays>{$t/address/country/text()}</pays>
                          <reseau><courrier>{$t/emailaddress/text()}</courrier>
                              <pagePerso>{$t/homepage/text()}</pagePerso></reseau></coordonnees>
                      <cartePaiement>{$t/creditcard/text()}</cartePaiement>
                  </personne>
        return <categorie>{<id>{$i}</id>, $p}</categorie>""",
    "Q11": """
        for $p in /site/people/person
        let $l := for $i in /site/open_auctions/open_auction/initial
                  where $p/profile/@income > 5000 * exactly-one($i/text())
                  return $i
        return <items name="{$p/name/text()}">{count($l)}</items>""",
    "Q12": """
        for $p in /site/people/person
        let $l := for $i in /site/open_auctions/open_auction/initial
                  where $p/profile/@income > 5000 * exactly-one($i/text())
                  return $i
        where $p/profile/@income > 50000
        return <items person="{$p/profile/@income}">{count($l)}</items>""",
    "Q13": 'for $i in /site/regions/australia/item return <item name="{$i/name/text()}">{$i/description}</item>',
    "Q14": """
        for $i in /site//item where contains(string(exactly-one($i/description)), "gold") return $i/name/text()""",
    "Q15": f"for $a in /site/closed_auctions/closed_auction/{_DEEP}/text() return <text>{{$a}}</text>",
    "Q16": f"""
        for $a in /site/closed_auctions/closed_auction
        where not(empty($a/{_DEEP}/text()))
        return <person id="{{$a/seller/@person}}"/>""",
    "Q17": """
        for $p in /site/people/person
        where empty($p/homepage/text())
        return <person name="{$p/name/text()}"/>""",
    "Q18": """
        declare function local:convert($v as xs:decimal?) as xs:decimal? { 2.20371 * $v };
        for $i in /site/open_auctions/open_auction return local:convert(zero-or-one($i/reserve))""",
    "Q19": """
        for $b in /site/regions//item let $k := $b/name/text()
        order by zero-or-one($b/location) ascending empty greatest
        return <item name="{$k}">{$b/location/text()}</item>""",
    "Q20": """
        <result>
            <preferred>{count(/site/people/person/profile[@income >= 100000])}</preferred>
            <standard>{count(/site/people/person/profile[@income < 100000 and @income >= 30000])}</standard>
            <challenge>{count(/site/people/person/profile[@income < 30000])}</challenge>
            <na>{count(for $p in /site/people/person where empty($p/profile/@income) return $p)}</na>
        </result>""",
}  # fmt: skip
