"use strict";

// What the command tells of the batch, and what is shown of it. The page holds the rows that are visible
// and no others, so a batch of a hundred thousand is as light as one of ten.

const $ = (id) => document.getElementById(id);

const filters = [
  { label: "All", kinds: [] },
  { label: "In flight", kinds: ["in-flight", "pausing"] },
  { label: "Waiting", kinds: ["waiting"] },
  { label: "Done", kinds: ["done", "skipped"] },
  { label: "Failed", kinds: ["failed"] },
  { label: "Left", kinds: ["left"] },
];

const words = {
  waiting: "Waiting", "in-flight": "In flight", pausing: "Trying again soon", done: "Done",
  failed: "Failed", left: "Left",
  "already-done": "There already", unchanged: "Unchanged", collision: "Name is taken",
  duplicate: "Listed twice",
};

const gap = 12;
const overscan = 2;  // lines of tiles above and below what is visible
const tallest = 8e6;  // pixels: browsers make no element much taller

let status = null;
let filter = filters[0];
let held = { filter: null, version: -1, from: 0, rows: [] };
let isAsking = false;
let focused = 0;
let samples = [];
let lastNews = "";

// MARK: Talking to the command

function post(path, body) {
  return fetch(path, { method: "POST", body }).then(async (answer) => {
    if (!answer.ok) tell(await answer.text());
    return answer;
  }, () => tell("The command does not answer."));
}

function listen() {
  const events = new EventSource("events");
  events.onmessage = (event) => {
    status = JSON.parse(event.data);
    show();
  };
  events.onerror = () => { $("state").textContent = "The command does not answer; is it still running?"; };
}

/// Asks for the visible rows unless what is held of them is what they are now.
async function ask() {
  if (isAsking || !status) return;
  const wanted = visible();
  if (held.filter === filter && held.version >= status.version && covers(wanted)) return;
  isAsking = true;
  let failed = false;
  const kinds = filter.kinds.join(",");
  const asked = filter;
  try {
    const answer = await fetch(`rows?kinds=${kinds}&from=${wanted.from}&count=${wanted.to - wanted.from}`);
    const page = await answer.json();
    held = { filter: asked, version: page.version, from: page.from, rows: page.rows };
    draw();
  } catch {
    // The stream of events says that the command is gone.
    failed = true;
  }
  isAsking = false;
  // What has come into view is asked for at once, and what has changed in view not more often than that.
  if (held.filter !== filter || !covers(visible())) setTimeout(ask, failed ? 1000 : 0);
  else if (held.version < status.version) setTimeout(ask, 100);
}

function covers(wanted) {
  return held.from <= wanted.from && held.from + held.rows.length >= Math.min(wanted.to, count());
}

// MARK: The whole batch

const of = (...kinds) => kinds.reduce((sum, kind) => sum + (status.kinds[kind] ?? 0), 0);
const count = () => (filter.kinds.length ? of(...filter.kinds) : status?.rows ?? 0);
const isActive = () => of("waiting", "in-flight", "pausing") > 0;

function state() {
  if (status.isOver) return "Ended";
  if (!status.isStarted) return of("left") ? "Cancelled" : status.rows ? "Ready" : "Nothing to do yet";
  if (status.isPaused) return of("in-flight") ? "Paused; what is in flight goes on" : "Paused";
  if (isActive()) return "Downloading";
  return of("failed") ? "Done, but for what failed" : status.rows ? "All done" : "Nothing to do yet";
}

function show() {
  const over = of("done", "skipped", "failed");
  const text = state();
  $("state").textContent = text;
  document.title = `${over} of ${status.rows} – Batchwise`;
  $("progress").max = Math.max(1, status.rows);
  $("progress").value = over;
  $("summary").textContent = [
    `${number(of("done", "skipped"))} of ${number(status.rows)} done`,
    of("failed") ? `${number(of("failed"))} failed` : "",
    `${number(of("in-flight"))} in flight`,
    bytes(status.received),
    of("in-flight") ? `${bytes(rate())}/s` : "",
  ].filter(Boolean).join(" · ");

  const primary = $("primary");
  primary.textContent = !status.isStarted ? (over || of("left") ? "Start again" : "Download Batch")
    : status.isPaused ? "Resume" : "Pause";
  primary.dataset.command = !status.isStarted ? "start" : status.isPaused ? "resume" : "pause";
  primary.disabled = status.isOver || !status.isPaused && !isActive() && !of("left");
  $("cancel").disabled = status.isOver || !status.isStarted || !isActive();
  $("retry").hidden = status.isOver || !of("failed");
  $("retry").textContent = `Retry failed (${number(of("failed"))})`;
  $("add").disabled = status.isOver;
  if (document.activeElement !== $("limit")) {
    $("limit").max = Math.max(32, status.limit);
    $("limit").value = status.limit;
    $("limit-value").textContent = status.limit;
  }
  showTransfers();
  showFilters();
  layOut();
  const news = isActive() && status.isStarted && !status.isPaused ? "" : text;
  if (news && news !== lastNews) tell(`${text}. ${$("summary").textContent}`);
  lastNews = news;
}

function rate() {
  const now = performance.now();
  samples.push([now, status.received]);
  while (samples.length > 2 && now - samples[0][0] > 3000) samples.shift();
  const [time, received] = samples[0];
  return now > time ? Math.max(0, (status.received - received) * 1000 / (now - time)) : 0;
}

function tell(text) { $("news").textContent = text; }

function showTransfers() {
  const list = $("transfers");
  if (!status.transfers.length) {
    const nothing = part("li", "nothing");
    nothing.textContent = "Nothing is in flight.";
    list.replaceChildren(nothing);
    return;
  }
  list.querySelector(".nothing")?.remove();
  while (list.children.length > status.transfers.length) list.lastChild.remove();
  while (list.children.length < status.transfers.length) {
    const item = document.createElement("li");
    const bar = document.createElement("progress");
    bar.setAttribute("aria-hidden", "true");
    item.append(part("span", "name"), bar, part("span", "numbers"));
    list.append(item);
  }
  status.transfers.forEach((transfer, index) => {
    const [name, bar, numbers] = list.children[index].children;
    name.textContent = transfer.name;
    if (transfer.total) {
      bar.max = transfer.total;
      bar.value = transfer.received;
    } else {
      bar.removeAttribute("value");
    }
    numbers.textContent = `${bytes(transfer.received)}${transfer.total ? ` of ${bytes(transfer.total)}` : ""}`;
  });
}

function showFilters() {
  const bar = $("filters");
  if (!bar.children.length) {
    for (const choice of filters) {
      const button = document.createElement("button");
      button.onclick = () => {
        filter = choice;
        focused = 0;
        show();
      };
      bar.append(button);
    }
  }
  filters.forEach((choice, index) => {
    const button = bar.children[index];
    const total = choice.kinds.length ? of(...choice.kinds) : status.rows;
    button.textContent = `${choice.label} ${number(total)}`;
    button.setAttribute("aria-pressed", choice === filter);
    button.hidden = !total && choice !== filter && choice !== filters[0];
  });
}

// MARK: The tiles

/// How the tiles lie, by the width that there is.
function plan() {
  const width = $("grid").clientWidth;
  const columns = Math.max(2, Math.floor((width + gap) / (190 + gap)));
  const side = (width - gap * (columns - 1)) / columns;
  const height = Math.round(side * 0.75) + 64;
  const lines = Math.ceil(count() / columns);
  const full = Math.max(0, lines * (height + gap) - gap);
  return { columns, side, height, lines, full, shown: Math.min(full, tallest) };
}

/// How far the grid is scrolled, as if it were as tall as all of its lines.
function scrolled(layout) {
  const top = Math.max(0, -$("grid").getBoundingClientRect().top);
  const room = layout.shown - window.innerHeight;
  return layout.full > layout.shown && room > 0 ? top * (layout.full - window.innerHeight) / room : top;
}

/// The rows that are visible, and some lines around them.
function visible() {
  const layout = plan();
  const line = layout.height + gap;
  const first = Math.max(0, Math.floor(scrolled(layout) / line) - overscan);
  const last = Math.ceil((scrolled(layout) + window.innerHeight) / line) + overscan;
  return {
    from: first * layout.columns,
    to: Math.max(first * layout.columns + 1, Math.min(count(), last * layout.columns)),
  };
}

function layOut() {
  $("grid").style.height = `${plan().shown}px`;
  $("empty").hidden = count() > 0;
  $("empty").textContent = filter === filters[0] ? "Add the first addresses." : "None at the moment.";
  ask();
  draw();
}

const tiles = new Map();

function draw() {
  if (held.filter !== filter) return;
  const layout = plan();
  const wanted = visible();
  // In a grid taller than browsers can make, lines lie where they would be seen.
  const shift = Math.max(0, -$("grid").getBoundingClientRect().top) - scrolled(layout);
  const shown = held.rows.map((row, index) => ({ row, place: held.from + index }))
    .filter(({ place }) => place >= wanted.from && place < wanted.to);
  const ids = new Set(shown.map(({ row }) => row.id));
  for (const [id, tile] of tiles) {
    if (ids.has(id)) continue;
    tile.remove();
    tiles.delete(id);
  }
  // They stand in the page in their order, in which they are read out.
  let next = $("grid").firstElementChild;
  for (const { row, place } of shown) {
    let tile = tiles.get(row.id);
    if (!tile) {
      tile = newTile(row);
      $("grid").insertBefore(tile, next);
    }
    next = tile.nextElementSibling;
    const left = (place % layout.columns) * (layout.side + gap);
    const top = Math.floor(place / layout.columns) * (layout.height + gap) + shift;
    tile.style.width = `${layout.side}px`;
    tile.style.height = `${layout.height}px`;
    tile.style.transform = `translate(${left}px, ${top}px)`;
    tile.dataset.place = place;
    tile.tabIndex = place === focused ? 0 : -1;
    tile.setAttribute("aria-posinset", place + 1);
    tile.setAttribute("aria-setsize", count());
    fill(tile, row);
  }
}

function part(kind, name) {
  const element = document.createElement(kind);
  element.className = name;
  return element;
}

function newTile(row) {
  const tile = part("article", "tile");
  tile.setAttribute("role", "listitem");
  const caption = part("div", "caption");
  const fate = part("div", "fate");
  const retry = part("button", "retry");
  retry.textContent = "Retry";
  retry.onclick = () => post(`retry/${row.id}`);
  fate.append(part("span", "word"), retry);
  caption.append(part("div", "name"), fate);
  tile.append(part("a", "picture"), caption);
  tiles.set(row.id, tile);
  return tile;
}

/// Writes what is known of a row into its tile, where that has changed.
function fill(tile, row) {
  const text = JSON.stringify(row);
  if (tile.dataset.text === text) return;
  tile.dataset.text = text;
  tile.dataset.kind = row.kind;
  const name = row.file ?? decoded(row.url.split(/[?#]/)[0].split("/").pop()) ?? row.url;
  const word = row.skipped ? words[row.skipped] : words[row.kind];
  const [picture, caption] = tile.children;
  const [title, fate] = caption.children;
  title.textContent = name || row.url;
  title.title = row.url;
  fate.children[0].textContent = [word, row.bytes === undefined ? "" : bytes(row.bytes)].filter(Boolean).join(" · ");
  fate.children[1].hidden = !(row.kind === "failed" && row.reason !== "bad-url");
  fate.children[1].setAttribute("aria-label", `Retry ${name}`);
  tile.setAttribute("aria-label", `${name}: ${word}${row.message ? `, ${row.message}` : ""}`);
  if (row.file && picture.dataset.file !== row.file) {
    picture.dataset.file = row.file;
    picture.href = `files/${row.id}`;
    picture.target = "_blank";
    picture.rel = "noopener";
    const image = new Image();
    image.decoding = "async";
    image.alt = name;
    image.onerror = () => { picture.textContent = name; };
    image.src = `files/${row.id}`;
    picture.replaceChildren(image);
  } else if (!row.file) {
    delete picture.dataset.file;
    picture.removeAttribute("href");
    picture.textContent = row.message ?? "";
  }
  picture.tabIndex = -1;
}

function decoded(text) {
  try { return decodeURIComponent(text); } catch { return text; }
}

// MARK: Numbers for people

function number(value) { return value.toLocaleString("en"); }

function bytes(value) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit && value < 100 ? value.toPrecision(3) : Math.round(value)} ${units[unit]}`;
}

// MARK: Hands

$("primary").onclick = () => post($("primary").dataset.command);
$("cancel").onclick = () => post("cancel");
$("retry").onclick = () => post("retry");
$("limit").oninput = () => {
  $("limit-value").textContent = $("limit").value;
  post("limit", $("limit").value);
};
$("add").onclick = () => {
  const isOpen = $("adding").hidden;
  $("adding").hidden = !isOpen;
  $("add").setAttribute("aria-expanded", isOpen);
  if (isOpen) $("urls").focus();
};
$("adding").onsubmit = async (event) => {
  event.preventDefault();
  const answer = await post("add", $("urls").value);
  if (!answer?.ok) return;
  const { added } = await answer.json();
  $("added").textContent = added === 1 ? "1 added" : `${number(added)} added`;
  if (added) $("urls").value = "";
};
$("grid").onkeydown = (event) => {
  const { columns, height } = plan();
  const page = Math.max(1, Math.floor(window.innerHeight / (height + gap))) * columns;
  const steps = {
    ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns, PageDown: page, PageUp: -page,
    Home: -focused, End: count() - 1 - focused,
  };
  if (event.key === "Enter" && event.target.classList.contains("tile")) {
    event.target.querySelector("a[href]")?.click();
  }
  if (!(event.key in steps) || event.target.tagName === "BUTTON") return;
  event.preventDefault();
  focused = Math.max(0, Math.min(count() - 1, focused + steps[event.key]));
  reveal();
};
$("grid").onfocusin = (event) => {
  const tile = event.target.closest(".tile");
  if (tile) focused = Number(tile.dataset.place);
};

/// Scrolls to the focused row, and gives it the focus as soon as it is there.
function reveal() {
  const layout = plan();
  const top = Math.floor(focused / layout.columns) * (layout.height + gap);
  const offset = $("grid").getBoundingClientRect().top + window.scrollY;
  const scale = layout.full > layout.shown ? (layout.shown - innerHeight) / (layout.full - innerHeight) : 1;
  const header = getComputedStyle(document.querySelector("header")).position === "sticky"
    ? document.querySelector("header").offsetHeight : 0;
  const at = scrolled(layout);
  if (top < at + header) window.scrollTo(0, offset + Math.max(0, top - header - gap) * scale);
  if (top + layout.height > at + innerHeight) window.scrollTo(0, offset + (top + layout.height + gap - innerHeight) * scale);
  const wait = (tries) => {
    ask();
    draw();
    const tile = document.querySelector(`.tile[data-place="${focused}"]`);
    if (tile) tile.focus({ preventScroll: true });
    else if (tries) setTimeout(wait, 50, tries - 1);
  };
  wait(40);
}

addEventListener("scroll", () => { ask(); draw(); }, { passive: true });
addEventListener("resize", () => { if (status) layOut(); });
listen();
