"use strict";
(() => {
  const specs = JSON.parse(document.getElementById("charts").textContent);
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const drawn = [];

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
    for (const id of spec.axes) {
      const axis = model(id);
      axis.axis_label_text_color = ink("--muted");
      axis.major_label_text_color = ink("--muted");
      axis.axis_line_color = ink("--line");
      axis.major_tick_line_color = ink("--line");
    }
    for (const id of spec.grids) model(id).grid_line_color = ink("--line");
  }

  function show(choice) {
    const metric = choice.slice(choice.indexOf(".") + 1);
    for (const { spec, doc } of drawn) {
      for (const id of spec.switched) {
        const glyph = doc.get_model_by_id(id);
        if ("ys" in glyph.properties) glyph.ys = { field: choice };
        else glyph.y = { field: choice };
      }
      const wanted = spec.ranges[choice];
      if (wanted) {
        const [start, end] = wanted;
        doc.get_model_by_id(spec.range).setv({ start, end, reset_start: start, reset_end: end });
      }
      if (spec.axis) doc.get_model_by_id(spec.axis).axis_label = metric;
    }
  }

  async function draw() {
    for (const spec of specs) {
      const place = document.getElementById(spec.target);
      if (!place) continue;
      const before = Bokeh.documents.length;
      await Bokeh.embed.embed_item(spec.item, spec.target);
      const one = { spec, doc: Bokeh.documents[before] };
      drawn.push(one);
      paint(one);
    }
    const select = document.getElementById("metric");
    if (!select) return;
    select.addEventListener("change", () => show(select.value));
    if (select.value) show(select.value);
  }

  dark.addEventListener("change", () => drawn.forEach(paint));
  draw();
})();
