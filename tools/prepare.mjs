// Installs and builds what is not installed and built yet. Node builtins only: it runs before anything is there.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('..', import.meta.url));
const at = (...parts) => join(root, ...parts);

const sources = ['src', 'proto', 'plugins', 'workers', 'test', 'bench'];
/** Holds the machine that native parts were chosen and compiled for. */
const installStamp = at('node_modules', '.headgate-installed-for');
const buildStamp = at('dist', '.built');
const bundler = at('tools', 'bundle.mjs');

function checkNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major >= 24)
    fail(`Node ${process.versions.node} has no binary of uWebSockets.js yet; install Node 22.`);
  if (major > 20 || (major === 20 && minor >= 19)) return;
  fail(`Node ${process.versions.node} is too old; install Node 20.19 or newer (below 24).`);
}

/** Says what is missing in one line, and leaves. */
export function fail(message, code = 1) {
  console.error(`headgate: ${message}`);
  process.exit(code);
}

const read = (file) => {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return null;
  }
};

function thisMachine() {
  const { platform, arch, versions } = process;
  return `${platform} ${arch} ${versions.modules}`;
}

function digest(parts) {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part).update('\0');
  return hash.digest('hex');
}

function installIsCurrent() {
  // A link leads to what another checkout has installed: npm would clear that one's.
  if (lstatSync(at('node_modules'), { throwIfNoEntry: false })?.isSymbolicLink()) return true;
  const machine = read(installStamp);
  if (machine !== null && machine !== thisMachine()) return false;
  // Compared with what npm notes that it put there: a lock in which nothing but a range or a reason has changed needs nothing.
  const there = read(at('node_modules', '.package-lock.json'));
  const wanted = read(at('package-lock.json'));
  if (there === null || wanted === null) return false;
  const installed = JSON.parse(there).packages;
  return Object.entries(JSON.parse(wanted).packages).every(
    ([name, { version, optional }]) => name === '' || optional || installed[name]?.version === version,
  );
}

function install() {
  if (installIsCurrent()) {
    if (!existsSync(installStamp)) writeFileSync(installStamp, thisMachine());
    return;
  }
  console.log('Installing packages. sqlite3 is compiled on the way: a minute or two, this once.');
  // Under `npm start` npm says where it is; else it is the one in the path.
  const npm = process.env.npm_execpath?.endsWith('.js')
    ? [process.execPath, process.env.npm_execpath]
    : ['npm'];
  run([...npm, 'ci', '--no-audit', '--no-fund', '--include=dev'], 'npm ci did not succeed: see above.');
  writeFileSync(installStamp, thisMachine());
}

function* walk(folder) {
  if (!existsSync(folder)) return;
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* walk(path);
    else yield path;
  }
}

function buildKey() {
  const parts = [
    read(at('tsconfig.json')) ?? '',
    read(bundler) ?? '',
    read(at('tools', 'bundle-loader.cjs')) ?? '',
    read(at('package-lock.json')) ?? '',
    thisMachine(),
  ];
  for (const folder of sources) {
    const files = [...walk(at(folder))].filter((file) => file.endsWith('.ts')).sort();
    for (const file of files) parts.push(relative(root, file), readFileSync(file));
  }
  return digest(parts);
}

/** Output whose source is gone would still be found by imports and by mocha. */
function prune() {
  for (const folder of sources) {
    for (const file of walk(at('dist', folder))) {
      const source = at(relative(at('dist'), file).replace(/\.js(\.map)?$/, '.ts'));
      if (!existsSync(source)) rmSync(file);
    }
  }
}

/** A check of types alone (`tsc --noEmit`) notes that too, and the bundle looks older than what it was made of. */
function bundleIsCurrent() {
  const time = (...file) => statSync(at('dist', ...file), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  return time('bundle', 'src', 'cli', 'program.js') >= time('.tsbuildinfo');
}

const bundle = () => run([process.execPath, bundler], 'The modules could not be bundled: see above.');

function build() {
  const key = buildKey();
  if (read(buildStamp) === key) {
    if (!bundleIsCurrent()) bundle();
    return;
  }
  console.log('Building.');
  prune();
  if (!existsSync(at('dist', 'src', 'main.js'))) rmSync(at('dist', '.tsbuildinfo'), { force: true });
  const tsc = at('node_modules', 'typescript', 'bin', 'tsc');
  run([process.execPath, tsc, '-p', 'tsconfig.json'], 'The build failed: see above.');
  bundle();
  writeFileSync(buildStamp, key);
}

/** Ends this process with one line where the command fails. */
export function run([command, ...args], otherwise) {
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: 'inherit' });
  if (error !== undefined) fail(`${command} cannot be started (${error.code ?? error.message}).`);
  if (status !== 0) fail(otherwise, status ?? 1);
}

/** Two starts at once must not install or build into each other. */
function locked(work) {
  const lock = at('.prepare.lock');
  for (;;) {
    try {
      writeFileSync(lock, String(process.pid), { flag: 'wx' });
      break;
    } catch (error) {
      if (error.code !== 'EEXIST') fail(`${root} cannot be written to (${error.code}).`);
    }
    const holder = Number(read(lock));
    if (holder > 0 && !isAlive(holder)) rmSync(lock, { force: true });
    else Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
  }
  const release = () => rmSync(lock, { force: true });
  process.once('exit', release);
  work();
  process.off('exit', release);
  release();
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

/** Leaves the tree installed and built; says nothing where there was nothing to do. */
export function prepare({ onlyInstall = false } = {}) {
  checkNode();
  const isBuilt = () => bundleIsCurrent() && read(buildStamp) === buildKey();
  if (installIsCurrent() && existsSync(installStamp) && (onlyInstall || isBuilt())) return;
  locked(() => {
    install();
    if (onlyInstall) return;
    mkdirSync(at('dist'), { recursive: true });
    build();
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  prepare({ onlyInstall: process.argv.includes('--install') });
}
