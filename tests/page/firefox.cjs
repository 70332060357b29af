// Loads Playwright without one command that Debian's Firefox ESR lacks; it sets the theme and reduced motion.
const { readFileSync } = require("fs");
const { Module } = require("module");

const MISSING = /await [\w.]+\.send\("emulation\.setMediaFeaturesOverride"/g;
const load = Module._extensions[".js"];
Module._extensions[".js"] = (module, file) => {
    if (!file.endsWith("coreBundle.js")) return load(module, file);
    module._compile(readFileSync(file, "utf8").replace(MISSING, "(() => {})(null"), file);
};
