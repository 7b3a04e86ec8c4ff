// The least contrast of text against what is painted behind it, by class of element.
() => {
  const parse = (colour) => {
    const [r, g, b, a = 1] = colour.match(/[\d.]+/g).map(Number);
    return colour.startsWith("color(srgb") ? [r * 255, g * 255, b * 255, a] : [r, g, b, a];
  };
  const over = (top, under) => [0, 1, 2].map((i) => top[i] * top[3] + under[i] * (1 - top[3])).concat(1);
  const linear = (value) => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4);
  const luminance = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const behind = (element) => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) layers.unshift(parse(getComputedStyle(at).backgroundColor));
    return layers.reduce((under, layer) => over(layer, under), [255, 255, 255, 1]);
  };
  const least = {};
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement;
    const unseen = !texts.currentNode.data.trim() || !element.checkVisibility() || element.closest(".gone, noscript, svg");
    if (unseen || element.closest(":disabled")) continue;
    const ground = behind(element);
    const [dark, bright] = [over(parse(getComputedStyle(element).color), ground), ground].map(luminance).sort((a, b) => a - b);
    const ratio = Math.round(((bright + 0.05) / (dark + 0.05)) * 100) / 100;
    const name = `${element.tagName.toLowerCase()}.${element.className}`;
    least[name] = Math.min(ratio, least[name] ?? Infinity);
  }
  return least;
}
