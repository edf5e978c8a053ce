"use strict";

const shown = 5; // classes
const message = document.getElementById("message");
const classes = document.getElementById("classes");
const command = document.getElementById("command");

command.textContent = command.textContent.replace(/predict$/, new URL("predict", location.href));

function say(text) { message.textContent = text; }

let asked = 0; // an answer that is not the last one asked for comes too late

// predict asks for the class of a picture or a text, and shows the answer.
async function predict(sent) {
  const mine = ++asked;
  say("…");
  let answer;
  try {
    const response = await fetch("predict", { method: "POST", body: sent });
    const text = await response.text();
    answer = text.startsWith("{") ? JSON.parse(text) : { error: text };
  } catch {
    answer = { error: "the program does not answer: is it still at work?" };
  }
  if (mine !== asked) return;
  classes.replaceChildren();
  if (answer.error) {
    say(answer.error.replace(/^\w+: (invalid: )?/, ""));
    return;
  }
  say(`${answer.class}, ${percent(answer.probability)}`);
  classes.append(...answer.classes.slice(0, shown).map(row));
}

function percent(share) { return `${(100 * share).toFixed(1)} %`; }

function row(entry) {
  const item = document.createElement("li");
  const name = document.createElement("span"), bar = document.createElement("progress"), share = document.createElement("span");
  name.textContent = entry.class;
  bar.value = entry.probability;
  bar.setAttribute("aria-label", entry.class);
  share.textContent = percent(entry.probability);
  item.append(name, bar, share);
  return item;
}
