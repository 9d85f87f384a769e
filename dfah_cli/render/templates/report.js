"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const HEIGHT = 31, MARGIN = 12, PRINTED = 60;
  const ORDER = { "decision changed": 0, "flagged": 1, "not judged": 2, "stable": 3 };
  const body = byId("rows"), scroll = byId("scroll"), table = byId("table"), dialog = byId("dialog");
  const COLUMNS = [...table.tHead.querySelectorAll("th")].map((head) => head.dataset.key);
  const all = JSON.parse(byId("data").textContent);
  let shown = all, sortKey = null, descending = false, first = -1;

  const make = (tag, text, cls) => {
    const node = document.createElement(tag);
    if (text !== undefined) node.textContent = text;
    if (cls) node.className = cls;
    return node;
  };
  const told = ([letter, , decision, index]) => `replay ${index}: ${decision}, path ${letter}`;
  const strip = (row) => {
    const cell = make("td", undefined, "strip");
    for (const replay of row.strip.slice(0, 40)) {
      const [letter, place] = replay;
      const at = "ABCDEFGH".indexOf(letter);
      const mark = make("span", letter, "c v" + (letter === "×" ? "x" : at < 0 ? 7 : at) + " d" + Math.min(place, 5));
      mark.title = told(replay);
      cell.append(mark);
    }
    if (row.strip.length > 40) cell.append(make("span", "… " + row.strip.length));
    return cell;
  };
  const opener = (row) => {
    const open = make("button", row.id, "open");
    open.type = "button";
    open.addEventListener("click", () => explain(row));
    return open;
  };
  const line = (row, index) => {
    const tr = make("tr");
    tr.setAttribute("aria-rowindex", String(index + 2));
    for (const key of COLUMNS) {
      if (key === "strip") { tr.append(strip(row)); continue; }
      const cell = make(key === "id" ? "th" : "td", key === "id" ? undefined : row[key], key === "status" ? "s-" + row.status.replaceAll(" ", "-") : "");
      if (key === "id") {
        cell.scope = "row";
        cell.append(opener(row));
      } else cell.title = row[key];
      tr.append(cell);
    }
    return tr;
  };
  const space = (rows) => {
    const tr = make("tr", undefined, "space"), td = make("td");
    td.colSpan = COLUMNS.length;
    tr.setAttribute("aria-hidden", "true");
    td.style.height = rows * HEIGHT + "px";
    tr.append(td);
    return tr;
  };
  const draw = (force) => {
    const from = Math.max(0, Math.floor(scroll.scrollTop / HEIGHT) - MARGIN);
    if (!force && Math.abs(from - first) < MARGIN / 2) return;
    first = from;
    const to = Math.min(shown.length, from + Math.ceil(scroll.clientHeight / HEIGHT) + 2 * MARGIN + 6);
    const rows = [];
    if (from) rows.push(space(from));
    for (let i = from; i < to; i++) rows.push(line(shown[i], i));
    if (to < shown.length) rows.push(space(shown.length - to));
    body.replaceChildren(...rows);
  };
  // Paper cannot scroll: what deserves attention first, and how many more there are.
  const print = () => {
    const rows = shown.slice(0, PRINTED).map(line);
    if (shown.length > PRINTED) {
      const tr = make("tr"), td = make("td", `… ${shown.length - PRINTED} more cases`);
      td.colSpan = COLUMNS.length;
      tr.append(td);
      rows.push(tr);
    }
    body.replaceChildren(...rows);
  };
  const explain = (row) => {
    byId("d-title").textContent = row.id;
    byId("d-text").textContent = `task ${row.task} · ${row.status} · decision ${row.decision} · same path ${row.paths}${row.loose && row.loose !== "—" ? ` (${row.loose} where parallel calls may swap)` : ""} · kind ${row.kind} · ${row.parts}`;
    byId("d-tree").replaceChildren(...row.tree.map(([depth, steps, replays]) => {
      const item = make("li", undefined, "t" + Math.min(depth, 8));
      item.append(make("code", steps), " ", make("span", "replays " + replays, "who"));
      return item;
    }));
    byId("d-why").replaceChildren(...row.why.map((told) => make("li", told)));
    byId("d-replays").replaceChildren(...row.strip.map((cell) => make("li", told(cell))));
    dialog.showModal();
  };
  const value = (row) => sortKey === "strip" ? new Set(row.strip.map((cell) => cell[0])).size : sortKey === "status" ? ORDER[row.status] : row[sortKey];
  // The widest text of a column within its limits, in characters; without this the table would jump while it is scrolled.
  const LIMITS = { id: [8, 28], task: [6, 18], status: [10, 16], decision: [9, 30], strip: [9, 107], paths: [9, 9], loose: [9, 9], kind: [6, 21], parts: [9, 46] };
  const fit = () => {
    let total = 0;
    for (const head of table.tHead.querySelectorAll("th")) {
      const key = head.dataset.key, [least, most] = LIMITS[key];
      let widest = 0;
      for (const row of all) widest = Math.max(widest, key === "strip" ? 2.6 * Math.min(row.strip.length, 41) : row[key].length);
      const width = Math.min(most, Math.max(least, widest)) + 3;
      head.style.width = width + "ch";
      total += width;
    }
    table.style.minWidth = total + "ch";
  };
  const apply = () => {
    const text = byId("q").value.toLowerCase();
    const wanted = ["status", "task", "kind"].map((key) => [key, byId("f-" + key).value]).filter((pair) => pair[1]);
    shown = all.filter((row) => wanted.every(([key, want]) => row[key] === want) && (!text || row.search.includes(text)));
    if (sortKey) {
      const sign = descending ? -1 : 1;
      shown.sort((a, b) => { const x = value(a), y = value(b); return x < y ? -sign : x > y ? sign : 0; });
    }
    byId("count").textContent = shown.length === all.length ? `${all.length} cases` : `${shown.length} of ${all.length} cases`;
    table.setAttribute("aria-rowcount", String(shown.length + 1));
    scroll.scrollTop = 0;
    draw(true);
  };
  const start = () => {
    for (const row of all) row.search = [row.id, row.task, row.decision, row.kind, row.status, row.parts].join("\n").toLowerCase();
    for (const key of ["status", "task", "kind"]) {
      const values = [...new Set(all.map((row) => row[key]))].sort();
      byId("f-" + key).append(...values.map((text) => { const option = make("option", text); option.value = text; return option; }));
      byId("f-" + key).addEventListener("change", apply);
    }
    for (const head of table.tHead.querySelectorAll("th")) {
      const button = make("button", head.textContent);
      button.type = "button";
      button.addEventListener("click", () => {
        descending = sortKey === head.dataset.key && !descending;
        sortKey = head.dataset.key;
        for (const other of table.tHead.querySelectorAll("th")) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", descending ? "descending" : "ascending");
        apply();
      });
      head.replaceChildren(button);
    }
    const known = new Map(all.map((row) => [row.id, row]));
    for (const place of document.querySelectorAll("[data-case]")) {
      const row = known.get(place.dataset.case);
      if (row) place.replaceChildren(opener(row));
    }
    byId("q").addEventListener("input", apply);
    scroll.addEventListener("scroll", () => requestAnimationFrame(() => draw(false)), { passive: true });
    addEventListener("beforeprint", print);
    addEventListener("afterprint", () => draw(true));
    byId("tools").hidden = false;
    byId("static-trees").remove();
    fit();
    table.classList.add("live");
    apply();
  };
  start();
})();
