"use strict";

const words = document.getElementById("words");
const rest = 300; // milliseconds without a key before a text is sent

let waiting;
words.addEventListener("input", () => {
  clearTimeout(waiting);
  asked++; // what was asked for is no longer what stands there
  classes.replaceChildren();
  say(words.value ? "…" : "No text yet.");
  if (words.value) waiting = setTimeout(() => predict(words.value), rest);
});
