"""The style sheet of a page: one column on phones, light and dark colours, and rules for print."""

STYLE = """
:root { color-scheme: light dark; --paper: #fff; --card: #f4f6f8; --ink: #1b1f24; --soft: #4d5660; --rule: #d0d7de;
  --blue: #0b5cad; --orange: #a8400a; --pale: #dfe9f4; --rail: #e3e7eb; --good: #176f2c; --bad: #b3161e; }
@media (prefers-color-scheme: dark) { :root { --paper: #10151a; --card: #1a2128; --ink: #e8ebee; --soft: #aab4be;
  --rule: #3a444e; --blue: #74b6ff; --orange: #ffa366; --pale: #1f3145; --rail: #2b343d; --good: #6fd388;
  --bad: #ff8f8f; } }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif; }
header, main, footer, nav { max-width: 62rem; margin: 0 auto; padding: 0 1rem; }
header { padding-top: 1.5rem; }
h1 { font-size: 1.75rem; line-height: 1.2; margin: 0 0 .5rem; overflow-wrap: break-word; }
h2 { font-size: 1.3rem; line-height: 1.3; margin: 2.5rem 0 .5rem; padding-top: .75rem;
  border-top: 1px solid var(--rule); }
h3 { font-size: 1.05rem; margin: 1.25rem 0 .25rem; }
p, li, dd, figcaption { max-width: 42rem; overflow-wrap: anywhere; }
p { margin: .5rem 0; }
a { color: var(--blue); }
a:focus-visible, [tabindex]:focus-visible, summary:focus-visible { outline: 3px solid var(--orange);
  outline-offset: 2px; }
.skip { position: absolute; left: -100rem; }
.skip:focus { left: 1rem; top: .5rem; padding: .5rem 1rem; background: var(--paper); }
.soft, figcaption, .note { color: var(--soft); }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr)); gap: .75rem; margin: 1rem 0;
  padding: 0; list-style: none; }
.cards li { background: var(--card); border: 1px solid var(--rule); border-radius: .5rem; padding: .75rem; }
.cards b { display: block; font-size: 1.5rem; line-height: 1.25; font-variant-numeric: tabular-nums; }
.verdict { border-left: .3rem solid var(--soft); background: var(--card); padding: .6rem .9rem; margin: 1rem 0;
  max-width: none; }
.verdict.good { border-color: var(--good); }
.verdict.bad { border-color: var(--bad); }
.verdict.good b { color: var(--good); }
.verdict.bad b { color: var(--bad); }
nav ul { display: flex; flex-wrap: wrap; gap: .25rem 1.1rem; padding: 0; margin: .75rem 0 0; list-style: none; }
nav a { display: inline-block; padding: .2rem 0; }
dl { display: grid; grid-template-columns: minmax(6.5rem, max-content) 1fr; gap: .3rem 1rem; margin: .75rem 0; }
dt { color: var(--soft); }
dd { margin: 0; }
.scroll { overflow-x: auto; margin: .75rem 0; max-width: 100%; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .95rem; }
caption { text-align: left; color: var(--soft); padding-bottom: .35rem; }
caption span { display: block; width: max-content; max-width: min(42rem, calc(100vw - 2rem)); }
th, td { text-align: left; vertical-align: top; padding: .3rem .9rem .3rem 0; border-bottom: 1px solid var(--rule); }
th { font-weight: 600; }
thead th { vertical-align: bottom; color: var(--soft); }
th[scope=row] { min-width: 7rem; max-width: 14rem; overflow-wrap: anywhere; }
th.short { min-width: 2rem; white-space: nowrap; }
.n { text-align: right; white-space: nowrap; }
.rows { padding: 0; list-style: none; }
.rows li { max-width: none; padding: .5rem 0; border-bottom: 1px solid var(--rule); }
.rows p { margin: 0; }
.values { max-width: none; font-size: .92rem; font-variant-numeric: tabular-nums; }
.values span { display: inline-block; margin-right: 1rem; }
.values i { font-style: normal; color: var(--soft); }
.bar { display: block; width: 8rem; height: .8rem; margin-top: .35rem; }
.bar rect { fill: var(--blue); }
.bar .rail { fill: var(--rail); }
figure { margin: .75rem 0; }
.walks { display: grid; grid-template-columns: repeat(auto-fit, minmax(17rem, 1fr)); gap: .5rem 1.5rem; }
.chart { display: block; width: 100%; height: auto; max-width: 34rem; }
.walks .chart { max-width: 24rem; }
.chart text { font-size: 12px; fill: var(--soft); font-family: inherit; paint-order: stroke;
  stroke: var(--paper); stroke-width: 3px; }
.chart .grid { stroke: var(--rule); stroke-width: 1; }
.chart .line { fill: none; stroke: var(--blue); stroke-width: 2.2; stroke-linejoin: round; }
.chart .later { fill: none; stroke: var(--blue); stroke-width: 1.4; stroke-dasharray: 2 4; }
.chart .dot { fill: var(--blue); }
.chart .chosen { fill: var(--orange); stroke: var(--paper); stroke-width: 1.5; }
.chart .chosen-line { stroke: var(--orange); stroke-width: 2; }
.chart .chosen-text, .chart .limit-text { fill: var(--orange); }
.chart .chosen-text { font-weight: 600; }
.chart .limit { stroke: var(--orange); stroke-width: 1.3; stroke-dasharray: 5 4; }
.chart .undecided { fill: var(--pale); }
.chart .edge { fill: none; stroke: var(--soft); stroke-width: 1; }
pre { background: var(--card); border: 1px solid var(--rule); border-radius: .4rem; padding: .6rem .8rem;
  overflow-x: auto; font-size: .88rem; line-height: 1.45; max-width: 100%; }
code { font-family: ui-monospace, "Cascadia Mono", Menlo, Consolas, "Liberation Mono", monospace; }
summary { cursor: pointer; color: var(--blue); padding: .2rem 0; }
footer { margin-top: 3rem; padding: 1rem; color: var(--soft); border-top: 1px solid var(--rule); font-size: .9rem; }
@media (max-width: 30rem) { .bar { width: 5rem; } th, td { padding-right: .6rem; } }
@media print {
  :root { color-scheme: light; --paper: #fff; --card: #fff; --ink: #000; --soft: #444; --rule: #bbb; --blue: #0b5cad;
    --orange: #a8400a; --pale: #dfe9f4; --rail: #e3e7eb; --good: #176f2c; --bad: #b3161e; }
  body { font-size: 10pt; }
  nav, .skip, summary { display: none; }
  details::details-content { content-visibility: visible; block-size: auto; }
  h2, h3, caption, thead { break-after: avoid; }
  figure, tr, li, pre, .verdict { break-inside: avoid; }
  .scroll, pre { overflow: visible; }
  table { font-size: 8pt; }
  th, td { padding: .15rem .5rem .15rem 0; }
  thead .n { white-space: normal; }
  caption span { max-width: 100%; }
  pre { white-space: pre-wrap; }
  .bar rect, .chart * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  .chart { max-width: 11cm; }
  .walks { grid-template-columns: repeat(3, 1fr); }
}
"""
