"use strict";

const canvas = document.getElementById("canvas");
const ink = document.getElementById("ink");
const file = document.getElementById("file");
const pen = canvas.getContext("2d");

// The canvas has the model's proportions, and a pen as wide as that of written digits.
canvas.height = Math.round(canvas.width * canvas.dataset.height / canvas.dataset.width);

function clear() {
  pen.fillStyle = ink.value === "light" ? "black" : "white";
  pen.fillRect(0, 0, canvas.width, canvas.height);
  classes.replaceChildren();
  file.value = "";
  say("No picture yet.");
}

// A file is sent as it is; the canvas shows it stretched, as the model sees it.
function show(picture) {
  if (!picture) return;
  createImageBitmap(picture).then(
    (image) => pen.drawImage(image, 0, 0, canvas.width, canvas.height),
    () => clear(), // a format that the browser does not know
  );
  predict(picture);
}

function place(event) {
  const box = canvas.getBoundingClientRect();
  return [(event.clientX - box.left) * canvas.width / box.width, (event.clientY - box.top) * canvas.height / box.height];
}

let drawing = false;
canvas.addEventListener("pointerdown", (event) => {
  drawing = true;
  canvas.setPointerCapture(event.pointerId);
  pen.strokeStyle = ink.value === "light" ? "white" : "black";
  pen.lineWidth = canvas.width / 14;
  pen.lineCap = pen.lineJoin = "round";
  pen.beginPath();
  pen.moveTo(...place(event));
  pen.lineTo(...place(event));
  pen.stroke();
});
canvas.addEventListener("pointermove", (event) => {
  if (!drawing) return;
  pen.lineTo(...place(event));
  pen.stroke();
});
for (const end of ["pointerup", "pointercancel"]) {
  canvas.addEventListener(end, () => {
    if (!drawing) return;
    drawing = false;
    canvas.toBlob(predict, "image/png");
  });
}

document.getElementById("clear").addEventListener("click", () => { asked++; clear(); });
ink.addEventListener("change", () => { asked++; clear(); });
file.addEventListener("change", () => show(file.files[0]));
document.addEventListener("dragover", (event) => { event.preventDefault(); document.body.classList.add("over"); });
document.addEventListener("dragleave", () => document.body.classList.remove("over"));
document.addEventListener("drop", (event) => {
  event.preventDefault();
  document.body.classList.remove("over");
  show(event.dataTransfer.files[0]);
});
clear();
