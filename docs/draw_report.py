#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Puts some pictures of a report into one, docs/report.svg, for README.md:

    scripts/run-example --device cpu
    cd build && default/bin/tessera-fit report example/model.json --y-scale own --out example/own.html
    ../docs/draw_report.py example/own.html ../docs/report.svg
"""
import re
import sys

TITLES = ["s(lcarat,", "s(depth,", "s(table,", "clarity", "color", "Quantiles of the residuals"]
COLUMNS = 3
WIDTH, HEIGHT, GAP = 360, 264, 24  # of one picture

page, out = sys.argv[1:]
with open(page, encoding="utf-8") as file:
    html = file.read()
style = re.search(r"<style>(.*?)</style>", html, re.S).group(1)
# Of the page's style what pictures need.
style = style[style.index("/* Of a picture") :]
pictures = re.findall(r"<svg .*?</svg>", html, re.S)

parts = []
for place, title in enumerate(TITLES):
    (picture,) = [one for one in pictures if f"<title>{title}" in one]
    x = place % COLUMNS * (WIDTH + GAP)
    y = place // COLUMNS * (HEIGHT + GAP)
    height = re.search(r'viewBox="0 0 \S+ (\S+)"', picture).group(1)
    parts.append(picture.replace("<svg ", f'<svg x="{x}" y="{y}" width="{WIDTH}" height="{height}" ', 1))

width = COLUMNS * (WIDTH + GAP) - GAP
height = (len(TITLES) // COLUMNS) * (HEIGHT + GAP) - GAP
with open(out, "w", encoding="utf-8") as file:
    file.write(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-8 0 {width + 16} {height + 8}">\n'
        "<!-- SPDX-License-Identifier: Apache-2.0; made by docs/draw_report.py -->\n"
        f"<style>\n:root {{ color-scheme: light dark; }}\n{style}</style>\n"
        f'<rect x="-8" width="{width + 16}" height="{height + 8}" fill="var(--paper)"/>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )
