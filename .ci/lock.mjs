// Completes package-lock.json after `npm install`; with --check, only says whether it is complete.
//
// A registry that lacks the packages of some platforms makes npm leave these optional packages out of the lock, and
// `npm ci` then refuses that lock on every machine. What is missing follows from what names it: the version from the
// parent, os and cpu from the package's own name. Such an entry has no integrity; lock once more where the registry
// is complete. `resolved` goes: it names one registry, and the lock serves all.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const file = fileURLToPath(new URL('../package-lock.json', import.meta.url));
const before = readFileSync(file, 'utf8');
const lock = JSON.parse(before);
const systems = new Set([
  'aix',
  'android',
  'darwin',
  'freebsd',
  'linux',
  'netbsd',
  'openbsd',
  'sunos',
  'win32',
]);
const processors = new Set([
  'arm',
  'arm64',
  'ia32',
  'loong64',
  'mips64el',
  'ppc64',
  'riscv64',
  's390x',
  'x64',
]);

const problems = [];
const packages = { ...lock.packages };
for (const [parent, entry] of Object.entries(lock.packages)) {
  if (entry.resolved !== undefined) {
    problems.push(`${parent} names a registry`);
    const { resolved: _, ...rest } = entry;
    packages[parent] = rest;
  }
  if (parent === '') continue;
  for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
    const path = `node_modules/${name}`;
    if (Object.hasOwn(packages, path) || Object.hasOwn(packages, `${parent}/${path}`)) continue;
    problems.push(`${name} of ${parent} is missing`);
    const words = name.split(/[/-]/);
    const os = words.find((word) => systems.has(word));
    const cpu = words.find((word) => processors.has(word));
    packages[path] = { version, optional: true, ...(os && { os: [os] }), ...(cpu && { cpu: [cpu] }) };
  }
}

// The lock and the manifest must ask for the same.
const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
const disagreements = [];
for (const kind of ['dependencies', 'devDependencies', 'optionalDependencies']) {
  const names = new Set([
    ...Object.keys(manifest[kind] ?? {}),
    ...Object.keys(lock.packages[''][kind] ?? {}),
  ]);
  for (const name of names) {
    if (manifest[kind]?.[name] !== lock.packages[''][kind]?.[name])
      disagreements.push(`${name} differs from package.json`);
  }
}

if (process.argv.includes('--check')) {
  for (const problem of [...problems, ...disagreements]) console.error(`package-lock.json: ${problem}`);
  if (problems.length > 0) console.error('Run node .ci/lock.mjs.');
  if (disagreements.length > 0) console.error('Run npm install, then node .ci/lock.mjs.');
  process.exitCode = problems.length + disagreements.length > 0 ? 1 : 0;
} else {
  lock.packages = Object.fromEntries(
    Object.entries(packages).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)),
  );
  const after = `${JSON.stringify(lock, null, 2)}\n`;
  if (after !== before) writeFileSync(file, after);
  console.log(`package-lock.json: ${problems.length} completed.`);
}
