"""How a report looks: one style sheet for light and dark, and nothing fetched from anywhere."""

STYLE = """
:root {
  color-scheme: light dark;
  --page: #f7f6f3; --card: #fff; --ink: #23211d; --soft: #6b675f; --line: #e4e1d9; --code: #f3f1ec;
  --good: #1d7a4c; --fair: #9a6700; --poor: #b3382c; --mark: #2f5fb3; --bar: #8fb3e8;
  --good-bg: #e5f4ea; --fair-bg: #fdf3d8; --poor-bg: #fbe6e3;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #16181c; --card: #1f2228; --ink: #e6e4df; --soft: #9c9a94; --line: #32363e; --code: #191c21;
    --good: #63c793; --fair: #e0b04c; --poor: #f08a7e; --mark: #8db4f5; --bar: #3d5f96;
    --good-bg: #17301f; --fair-bg: #33290f; --poor-bg: #3a1d1a;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); }
body { font: 15px/1.5 system-ui, "Segoe UI", sans-serif; }
main { max-width: 68rem; margin: 0 auto; padding: 2rem 1.25rem 4rem; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0; letter-spacing: -.01em; }
h2 { font-size: 1.15rem; margin: 2.4rem 0 .7rem; }
h3 { font-size: .98rem; margin: 0; font-weight: 600; }
p { margin: .3rem 0; }
code, pre { font: 12.5px/1.55 ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; }
pre { margin: .4rem 0; padding: .65rem .8rem; background: var(--code); border-radius: 6px; overflow-x: auto; }
pre i { font-style: normal; }
.word { color: var(--mark); } .delta { color: var(--fair); } .text { color: var(--good); }
.soft, .note { color: var(--soft); }
.banner { border-radius: 12px; padding: 1.3rem 1.5rem; border-left: 6px solid; background: var(--card); }
.banner.good { border-color: var(--good); background: var(--good-bg); }
.banner.fair { border-color: var(--fair); background: var(--fair-bg); }
.banner.poor { border-color: var(--poor); background: var(--poor-bg); }
.verdict { font-size: 1.12rem; font-weight: 600; margin-top: .7rem; }
.good .verdict { color: var(--good); } .fair .verdict { color: var(--fair); }
.poor .verdict { color: var(--poor); }
.warnings { margin: .6rem 0 0; padding-left: 1.1rem; color: var(--poor); }
.glance { display: grid; gap: .7rem; margin-top: .9rem; }
.glance { grid-template-columns: repeat(auto-fit, minmax(8.5rem, 1fr)); }
.glance div, .card { background: var(--card); border: 1px solid var(--line); border-radius: 10px; }
.glance div { padding: .7rem .9rem; }
.glance b { display: block; font-size: 1.3rem; line-height: 1.3; font-variant-numeric: tabular-nums; }
.glance span { color: var(--soft); font-size: .82rem; }
.card { padding: .9rem 1.1rem; margin: .7rem 0; }
.card > header { display: flex; flex-wrap: wrap; gap: .4rem .8rem; }
.card > header { align-items: baseline; justify-content: space-between; }
.scroll { overflow-x: auto; background: var(--card); border: 1px solid var(--line); border-radius: 10px; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .55rem .8rem; border-bottom: 1px solid var(--line); }
tr:last-child > td { border-bottom: 0; }
th { font-size: .8rem; font-weight: 500; color: var(--soft); }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td p { font-size: .87rem; }
.bar { display: block; width: 7rem; height: 6px; margin: .45rem 0 0 auto; }
.bar { border-radius: 3px; background: var(--line); }
.bar span { display: block; height: 100%; border-radius: 3px; background: var(--bar); }
.chip, .badge { display: inline-block; border-radius: 5px; padding: .05rem .45rem; }
.chip, .badge { font-size: .78rem; white-space: nowrap; }
.chip { border: 1px solid var(--line); margin: 0 .3rem .3rem 0; color: var(--soft); }
.badge { font-weight: 600; background: var(--code); }
.probe { color: var(--good); } .slice, .range { color: var(--mark); } .scan { color: var(--poor); }
.reads .scan { color: var(--soft); }
.badge.good { background: var(--good-bg); color: var(--good); }
.badge.fair { background: var(--fair-bg); color: var(--fair); }
.badge.poor { background: var(--poor-bg); color: var(--poor); }
details { margin: .5rem 0; } summary { cursor: pointer; }
.card > details:first-child { margin: 0; }
summary > h2 { display: inline; } details:has(> summary > h2) { margin-top: 2.2rem; }
@media (max-width: 640px) {
  .stacked thead { display: none; }
  .stacked tr { display: block; padding: .5rem .8rem; border-bottom: 1px solid var(--line); }
  .stacked tr:last-child { border-bottom: 0; }
  .stacked td { display: block; border: 0; padding: .1rem 0; overflow-wrap: anywhere; }
  .stacked td.number { text-align: left; } .stacked .bar { margin-left: 0; }
  .stacked td[data-column]::before { content: attr(data-column) " "; color: var(--soft); }
}
.picture { padding: .6rem; } .program { display: block; width: 100%; min-width: 42rem; }
.program rect { fill: var(--code); stroke: var(--line); } .program .map rect { fill: var(--good-bg); }
.program .view rect { fill: var(--fair-bg); } .program text { font-size: 13px; fill: var(--ink); }
.program text.soft { font-size: 11px; fill: var(--soft); }
.program path { fill: none; stroke: var(--mark); stroke-width: 1.5; }
.program path.looked-up { stroke: var(--soft); stroke-dasharray: 4 4; }
"""
