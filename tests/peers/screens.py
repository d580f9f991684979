"""Screens at which pages are looked at: their sizes in pixels, and texts that are hard to read on them."""

from __future__ import annotations

from typing import Any

SIZES = {"phone": (390, 844), "tablet": (820, 1180), "desk": (1440, 900)}

_CONTRASTS = """() => {
  const pen = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const paint = (colour, ground) => {  // a colour, which may be transparent, on another
    for (const c of [`rgb(${ground.join(',')})`, colour]) { pen.fillStyle = c; pen.fillRect(0, 0, 1, 1); }
    return [...pen.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const linear = (v) => v <= 0.04045 * 255 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4;
  const luminance = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const ground = (e) => {
    let found = [255, 255, 255];
    const around = [];
    for (let x = e; x; x = x.parentElement) around.unshift(x);
    for (const x of around) {
      found = paint(getComputedStyle(x).backgroundColor, found);
      const box = [...x.children].find((c) => c.matches('.box'));
      if (box) found = paint(getComputedStyle(box).fill, found);
    }
    return found;
  };
  const found = {};
  for (const e of document.body.querySelectorAll('*:not(script, style, title, option)')) {
    if (!e.checkVisibility({ opacityProperty: true }) || ![...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim())) continue;
    const { left, right } = e.getBoundingClientRect();
    if (right <= 0 || left >= innerWidth) continue;  // a drawer that is closed
    const svg = e instanceof SVGElement;
    const behind = ground(e.matches('.shape') ? e.closest('.graph') : e);  // it stands below its box
    const both = [luminance(paint(getComputedStyle(e)[svg ? 'fill' : 'color'], behind)), luminance(behind)].sort((a, b) => a - b);
    const name = `${e.tagName.toLowerCase()}.${e.getAttribute('class')}`;
    found[name] = Math.min(found[name] ?? 21, (both[1] + 0.05) / (both[0] + 0.05));
  }
  return found;
}"""


def faint_texts(page: Any, least: float) -> dict[str, float]:
    """Kinds of texts of a page whose contrast to what is behind them is less; that of WCAG 2.2, from 1 to 21, where 4.5 is enough."""
    return {name: ratio for name, ratio in page.evaluate(_CONTRASTS).items() if ratio < least}
