"use strict";
/* A node's own page. */
(() => {
  const { ago, byId, count, feed, fill, nodeAddress, number, put, size, values } = Live;
  let now = null;
  let curves = null;

  function lines() {
    if (!curves || !now) return;
    const { name } = Live.chosen(now);
    const drawn = Object.entries(curves.lines).map(([key, line]) => {
      const one = { x: line.x, y: values(line[name]) };
      feed("chart-scores", key, { ...one, name: one.x.map(() => (key === "node" ? "this node" : "network")) });
      return one;
    });
    Live.fit("chart-scores", drawn);
    if (name) feed("chart-scores", "axis", { axis_label: `${name} in the window` });
    Live.mark("chart-scores", curves.marks);
    Live.drifts(curves.marks, now.known);
  }

  function neighbours() {
    const { name } = Live.chosen(now);
    fill("neighbours", now.neighbours.map(([node, scores, age, messages, bytes]) => [
      { text: node, href: nodeAddress(node) }, number(scores[name]), ago(age), count(messages), size(bytes),
    ]), now.known);
  }

  function show(told) {
    now = told;
    Live.health(now);
    byId("gone").hidden = now.here;
    const f = now.figures;
    for (const key of ["samples", "round", "messages"]) put(`figure-${key}`, count(f[key]));
    put("figure-bytes", size(f.bytes));
    put("figure-heard", f.heard == null ? "–" : `${ago(f.heard)} ago`);
    Live.metrics(now, () => { lines(); neighbours(); });
    fill("window", Object.entries(now.window).filter(([, value]) => value != null)
      .map(([name, value]) => [name, number(value)]), now.known);
    fill("measures", Object.entries(now.measures)
      .map(([name, value]) => [name, number(value), now.meanings[name] || ""]), now.known);
    neighbours();
    if (curves) Live.drifts(curves.marks, now.known);
  }

  Live.begin({
    now: (told) => { const fresh = !now; show(told); if (fresh) lines(); },
    curves: (told) => { curves = told; lines(); },
  });
})();
