"""An auction: a document of persons, items and bids, and XQuery views that follow every edit of it.

Run it with ``python examples/auction.py``, or on Spark with ``python examples/auction.py --engine spark``;
``nestling run examples/auction.py --out out`` writes its views.
"""

import sys
from tempfile import TemporaryDirectory

from nestling import Database

AUCTION = """
<site>
  <people><person id="p1"><name>Ada</name></person><person id="p2"><name>Ben</name></person></people>
  <open_auctions>
    <auction item="clock"><start>40</start><bid by="p1">45</bid></auction>
    <auction item="lamp"><start>10</start></auction>
  </open_auctions>
  <closed_auctions><sale item="map" buyer="p2"><price>60</price></sale></closed_auctions>
</site>"""

PRICES = """
    <prices>{
      for $a in doc("auction.xml")/site/open_auctions/auction
      return <item name="{$a/@item}" bids="{count($a/bid)}">{max(($a/start, $a/bid))}</item>
    }</prices>"""
BUYERS = """
    <buyers>{
      for $p in doc("auction.xml")/site/people/person
      let $bought := doc("auction.xml")/site/closed_auctions/sale[@buyer = $p/@id]
      where $bought
      order by $p/name
      return <buyer name="{$p/name}" spent="{sum($bought/price)}">{
        for $s in $bought return <item>{data($s/@item)}</item>
      }</buyer>
    }</buyers>"""


def build(db: Database) -> None:
    db.document("auction.xml", AUCTION, whitespace="strip")
    db.view("prices", PRICES, language="xquery")
    db.view("buyers", BUYERS, language="xquery")


def main(db: Database) -> None:
    build(db)
    auction, prices, buyers = db.document("auction.xml"), db.views["prices"], db.views["buyers"]
    for view in (prices, buyers):
        print(view.xml())
        view.subscribe(lambda change: print(f"  {change.view}: {change.to_xml_patch()}"))

    print("\nBen bids for the clock, Ada for the lamp")
    auction.at("//auction[@item = 'clock']").insert('<bid by="p2">55</bid>')
    auction.at("//auction[@item = 'lamp']").insert('<bid by="p1">12</bid>')

    print("\nthe clock is sold")
    db.xquery("""
        let $a := //auction[@item = "clock"]
        return (
          insert node <sale item="{$a/@item}" buyer="{$a/bid[last()]/@by}"><price>{max($a/bid)}</price></sale>
            as first into //closed_auctions,
          delete node $a
        )""")

    print("\n" + buyers.xml())
    db.verify()


def on_spark(folder: str) -> Database:
    """The same database in a folder, its work Spark's."""
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.master("local[2]").config("spark.log.level", "ERROR").getOrCreate()
    return Database(spark=spark, path=folder)


if __name__ == "__main__":
    if sys.argv[1:] == ["--engine", "spark"]:
        with TemporaryDirectory() as folder, on_spark(f"{folder}/lake") as lake:
            main(lake)
    else:
        main(Database())
