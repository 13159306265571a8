'use strict';
// Copied into dist/bundle by tools/bundle.mjs: runs its scripts, with the code that V8 compiled in an earlier start where that
// is there. A gateway's start is mostly loading and compiling, and Node 20 keeps compiled code of no module.
const { createHash } = require('node:crypto');
const {
  accessSync,
  constants,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} = require('node:fs');
const { basename, dirname, join, resolve } = require('node:path');
const { pathToFileURL } = require('node:url');
const { cachedDataVersionTag } = require('node:v8');
const { Script } = require('node:vm');
const { isMainThread } = require('node:worker_threads');

const caches = join(__dirname, 'cache');
/** Compiled code depends on the version of V8, its flags and the processor: it is kept in a folder for each. */
const cache = join(caches, cachedDataVersionTag().toString(16));
/** Of a few megabytes each: not more, where each start has other flags. */
const mostCaches = 8;
const bundleUrl = pathToFileURL(join(__dirname, '/')).href;
/** Shorter scripts are compiled sooner than a file is read. */
const leastBytes = 8192;
const hashBytes = 32;
/** What is kept is run: other users may not write it, even where the umask of a start allows that. */
const folderMode = 0o755;
const fileMode = 0o644;
const hashOf = (bytes) => createHash('sha256').update(bytes).digest();

const importOutside = (specifier) => import(specifier);
const loaded = new Map();
/** Scripts that were compiled in this process. */
const compiled = [];

/** The exports of a script of dist/bundle, which is run once. */
function load(file) {
  const known = loaded.get(file);
  if (known !== undefined) return known.exports;
  const module = { exports: {} };
  loaded.set(file, module);
  const own = (name) => (name.startsWith('.') ? load(resolve(dirname(file), name)) : require(name));
  own.resolve = require.resolve;
  try {
    const run = scriptOf(file).runInThisContext();
    run(module.exports, own, module, file, dirname(file), bundleUrl, importOutside, keepCompiled);
  } catch (error) {
    loaded.delete(file);
    throw error;
  }
  return module.exports;
}

function scriptOf(file) {
  const bytes = readFileSync(file);
  const source = `(function (exports, require, module, __filename, __dirname, bundleUrl, importOutside, keepCompiled) { ${bytes.latin1Slice()}\n})`;
  if (bytes.length < leastBytes) return new Script(source, { filename: file });
  const hash = hashOf(bytes);
  const cachedData = readKept(file, hash);
  const script = new Script(source, { filename: file, cachedData });
  if (cachedData === undefined || script.cachedDataRejected) compiled.push({ file, hash, script });
  return script;
}

const placeOf = (file) => join(cache, `${basename(file)}.bin`);

/** undefined: there is none, it is of another text, or it is damaged. V8 itself compares only the length of the text. */
function readKept(file, hash) {
  let bytes;
  try {
    bytes = readFileSync(placeOf(file));
  } catch {
    return undefined;
  }
  const data = bytes.subarray(2 * hashBytes);
  const isOfFile = hash.equals(bytes.subarray(0, hashBytes));
  return isOfFile && hashOf(data).equals(bytes.subarray(hashBytes, 2 * hashBytes)) ? data : undefined;
}

/** Keeps what was compiled so far for the next start, where the folder may be written to. Takes some 20 ms for 1 MB. */
function keepCompiled() {
  const kept = compiled.splice(0);
  if (kept.length === 0) return;
  try {
    mkdirSync(caches, { recursive: true, mode: folderMode });
    const tags = readdirSync(caches);
    if (tags.length >= mostCaches && !tags.includes(basename(cache))) return;
    mkdirSync(cache, { recursive: true, mode: folderMode });
    accessSync(cache, constants.W_OK);
    for (const { file, hash, script } of kept) {
      const data = script.createCachedData();
      const temporary = `${placeOf(file)}.${process.pid}`;
      writeFileSync(temporary, Buffer.concat([hash, hashOf(data), data]), { mode: fileMode });
      renameSync(temporary, placeOf(file));
    }
  } catch {
    // Without it a start only takes longer.
  }
}

// Commands end soon. A gateway calls it when it is ready: later, V8 has dropped what only a start runs.
if (isMainThread) process.once('exit', keepCompiled);

module.exports = { load };
