"use strict";
/* The page of the whole job. */
(() => {
  const { ago, byId, count, feed, fill, nodeAddress, number, put, size, values } = Live;
  const PAGE = 15;
  const CALLED = { cooperative: "Cooperative", local: "Local-only", pooled: "Pooled" };
  let network = { names: [], edges: [] };
  let now = null;
  let curves = null;
  let first = 0;
  let order = [];
  let last = {};
  let redrawn = Promise.resolve();

  function figures({ figures: f }) {
    for (const key of ["samples", "lag", "round", "messages", "dead", "alarms"]) {
      put(`figure-${key}`, count(f[key]));
    }
    put("figure-rate", count(f.rate));
    put("figure-bytes", size(f.bytes));
    put("figure-memory", size(f.memory));
    put("figure-disagreement", number(f.disagreement));
  }

  /* Scores between which colours differ: all but the most extreme fiftieth. */
  function between(scores) {
    const known = scores.filter(Number.isFinite).sort((a, b) => a - b);
    if (!known.length) return [0, 1];
    const at = (share) => known[Math.round(share * (known.length - 1))];
    const [low, high] = [at(0.02), at(0.98)];
    return high > low ? [low, high] : [low - 0.5, high + 0.5];
  }

  function colour() {
    const one = Charts.drawn.get("chart-network");
    const { name, bigger } = Live.chosen(now);
    const scores = values(now.scores[name]);
    if (!one || scores.length !== network.names.length) return;
    nodesIn(scores, bigger);
    edgesIn();
  }

  function nodesIn(scores, bigger) {
    const [low, high] = between(scores);
    put("scale-good", `${number(bigger ? high : low)} better`);
    put("scale-bad", `${number(bigger ? low : high)} worse`);
    if (!isNews("nodes", scores.join())) return;
    feed("chart-network", "colours", { low: bigger ? -high : low, high: bigger ? -low : high });
    feed("chart-network", "nodes", { score: bigger ? scores.map((s) => -s) : scores, shown: scores });
  }

  function edgesIn() {
    const most = Math.max(1, ...now.bytes);
    const [least, wider, pale] = network.edges.length < 300 ? [0.8, 3, 0.65] : [0.3, 0.9, 0.4];
    const silent = now.ages.map((age) => Math.min(1, (age ?? 0) / 60));
    const width = now.bytes.map((bytes, i) => least + wider * Math.sqrt(bytes / most) + silent[i]);
    if (!isNews("edges", width.map((value) => value.toFixed(1)).join())) return;
    const alpha = silent.map((share) => pale + (1 - pale) * share);
    feed("chart-network", "edges", { age: values(now.ages), alpha, width });
  }

  /* A picture of many nodes is not painted again for what nobody could see. */
  function isNews(kind, said) {
    const fresh = last[kind] !== said;
    last[kind] = said;
    return fresh;
  }

  function sorted() {
    const { name, bigger } = Live.chosen(now);
    const scores = now.scores[name] || [];
    const wanted = byId("find").value.toLowerCase();
    const found = network.names.map((_, i) => i)
      .filter((i) => network.names[i].toLowerCase().includes(wanted));
    const badness = (i) => (scores[i] == null ? -Infinity : bigger ? -scores[i] : scores[i]);
    const silence = (i) => now.heard[i] ?? Infinity;
    const by = { worst: badness, silent: silence }[byId("order").value];
    return by ? found.sort((a, b) => (by(b) > by(a)) - (by(b) < by(a)) || a - b) : found;
  }

  function nodes({ again = false } = {}) {
    if (!now) return;
    // Rows do not move under a pointer or while one of them has the focus.
    const body = byId("nodes").tBodies[0];
    if (again || !(body.contains(document.activeElement) || body.matches(":hover"))) order = sorted();
    first = Math.max(0, Math.min(first, PAGE * Math.floor((order.length - 1) / PAGE)));
    const scores = now.scores[Live.chosen(now).name] || [];
    fill("nodes", order.slice(first, first + PAGE).filter((i) => i < network.names.length).map((i) => [
      { text: network.names[i], href: nodeAddress(network.names[i]) },
      number(scores[i]), count(now.samples[i]), count(now.rounds[i]), ago(now.heard[i]),
      now.notes[i] || "",
    ]));
    const last = Math.min(first + PAGE, order.length);
    put("shown", order.length ? `${count(first + 1)} to ${count(last)} of ${count(order.length)}` : "none");
    byId("back").disabled = first === 0;
    byId("next").disabled = last >= order.length;
  }

  function beside() {
    const names = now.metrics.map(([name]) => name);
    Live.head("beside", ["Learner", ...names]);
    const place = (name) => (Object.keys(CALLED).indexOf(name) + 9) % 9;
    const rows = Object.entries(now.beside).sort(([a], [b]) => place(a) - place(b));
    fill("beside", rows.map(([name, scores]) => [CALLED[name] || name, ...scores.map(number)]), now.known);
  }

  function tables() {
    fill("partitions", now.partitions.map((part) =>
      [part.name, count(part.offset), count(part.lag), ago(part.age), part.error || ""]), now.known);
    fill("letters", now.dead.map(({ reason, count: n, examples }) =>
      [reason, count(n), { list: examples.map(([place, detail]) => `${place}: ${detail}`) }]), now.known);
  }

  function lines() {
    if (!curves || !now) return;
    const { name } = Live.chosen(now);
    const drawn = [];
    const reached = curves.lines.cooperative?.x.at(-1) ?? Infinity;
    for (const [learner, line] of Object.entries(curves.lines)) {
      // Of what has run ahead of the network, as far as the network is.
      const x = line.x.filter((at) => at <= reached);
      const one = { x, y: values(line[name]).slice(0, x.length) };
      drawn.push(one);
      feed("chart-scores", learner, { ...one, name: one.x.map(() => CALLED[learner] || learner) });
    }
    const worst = Object.entries(curves.worst).map(([node, line]) => [node, { x: line.x, y: values(line[name]) }]);
    feed("chart-scores", "worst", {
      x: worst.map(([, one]) => one.x), y: worst.map(([, one]) => one.y), name: worst.map(([node]) => node),
    });
    Live.fit("chart-scores", [...drawn, ...worst.map(([, one]) => one)]);
    label(name);
    named(worst.map(([node]) => node));
  }

  function label(name) {
    if (name) feed("chart-scores", "axis", { axis_label: `${name} in the window` });
  }

  function named(names) {
    const place = byId("worst");
    if (!place || place.dataset.names === names.join("\n") || place.contains(document.activeElement)) return;
    place.dataset.names = names.join("\n");
    const links = names.flatMap((node, i) => {
      const link = Object.assign(document.createElement("a"), { href: nodeAddress(node), textContent: node });
      return i ? [", ", link] : [link];
    });
    place.replaceChildren(...(links.length ? links : ["none"]));
  }

  function apart() {
    let any = false;
    for (const [learner, { x, mean }] of Object.entries(curves.disagreement)) {
      any = true;
      feed("chart-disagreement", learner, { x, y: values(mean), name: x.map(() => CALLED[learner] || learner) });
    }
    if (byId("chart-disagreement-figure")) byId("chart-disagreement-figure").hidden = !any;
    for (const target of ["chart-scores", "chart-disagreement"]) Live.mark(target, curves.marks);
    if (now) Live.drifts(curves.marks, now.known);
  }

  function flow({ time, rate, lag }) {
    const zone = 60 * new Date().getTimezoneOffset();
    const x = time.map((at) => 1000 * (at - zone));
    feed("chart-rate", "rate", { x, y: values(rate), name: x.map(() => "samples a second") });
    feed("chart-lag", "lag", { x, y: values(lag), name: x.map(() => "records behind") });
    const place = byId("chart-lag-figure");
    if (place) place.hidden = lag.every((value) => value == null);
  }

  async function redraw(told) {
    Charts.drop("chart-network");
    if (told.names.join("\n") !== network.names.join("\n")) first = 0;
    network = told;
    last = {};
    const note = byId("undrawn");
    if (note) {
      note.hidden = told.drawn;
      byId("chart-network-figure").hidden = !told.drawn;
    }
    if (told.chart) {
      const { doc, spec } = await Charts.draw(told.chart);
      const chosen = doc.get_model_by_id(spec.sources.nodes).selected;
      chosen.properties.indices.change.connect(() => {
        if (chosen.indices.length) location.href = nodeAddress(network.names[chosen.indices[0]]);
      });
    }
    if (now) show(now);
  }

  function show(told) {
    now = told;
    Live.health(now);
    figures(now);
    Live.metrics(now, () => {
      show(now);
      lines();
      nodes({ again: true });
    });
    colour();
    nodes({ again: order.length !== network.names.length && !byId("find").value });
    beside();
    tables();
    if (curves) Live.drifts(curves.marks, now.known);
  }

  byId("find").addEventListener("input", () => { first = 0; nodes({ again: true }); });
  byId("order").addEventListener("change", () => { first = 0; nodes({ again: true }); });
  byId("tools").addEventListener("submit", (event) => event.preventDefault());
  byId("back").addEventListener("click", () => { first -= PAGE; nodes(); });
  byId("next").addEventListener("click", () => { first += PAGE; nodes(); });

  Live.begin({
    network: (told) => { redrawn = redrawn.then(() => redraw(told)); },
    now: (told) => { const fresh = !now; show(told); if (fresh) lines(); },
    curves: (told) => { curves = told; lines(); apart(); },
    flow,
  });
})();
