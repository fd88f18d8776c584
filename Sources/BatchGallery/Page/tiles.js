// The tiles: those that are visible and no others, however many rows there are.

const gap = 12;
const overscan = 2;  // lines of tiles above and below what is visible
const tallest = 8e6;  // pixels: browsers make no element much taller

let focused = 0;

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
    // The one that has the focus stays, or the keyboard would have nowhere to go on from.
    if (ids.has(id) || tile.contains(document.activeElement)) continue;
    tile.remove();
    tiles.delete(id);
  }
  // They stand in the page in their order, in which they are read out.
  let next = $("grid").firstElementChild;
  for (const { row, place } of shown) {
    let tile = tiles.get(row.id);
    while (!tile && next && Number(next.dataset.place) < place) next = next.nextElementSibling;
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

// MARK: The keyboard

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
