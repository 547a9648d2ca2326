"use strict";
(() => {
  function show(choice) {
    const metric = choice.slice(choice.indexOf(".") + 1);
    for (const { spec, doc } of Charts.drawn.values()) {
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

  async function begin() {
    for (const spec of Charts.read()) await Charts.draw(spec);
    const select = document.getElementById("metric");
    if (!select) return;
    select.addEventListener("change", () => show(select.value));
    if (select.value) show(select.value);
  }

  begin();
})();
