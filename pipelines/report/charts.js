"use strict";
/* Charts as Python made them: put into their places, coloured as the page is. */
const Charts = (() => {
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const drawn = new Map();
  if (window.Bokeh) Bokeh.set_log_level("error"); // empty charts are no news

  function ink(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  }

  function paint({ spec, doc }) {
    const model = (id) => doc.get_model_by_id(id);
    for (const [id, name] of Object.entries(spec.inks)) {
      const glyph = model(id);
      glyph.line_color = { value: ink(name) };
      if ("fill_color" in glyph.properties) glyph.fill_color = { value: ink(name) };
    }
    for (const [id, name] of Object.entries(spec.outlines)) {
      model(id).line_color = { value: ink(name) };
    }
    for (const id of spec.axes) {
      const axis = model(id);
      axis.axis_label_text_color = ink("--muted");
      axis.major_label_text_color = ink("--muted");
      axis.axis_line_color = ink("--line");
      axis.major_tick_line_color = ink("--line");
    }
    for (const id of spec.grids) model(id).grid_line_color = ink("--line");
  }

  async function draw(spec) {
    const place = document.getElementById(spec.target);
    if (!place) return null;
    place.replaceChildren();
    const before = Bokeh.documents.length;
    await Bokeh.embed.embed_item(spec.item, spec.target);
    const one = { spec, doc: Bokeh.documents[before] };
    drawn.set(spec.target, one);
    if (spec.square) {
      const [figure] = one.doc.roots();
      figure.height = Math.min(figure.height, place.clientWidth);
    }
    paint(one);
    return one;
  }

  function drop(target) {
    const one = drawn.get(target);
    if (!one) return;
    drawn.delete(target);
    one.doc.clear();
    const at = Bokeh.documents.indexOf(one.doc);
    if (at >= 0) Bokeh.documents.splice(at, 1);
  }

  function read() {
    const found = document.getElementById("charts");
    return found ? JSON.parse(found.textContent) : [];
  }

  dark.addEventListener("change", () => drawn.forEach(paint));
  return { draw, drop, drawn, ink, read };
})();
