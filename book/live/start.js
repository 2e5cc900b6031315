/* Starts the live parts of a page, each when a reader comes near it. A part loads only what it needs, by script
 * elements: a page opened from a folder (file://) may not fetch, and may not import modules. */
(function () {
  "use strict";
  const PCLive = (window.PCLive = window.PCLive || { data: {} });
  if (PCLive.load) return;                                                 // another part of the page has started us
  const here = document.currentScript.src.replace(/[^/]*$/, "");
  const PARTS = { ring: ["engine.js", "ring.js"], graph: ["engine.js", "picture.js", "sure.js", "play.js"],
                  memory: ["engine.js", "picture.js", "play.js"], relaxed: ["relaxed.js"], masks: ["engine.js", "masks.js"] };
  const loads = {};

  function put(element, done) {
    loads[done] = loads[done] || new Promise((resolve, reject) => {
      element.onload = resolve;
      element.onerror = () => reject(new Error(`${done} could not be loaded`));
      document.head.append(element);
    });
    return loads[done];
  }

  PCLive.load = (file) => put(Object.assign(document.createElement("script"), { src: here + file }), file);
  PCLive.need = (name) => PCLive.load(`data/${name}.js`).then(() => PCLive.data[name]);

  async function start(section) {
    const style = Object.assign(document.createElement("link"), { rel: "stylesheet", href: here + "live.css" });
    await put(style, "live.css");
    await PCLive.load("ui.js");
    for (const file of PARTS[section.dataset.part]) await PCLive.load(file);
    const body = document.createElement("div");
    body.className = "pc-body";
    await PCLive.parts[section.dataset.part](body, { ...section.dataset });
    section.append(body);
    section.classList.add("pc-started");                                   // hides the picture that stood here
    section.dataset.ready = "yes";
  }

  const near = new IntersectionObserver((seen) => {
    for (const entry of seen)
      if (entry.isIntersecting) {
        near.unobserve(entry.target);
        start(entry.target).catch((error) => { entry.target.dataset.ready = "failed"; console.error(error); });
      }
  }, { rootMargin: "600px" });

  document.querySelectorAll(".pc-live").forEach((section) => near.observe(section));
})();
