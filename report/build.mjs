// build.mjs NPM OUT: bundles the page with its chart library. Writes OUT/page.html, which lacks only its data, and
// OUT/page_bundle.c, which has its bytes for the program. NPM is the folder that has node_modules.
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const [npm, out] = process.argv.slice(2).map((path) => resolve(path));
const esbuild = createRequire(join(npm, "package.json"))("esbuild");
const common = { bundle: true, minify: true, write: false, nodePaths: [join(npm, "node_modules")], logLevel: "warning" };

const script = await esbuild.build({
  ...common,
  entryPoints: [join(here, "main.js")],
  format: "iife",
  target: "es2021",
  charset: "ascii",
  legalComments: "inline",
});
const style = await esbuild.build({ ...common, entryPoints: [join(here, "page.css")] });

const parts = { STYLE: style.outputFiles[0].text, SCRIPT: script.outputFiles[0].text };
const page = readFileSync(join(here, "page.html"), "utf8").replace(/@@(STYLE|SCRIPT)@@/g, (_, name) => parts[name]);
const pieces = page.split("@@PARLEY_DATA@@");
if (pieces.length !== 2) throw new Error(`the page has ${pieces.length - 1} places for data instead of one`);

const bytes = Buffer.from(page, "utf8");
const rows = [];
for (let i = 0; i < bytes.length; i += 32) rows.push([...bytes.subarray(i, i + 32)].join(","));
writeFileSync(join(out, "page.html"), page);
writeFileSync(
  join(out, "page_bundle.c"),
  `#include "trace/page.h"\n\nconst unsigned char pl_page_bundle[] = {\n${rows.join(",\n")}};\n` +
    `const size_t pl_page_bundle_bytes = sizeof pl_page_bundle;\n`,
);
