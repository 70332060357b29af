/** A drawing of a part of the page, as an SVG document. */
export interface Drawing {
  svg: string;
  width: number;
  height: number;
}

/** The parts of a graph, from the lowest to the highest. */
const LAYERS = ["[data-heading]", ".react-flow__node-frame", ".react-flow__edge-path", ".react-flow__node:not(.react-flow__node-frame)", ".react-flow__edgelabel-renderer > *"];

/**
 * Draw the graph in an element of the page as shapes and texts.
 *
 * The browser has computed all positions, line breaks and colors. HTML inside an SVG would be shorter, but only browsers show it.
 */
export async function drawingOf(root: HTMLElement): Promise<Drawing> {
  const { width, height } = root.getBoundingClientRect();
  const { backgroundColor, fontFamily } = getComputedStyle(root);
  const pen = new Pen(root, fontFamily);
  const shapes = LAYERS.flatMap((layer) => [...root.querySelectorAll(layer)].map((element) => pen.draw(element, null)));
  const back = tag("rect", { width: "100%", height: "100%", ...paint("fill", backgroundColor) });
  const svg = tag("svg", { xmlns: "http://www.w3.org/2000/svg", width, height, viewBox: `0 0 ${width} ${height}`, "font-family": fontFamily }, `<style>${await typeface()}</style>${back}${shapes.join("")}`);
  return { svg, width, height };
}

/** Return a drawing as a PNG of twice its size, or less because of the browser's limits. */
export async function pngOf({ svg, width, height }: Drawing): Promise<Blob> {
  const scale = Math.min(2, 16_000 / Math.max(width, height), Math.sqrt(100_000_000 / (width * height)));
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
  const blob = await new Promise<Blob | null>((done) => canvas.toBlob(done, "image/png"));
  if (!blob) throw new Error("the canvas is too large");
  return blob;
}

/** Return the rules of the bundled typeface with its files inside, because a saved drawing loads nothing. */
async function typeface(): Promise<string> {
  const rules = [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules]).filter((rule) => rule instanceof CSSFontFaceRule);
  const embedded = rules.map(async ({ cssText, parentStyleSheet }) => {
    const url = /url\("(.*?)"\)/.exec(cssText)?.[1] ?? "";
    if (url.startsWith("data:")) return cssText;
    const file = await fetch(new URL(url, parentStyleSheet?.href ?? location.href));
    const bytes = Array.from(new Uint8Array(await file.arrayBuffer()), (byte) => String.fromCharCode(byte)).join("");
    return cssText.replace(url, `data:font/woff2;base64,${btoa(bytes)}`);
  });
  return (await Promise.all(embedded)).join("");
}

class Pen {
  private readonly origin: DOMRect;
  private readonly context = document.createElement("canvas").getContext("2d") as CanvasRenderingContext2D;

  constructor(root: Element, private readonly typeface: string) {
    this.origin = root.getBoundingClientRect();
  }

  /** Draw an element with everything in it; `clip` is the box that cuts its texts. */
  draw(element: Element, clip: DOMRect | null): string {
    const style = getComputedStyle(element);
    if (style.visibility === "hidden" || style.display === "none" || style.opacity === "0" || style.clipPath !== "none") return "";
    const shape = element instanceof SVGPathElement ? this.line(element, style) : element instanceof SVGElement ? this.icon(element, style) : this.html(element, style, clip);
    return style.opacity === "1" ? shape : tag("g", { opacity: style.opacity }, shape);
  }

  private html(element: Element, style: CSSStyleDeclaration, outer: DOMRect | null): string {
    const box = element.getBoundingClientRect();
    const clip = style.overflowX === "visible" ? outer : box;
    const texts = element instanceof HTMLInputElement ? [this.field(element, style, box)] : linesOf(element, clip).map((line) => this.text(line, style));
    return [...this.box(style, box), ...texts, ...[...element.children].map((child) => this.draw(child, clip))].join("");
  }

  /** Draw the sharp shadows, the background and the border of a box. */
  private box(style: CSSStyleDeclaration, box: DOMRect): string[] {
    const { width, height } = box;
    const [x, y] = [box.x - this.origin.x, box.y - this.origin.y];
    const radius = Math.min(parseFloat(style.borderTopLeftRadius), width / 2, height / 2);
    const around = (by: number) => ({ x: x - by, y: y - by, width: width + 2 * by, height: height + 2 * by, rx: Math.max(0, radius + by) });
    const shadows = [...style.boxShadow.matchAll(/(\w+\([^)]*\)) (\S+)px (\S+)px 0px (\S+)px/g)].map(([, color = "", right, down, spread]) =>
      tag("rect", { ...around(Number(spread)), ...paint("fill", color), transform: `translate(${right} ${down})` }),
    );
    const shapes = [...shadows.toReversed(), tag("rect", { ...around(0), ...paint("fill", style.backgroundColor) })];
    const [, band = "", end] = /^linear-gradient\((\w+\([^)]*\)) (\S+)px,/.exec(style.backgroundImage) ?? [];
    if (band) shapes.push(tag("path", { d: `M${x} ${y + Number(end)}V${y + radius}a${radius} ${radius} 0 0 1 ${radius} ${-radius}h${width - 2 * radius}a${radius} ${radius} 0 0 1 ${radius} ${radius}V${y + Number(end)}z`, ...paint("fill", band) }));
    const [top, right, bottom, left] = [style.borderTopWidth, style.borderRightWidth, style.borderBottomWidth, style.borderLeftWidth].map(parseFloat) as [number, number, number, number];
    if (right && bottom) shapes.push(tag("rect", { ...around(-top / 2), fill: "none", ...paint("stroke", style.borderTopColor), "stroke-width": top, "stroke-dasharray": style.borderTopStyle === "dashed" ? "5 4" : null }));
    else if (top) shapes.push(tag("rect", { x, y, width, height: top, ...paint("fill", style.borderTopColor) }));
    if (left > top) shapes.push(tag("rect", { x, y: y + radius, width: left, height: height - 2 * radius, ...paint("fill", style.borderLeftColor) }));
    return shapes;
  }

  private icon(element: SVGElement, style: CSSStyleDeclaration): string {
    const { x, y, width, height } = element.getBoundingClientRect();
    const { strokeWidth, strokeLinecap, strokeLinejoin } = style;
    const looks = { ...paint("fill", style.fill), ...paint("stroke", style.stroke), "stroke-width": strokeWidth, "stroke-linecap": strokeLinecap, "stroke-linejoin": strokeLinejoin };
    return tag("svg", { x: x - this.origin.x, y: y - this.origin.y, width, height, viewBox: element.getAttribute("viewBox"), ...looks }, element.innerHTML);
  }

  private line(element: SVGPathElement, { stroke, strokeWidth, strokeDasharray }: CSSStyleDeclaration): string {
    const { e = 0, f = 0 } = element.getScreenCTM() ?? {};
    return tag("path", { d: element.getAttribute("d"), transform: `translate(${e - this.origin.x} ${f - this.origin.y})`, fill: "none", ...paint("stroke", stroke), "stroke-width": strokeWidth, "stroke-dasharray": strokeDasharray === "none" ? null : strokeDasharray.replaceAll("px", "") });
  }

  /** Draw one line of text, as long as the browser's even if a viewer lacks the typeface. */
  private text({ text, left, right, top, end }: Line, style: CSSStyleDeclaration, color = style.color): string {
    const { fontWeight, fontSize, fontFamily } = style;
    const ascent = this.measure(text, style).fontBoundingBoxAscent;
    const kept = end === null ? text : this.cut(text, end - left);
    const length = end === null ? right - left : this.measure(kept, style).width;
    return tag("text", { x: left - this.origin.x, y: top - this.origin.y + ascent, textLength: length, lengthAdjust: "spacingAndGlyphs", "font-size": fontSize, "font-weight": fontWeight === "400" ? null : fontWeight, "font-family": fontFamily === this.typeface ? null : fontFamily, ...paint("fill", color) }, escaped(kept));
  }

  private measure(text: string, { fontWeight, fontSize, fontFamily }: CSSStyleDeclaration): TextMetrics {
    this.context.font = `${fontWeight} ${fontSize} ${fontFamily}`;
    return this.context.measureText(text);
  }

  /** Return the longest start of a text that fits into a width in the last measured font, with an ellipsis. */
  private cut(text: string, width: number): string {
    let count = text.length;
    while (count > 0 && this.context.measureText(`${text.slice(0, count)}…`).width > width) count--;
    return `${text.slice(0, count)}…`;
  }

  /** Draw the text of a field, which is no text of the document. */
  private field(element: HTMLInputElement, style: CSSStyleDeclaration, { x, y, height }: DOMRect): string {
    const text = element.value || element.placeholder;
    const left = x + parseFloat(style.paddingLeft) + parseFloat(style.borderLeftWidth);
    const { width, fontBoundingBoxAscent, fontBoundingBoxDescent } = this.measure(text, style);
    const top = y + (height - fontBoundingBoxAscent - fontBoundingBoxDescent) / 2;
    const color = element.value ? style.color : getComputedStyle(element, "::placeholder").color;
    return this.text({ text, left, right: left + width, top, end: null }, style, color);
  }
}

interface Line {
  text: string;
  left: number;
  right: number;
  top: number;
  /** The position at which the line is cut; null if it is complete. */
  end: number | null;
}

/** Return the visible lines of an element's own text. */
function linesOf(element: Element, clip: DOMRect | null): Line[] {
  const lines: Line[] = [];
  const range = document.createRange();
  for (const node of element.childNodes) {
    if (!(node instanceof Text)) continue;
    for (let place = 0; place < node.length; place++) {
      range.setStart(node, place);
      range.setEnd(node, place + 1);
      const { width, height, top, left, right } = range.getBoundingClientRect();
      const line = lines.at(-1);
      const letter = node.data.charAt(place);
      if (width === 0) continue;
      if (line && Math.abs(line.top - top) < height / 2) [line.text, line.right] = [line.text + letter, right];
      else lines.push({ text: letter, left, right, top, end: null });
    }
  }
  const seen = lines.filter(({ top }) => !clip || top < clip.bottom - 2);
  const last = seen.at(-1);
  if (clip) for (const line of seen) if (line.right > clip.right + 0.5 || (line === last && seen.length < lines.length)) line.end = clip.right;
  return seen;
}

/** Return a color as attributes that viewers other than browsers can show. */
function paint(name: "fill" | "stroke", color: string): Record<string, string | number | null> {
  const [red = 0, green = 0, blue = 0, alpha = 1] = (color.match(/\d[\d.]*(?:e-?\d+)?/g) ?? []).map(Number);
  if (color === "none" || alpha === 0) return { [name]: "none" };
  const scale = color.startsWith("color(") ? 255 : 1;
  return { [name]: `rgb(${[red, green, blue].map((part) => Math.round(part * scale)).join(", ")})`, [`${name}-opacity`]: alpha === 1 ? null : alpha };
}

/** Return an element of an SVG document; attributes that are null are left out. */
function tag(name: string, attributes: Record<string, string | number | null>, content = ""): string {
  const given = Object.entries(attributes).flatMap(([key, value]) => (value === null ? [] : `${key}="${escaped(typeof value === "number" ? String(Math.round(value * 100) / 100) : value)}"`));
  return `<${name} ${given.join(" ")}>${content}</${name}>`;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
