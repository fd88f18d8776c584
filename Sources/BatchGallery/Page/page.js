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

let status = null;
let filter = filters[0];
let held = { filter: null, version: -1, from: 0, rows: [] };
let isAsking = false;
let samples = [];
let lastNews = "";

// MARK: Talking to the command

function post(path, body) {
  return fetch(path, { method: "POST", body }).then(async (answer) => {
    if (!answer.ok) tell(await answer.text());
    return answer;
  }, () => tell("The command does not answer."));
}

let events = null;

/// Listens while somebody looks: a browser has few connections for one server, whatever the tabs are.
function listen() {
  events?.close();
  if (document.hidden || status?.isOver) return;
  events = new EventSource("events");
  events.onmessage = (event) => {
    status = JSON.parse(event.data);
    show();
  };
  events.onerror = () => {
    if (status?.isOver) events.close();
    else $("state").textContent = "The command does not answer; is it still running?";
  };
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
  if (held.filter !== filter || !covers(visible())) setTimeout(ask, failed ? 1000 : 20);
  else if (held.version < status.version) setTimeout(ask, 100);
}

function covers(wanted) {
  return held.from <= wanted.from && held.from + held.rows.length >= Math.min(wanted.to, count());
}

// MARK: The whole batch

const of = (...kinds) => kinds.reduce((sum, kind) => sum + (status.kinds[kind] ?? 0), 0);
const count = () => (filter.kinds.length ? of(...filter.kinds) : status?.rows ?? 0);
const isUnderWay = () => of("waiting", "in-flight", "pausing") > 0;

function state() {
  if (status.isOver) return "Ended";
  if (!status.isStarted) return of("left") ? "Cancelled" : status.rows ? "Ready" : "Nothing to do yet";
  if (status.isPaused) return of("in-flight") ? "Paused; what is in flight goes on" : "Paused";
  if (isUnderWay()) return "Downloading";
  return of("failed", "left") ? "Done, but for what failed" : status.rows ? "All done" : "Nothing to do yet";
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
  primary.disabled = status.isOver || !status.isPaused && !isUnderWay() && !of("left");
  $("cancel").disabled = status.isOver || !status.isStarted || !isUnderWay();
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
  const news = isUnderWay() && status.isStarted && !status.isPaused ? "" : text;
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
addEventListener("scroll", () => { ask(); draw(); }, { passive: true });
addEventListener("resize", () => { if (status) layOut(); });
document.addEventListener("visibilitychange", listen);
listen();
