"use strict";
/* What both pages share: the stream of events, texts, tables, charts that are filled. */
const Live = (() => {
  const own = document.body.dataset;
  const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
  const byId = (id) => document.getElementById(id);

  function count(value) { return value == null ? "–" : whole.format(value); }

  function number(value) {
    if (value == null) return "–";
    if (value !== 0 && Math.abs(value) < 1e-4) return value.toExponential(1);
    return Math.abs(value) < 1e4 ? value.toFixed(4) : whole.format(value);
  }

  function size(value) {
    if (value == null) return "–";
    for (const [power, unit] of [[1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"]]) {
      if (value >= power) return `${(value / power).toFixed(1)} ${unit}`;
    }
    return `${whole.format(value)} B`;
  }

  function ago(seconds) {
    if (seconds == null) return "–";
    if (seconds < 100) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
    return seconds < 6000 ? `${whole.format(seconds / 60)} min` : `${whole.format(seconds / 3600)} h`;
  }

  function put(id, text) {
    const place = byId(id);
    if (place && place.textContent !== text) place.textContent = text;
  }

  /* Fills a table's body; a cell is a text, or {text, href}, or {list}. Rows stay in their places,
     so that what has the focus keeps it. That there are none is said only where that is known. */
  function fill(id, rows, known = true) {
    const body = byId(id).tBodies[0];
    while (body.rows.length > rows.length) body.deleteRow(-1);
    rows.forEach((cells, i) => {
      const row = body.rows[i] || body.insertRow();
      while (row.cells.length > cells.length) row.deleteCell(-1);
      cells.forEach((cell, k) => {
        let place = row.cells[k];
        if (!place) {
          place = document.createElement(k ? "td" : "th");
          if (!k) place.scope = "row";
          row.append(place);
        }
        write(place, cell);
      });
    });
    const none = byId(`no-${id}`);
    if (none) {
      none.hidden = rows.length > 0 || !known;
      byId(`some-${id}`).hidden = !rows.length;
    }
  }

  function write(place, cell) {
    if (cell.list) {
      const said = JSON.stringify(cell.list);
      if (place.dataset.said === said) return;
      place.dataset.said = said;
      const items = cell.list.map((text) => Object.assign(document.createElement("li"), { textContent: text }));
      const list = document.createElement("ul");
      list.append(...items);
      place.replaceChildren(list);
    } else if (cell.href) {
      let link = place.firstElementChild;
      if (!link) place.append(link = document.createElement("a"));
      if (link.textContent !== cell.text) link.textContent = cell.text;
      if (link.getAttribute("href") !== cell.href) link.href = cell.href;
    } else if (place.textContent !== cell) {
      place.textContent = cell;
    }
  }

  function head(id, names) {
    const row = byId(id).tHead.rows[0];
    while (row.cells.length > names.length) row.deleteCell(-1);
    names.forEach((name, k) => {
      let place = row.cells[k];
      if (!place) {
        row.append(place = document.createElement("th"));
        place.scope = "col";
      }
      if (place.textContent !== name) place.textContent = name;
    });
  }

  function nodeAddress(name) { return `/node/${encodeURIComponent(name)}`; }

  function health(now) {
    const badge = byId("state");
    badge.dataset.state = now.state;
    put("state", now.state);
    const list = byId("reasons");
    while (list.children.length > now.reasons.length) list.lastElementChild.remove();
    now.reasons.forEach((reason, i) => {
      const item = list.children[i] || list.appendChild(document.createElement("li"));
      if (item.textContent !== reason) item.textContent = reason;
    });
    // Numbers move on every second; only other news are worth reading out.
    const gist = [now.state, ...now.reasons].join(". ").replace(/[\d.,]+/g, "");
    if (badge.dataset.gist !== gist) {
      badge.dataset.gist = gist;
      put("told", [`Health is ${now.state}`, ...now.reasons].join(". "));
    }
  }

  function metrics(now, changed) {
    const select = byId("metric");
    const names = now.metrics.map(([name]) => name);
    if (select.dataset.names === names.join("\n")) return;
    select.dataset.names = names.join("\n");
    const chosen = select.value;
    select.replaceChildren(...names.map((name) => new Option(name, name)));
    if (names.includes(chosen)) select.value = chosen;
    select.onchange = changed;
  }

  function chosen(now) {
    const name = byId("metric").value;
    const found = now.metrics.find(([metric]) => metric === name);
    return found ? { name, bigger: found[1] } : { name: "", bigger: false };
  }

  const values = (column) => (column || []).map((value) => value ?? NaN);

  /* Charts out of sight are painted when they come into it. */
  const seen = new Set();
  const waiting = new Map();
  const watch = new IntersectionObserver((entries) => {
    for (const { target: { id }, isIntersecting } of entries) {
      if (!isIntersecting) seen.delete(id);
      else {
        seen.add(id);
        for (const [key, data] of waiting.get(id) || []) paint(id, key, data);
        waiting.delete(id);
      }
    }
  }, { rootMargin: "200px" });

  /* Gives a chart new columns of a source, or new properties of another of its models. */
  function feed(target, key, data) {
    if (seen.has(target)) paint(target, key, data);
    else waiting.set(target, (waiting.get(target) || new Map()).set(key, data));
  }

  function paint(target, key, data) {
    const one = Charts.drawn.get(target);
    const id = one && (one.spec.sources[key] || one.spec[key]);
    if (!id) return;
    const model = one.doc.get_model_by_id(id);
    if ("data" in model.properties) model.data = { ...model.data, ...data };
    else model.setv(data);
  }

  /* Keeps the beginning, whose heights would flatten the rest, from setting the y axis. */
  function fit(target, lines) {
    const far = Math.max(0, ...lines.map(({ x }) => x[x.length - 1] ?? 0));
    const known = [];
    for (const { x, y } of lines) {
      x.forEach((at, i) => { if (at >= 0.05 * far && Number.isFinite(y[i])) known.push(y[i]); });
    }
    if (!known.length) return;
    const low = known.reduce((a, b) => Math.min(a, b));
    const high = known.reduce((a, b) => Math.max(a, b));
    const margin = 0.05 * (high - low) || 0.5 * (Math.abs(low) || 1);
    feed(target, "range", { start: low - margin, end: high + margin });
  }

  function mark(target, marks) {
    for (const kind of ["begins", "ends"]) feed(target, `drift ${kind}`, marks[kind]);
  }

  function drifts(marks, known) {
    fill("drifts", marks.told.map(([round, since, what, errors]) =>
      [count(round), count(since), what, errors]), known);
  }

  /* Calls each handler with the newest event of its kind, once a frame, while the page is seen. */
  function connect(handlers) {
    const newest = new Map();
    let planned = false;
    let ended = false;
    let told = false;

    function work() {
      planned = false;
      if (document.hidden) return;
      const events = [...newest];
      newest.clear();
      for (const [name, data] of events) handlers[name](JSON.parse(data));
      told ||= events.some(([name]) => name === "now");
      if (ended) over();
    }
    function plan() {
      if (!planned && newest.size) {
        planned = true;
        requestAnimationFrame(work);
      }
    }
    function over() {
      say(`The job has ended${told ? "; this is how it was" : ""}`, "ended");
    }
    function say(text, link) {
      put("link", text);
      byId("link").dataset.link = link;
    }
    function open() {
      const stream = new EventSource(own.events);
      const again = (seconds) => {
        stream.close();
        setTimeout(open, 1000 * seconds);
      };
      stream.addEventListener("hello", ({ data }) => {
        if (JSON.parse(data) !== own.boot) location.reload();
        else {
          ended = false;
          say("Connected", "live");
        }
      });
      stream.addEventListener("ended", () => {
        ended = true;
        over();
        again(5);
      });
      stream.addEventListener("full", () => {
        say("Too many pages are open; trying again", "lost");
        again(10);
      });
      stream.addEventListener("error", () => {
        if (!ended) say("Not connected; trying again", "lost");
        again(2);
      });
      for (const name of Object.keys(handlers)) {
        stream.addEventListener(name, ({ data }) => {
          newest.set(name, data);
          plan();
        });
      }
    }
    document.addEventListener("visibilitychange", plan);
    open();
  }

  async function begin(handlers) {
    for (const spec of Charts.read()) await Charts.draw(spec);
    for (const place of document.querySelectorAll(".chart")) watch.observe(place);
    connect(handlers);
  }

  return {
    ago, begin, byId, chosen, count, drifts, feed, fill, fit, head, health, mark, metrics,
    nodeAddress, number, put, size, values,
  };
})();
