"""A process that edits a document until it is killed, and says what was acknowledged.

What must be in the file follows from how many updates are there: ``expected`` makes them on a plain tree.
"""

import sys
from pathlib import Path

from lxml import etree

import nestling as nl

TEXT = "<s><log/><items>" + "".join(f'<i id="{n}"><v>{n}</v></i>' for n in range(150)) + "</items></s>"
QUERIES = {
    "dear": "<r>{for $i in /s/items/i where $i/v >= 100 order by $i/v/text() return <x>{$i/v/text()}</x>}</r>",
    "copies": "<r>{/s/items/i[@kind]}</r>",
    "number": "count(/s/log/e)",
}


def update(number: int) -> str:
    """One update of several kinds: the log says how many there were."""
    log = f'insert node <e n="{number}"/> as last into /s/log'
    place = 1 + number * 7 % 50
    return [
        f"{log}, insert node <i kind='k'><v>{number + 90}</v></i> after /s/items/i[{place}]",
        f"{log}, replace value of node /s/items/i[{place}]/v with '{number}'",
        f"{log}, delete node /s/items/i[{place}]",
        f"{log}, insert nodes {'(' + ','.join(['<i><v>200</v></i>'] * 40) + ')'} before /s/items/i[{place}]",
        f"{log}, delete nodes /s/items/i[v = 200]",
        f"{log}, rename node /s/items/i[{place}] as 'j', insert node attribute kind {{ 1 }} into /s/items/i[60]"
        if number < 20
        else log,
    ][number % 6]


def expected(done: int) -> str:
    """The document after so many updates, by a database in memory."""
    db = nl.Database()
    document = db.document("d", TEXT)
    for number in range(1, done + 1):
        db.xquery(update(number))
    return document.xml()


def main(path: Path) -> None:
    db = nl.Database(path)
    if "d" not in db.documents:
        db.document("d", TEXT)
    for name, query in QUERIES.items():
        if name not in db.views:
            db.view(name, query, language="xquery")
    heard: list[object] = []
    db.views["dear"].subscribe(heard.append)
    done = len(etree.fromstring(db.document("d").xml()).findall("log/e"))
    sys.stdout.write("ready\n")
    while True:
        done += 1
        db.xquery(update(done))
        sys.stdout.write(f"{done}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
