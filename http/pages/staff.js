// Keeps parts of the pages for staff current. Without it, and without JavaScript, the pages work all the same.
"use strict";

for (const part of document.querySelectorAll("[data-live]")) {
  const state = document.createElement("p");
  const words = document.createElement("span");
  const button = document.createElement("button");
  let source = null, paused = false, waiting = null;
  state.className = "live";
  words.setAttribute("role", "status");
  button.type = "button";
  button.className = "quiet";
  state.append(words, button);
  part.before(state);

  const show = () => {
    const open = source !== null && source.readyState === EventSource.OPEN;
    words.textContent = paused ? "Updates are paused." : open ? "Live" : "Connecting …";
    button.textContent = paused ? "Go on" : "Pause";
  };
  const replace = (html) => {
    // What somebody reads with the keyboard, or has opened, does not change under their hands.
    const opened = part.querySelector("details[open]");
    if (opened || part.contains(document.activeElement)) {
      waiting = html;
      return;
    }
    waiting = null;
    part.innerHTML = html;
  };
  const close = () => {
    if (source !== null) source.close();
    source = null;
  };
  const open = () => {
    close();
    if (paused || document.hidden) return;
    source = new EventSource(part.dataset.live);
    source.onmessage = (event) => replace(event.data);
    source.onopen = source.onerror = show;
  };

  part.addEventListener("focusout", () => setTimeout(() => waiting !== null && replace(waiting), 0));
  document.addEventListener("visibilitychange", open);
  button.addEventListener("click", () => {
    paused = !paused;
    open();
    show();
  });
  open();
  show();
}
