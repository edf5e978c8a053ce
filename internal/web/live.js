// Keeps the page of a job at work up to date, by the events of its server.
"use strict";
const element = id => document.getElementById(id);
const content = element("content");
const focusable = "summary, a, [tabindex]";

// say changes the state that screen readers read out, if it is another one.
function say(state) {
  if (element("live-state").textContent !== state) element("live-state").textContent = state;
}

// renew replaces the report; what was open stays open, and the focus stays where it was.
function renew(html) {
  const open = [...content.querySelectorAll("details")].map(d => d.open);
  const focus = [...content.querySelectorAll(focusable)].indexOf(document.activeElement);
  content.innerHTML = html;
  content.querySelectorAll("details").forEach((d, i) => { d.open = open[i] === true; });
  if (focus >= 0) content.querySelectorAll(focusable)[focus]?.focus({preventScroll: true});
}

const events = new EventSource("events");
events.addEventListener("state", e => {
  const s = JSON.parse(e.data);
  say(s.state);
  element("live-numbers").textContent = s.numbers;
  element("live-bar").value = s.done;
  document.title = s.title;
  if (s.ended) events.close();
});
events.addEventListener("report", e => renew(JSON.parse(e.data)));
events.onerror = () => say("No contact with the trainer: it has ended or was killed. Below is what it said last; the page goes on when it is there again.");
