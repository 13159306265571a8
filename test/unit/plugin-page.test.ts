// lane: not quick
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Attempt, EditableCall, Exchange, Outcome, Reply } from '../../src/common/core/exchange.js';
import type { Host } from '../../src/common/plugin-host/host.js';
import type { Hooks, Plugin } from '../../src/common/plugin-host/plugin.js';
import type { TextPiece } from '../../src/common/plugin-host/texts/text-piece.js';
import type { FormatPiece, PluginFormat } from '../../src/common/vocabulary/plugin-format.js';
import type { Injected, InjectedRequest, OpenedPlugin } from '../../src/plugin-kit/index.js';
import { examplesOf } from '../support/examples.js';
import { root } from '../support/root.js';

/** Files of docs/plugins.md that are a plugin or its test. */
const files = examplesOf('docs/plugins.md').flatMap(({ file, text }) =>
  file !== null && /\.[jt]s$/.test(file) ? [{ file, text }] : [],
);
const worked = ['tenant', 'ab-prompt', 'redact', 'http-log', 'acme-ai', 'wordy'];

/** Every member of a type: `true` where the page has it, `false` for the gateway's own stages. The compiler requires each. */
type Members<T> = Readonly<Record<keyof T, boolean>>;

const exchange: Members<Exchange> = {
  ...{ id: true, request: true, endpoint: true, principal: true, config: true, metadata: true, trace: true },
  ...{ header: true, addMetadata: true, edit: true, modelAsked: true, modelUsed: true, streaming: true },
  ...{ target: true, provider: true, attempts: true, answeredBy: true, usage: true, retries: true },
  ...{
    firstByteMs: true,
    cache: true,
    dropped: true,
    startedAt: true,
    elapsedMs: true,
    get: true,
    set: true,
  },
  ...{ signal: true, onAbort: true, aborted: true, explain: true },
  ...{ keyHeader: false, droppedMetadata: false, saved: false, judge: false, company: false, route: false },
  ...{ charges: false, main: false, fields: false, replyHeaders: false, addedMetadata: false, body: false },
  ...{
    bodyTokens: false,
    bodyUs: false,
    cacheUs: false,
    cacheStartUs: false,
    sentHeaders: false,
    passedHeaders: false,
  },
  ...{
    chain: false,
    fork: false,
    take: false,
    copy: false,
    allDropped: false,
    decided: false,
    abort: false,
    onOver: false,
  },
};
const call: Members<EditableCall> = {
  ...{ setHeader: true, headers: true, method: true, url: true, body: true, provider: true, target: true },
};
const attempt: Members<Attempt> = {
  ...{ target: true, provider: true, model: true, slug: true, integration: true, startedAt: true },
  ...{ durationMs: true, endedAt: true, firstByteMs: true, status: true, error: true, modelUsed: true },
  ...{
    usage: true,
    cost: true,
    prices: false,
    reserved: false,
    received: false,
    sent: false,
    unseen: false,
    usageSoFar: false,
  },
  ...{ answer: false, readUs: false },
};
const reply: Members<Reply> = {
  ...{ status: true, headers: true, body: true, events: true, errorOrigin: true, error: true },
};
const piece: Members<TextPiece> = {
  ...{ where: true, role: true, part: true, index: true, id: true, text: true, streamed: true, last: true },
  ...{ canHold: true, memory: true },
};
const outcome: Members<Outcome> = { status: true, error: true, totalMs: true };
const host: Members<Host> = {
  ...{ log: true, error: true, record: true, setReplyHeader: true, state: true, metrics: true, sink: true },
  ...{ directory: true, headerPrefixes: true, random: true, runJob: true },
};
const members: Members<Plugin> = {
  ...{ name: true, options: true, settings: true, errors: true, state: true, ledgerFields: true },
  ...{ replyHeaders: true, metrics: true, needs: true, providers: true, jobs: true, setup: true },
  ...{ schedules: false, insertable: false, control: false },
};
const hooks: Members<Hooks> = {
  ...{
    request: true,
    explain: true,
    text: true,
    attempt: true,
    reply: true,
    event: true,
    log: true,
    close: true,
  },
};
const format: Members<PluginFormat> = {
  ...{ kind: true, request: true, reply: true, error: true, stream: true, framing: true, contentType: true },
};
const formatPiece: Members<FormatPiece> = {
  ...{ delta: true, index: true, finish_reason: true, usage: true, id: true, model: true },
};
const asked: Members<InjectedRequest> = {
  ...{ method: true, path: true, headers: true, metadata: true, body: true, stream: true, config: true },
  ...{ principal: true, signal: true },
};
const result: Members<Injected> = {
  ...{
    status: true,
    headers: true,
    body: true,
    json: true,
    events: true,
    text: true,
    outcome: true,
    row: true,
  },
  ...{ calls: true, log: true },
};
const opened: Members<OpenedPlugin> = { inject: true, metrics: true, log: true, calls: true, close: true };

/** By the heading of their section, and what precedes them there. */
const described: readonly (readonly [string, string, Readonly<Record<string, boolean>>])[] = [
  ['Which hook', '', hooks],
  ['Members of a plugin', '', members],
  ['x: the exchange', 'x.', exchange],
  ['call: what a provider gets', 'call.', call],
  ['call: what a provider gets', '', attempt],
  ['reply and event', '', reply],
  ['piece: a text', '', piece],
  ['outcome', 'outcome.', outcome],
  ['host', 'host.', host],
  ['Example: a provider with a format of its own', '', format],
  ['Example: a provider with a format of its own', '', formatPiece],
  ['Tests', '', asked],
  ['Tests', '', result],
  ['Tests', 'opened.', opened],
];

describe('docs/plugins.md', function () {
  this.timeout(60_000);
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'headgate-examples-'));
    mkdirSync(join(folder, 'node_modules'));
    symlinkSync(root, join(folder, 'node_modules/headgate'));
    symlinkSync(join(root, 'node_modules/@types'), join(folder, 'node_modules/@types'));
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
    for (const { file, text } of files) writeFileSync(join(folder, file), text);
  });
  after(() => rmSync(folder, { recursive: true }));

  it('has every member that a plugin or its test may use', () => {
    const sections = new Map(
      readFileSync(join(root, 'docs/plugins.md'), 'utf8')
        .split(/^## /m)
        .map((text) => [text.slice(0, text.indexOf('\n')), text]),
    );
    const missing = described.flatMap(([heading, prefix, names]) => {
      const rows =
        sections
          .get(heading)
          ?.split('\n')
          .filter((line) => line.startsWith('| ')) ?? [];
      const named = rows.map((row) => row.split(prefix === 'opened.' ? '\n' : ' | ')[0]).join('\n');
      return Object.keys(names)
        .filter(
          (name) =>
            names[name] === true && !new RegExp(`\`${prefix.replace('.', '\\.')}${name}\\b`).test(named),
        )
        .map((name) => `${heading}: ${prefix}${name}`);
    });
    expect(missing).to.deep.equal([]);
  });

  it('has six worked examples, each with its test', () => {
    const names = files.map(({ file }) => file);
    expect(names).to.include.members(worked.flatMap((name) => [`${name}.ts`, `${name}.test.js`]));
  });

  it('has examples that are of the right types', () => {
    const compilerOptions = {
      ...{ strict: true, noEmit: true, skipLibCheck: true, noUncheckedIndexedAccess: true },
      ...{ module: 'nodenext', target: 'es2023', types: ['node'] },
      // The package's declarations are made when it is packed.
      paths: { 'headgate/plugin': [join(root, 'src/plugin-kit/index.ts')] },
    };
    const project = { compilerOptions, files: worked.map((name) => `${name}.ts`) };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(project));
    const tsc = join(root, 'node_modules/typescript/bin/tsc');
    const { status, stdout } = spawnSync(process.execPath, [tsc], { cwd: folder, encoding: 'utf8' });
    expect(status, stdout).to.equal(0);
  });

  // In one process: each would take most of a second for itself.
  it('has examples whose tests pass as they are written there', () => {
    const all = 'all.mjs';
    writeFileSync(join(folder, all), worked.map((name) => `import './${name}.test.js';\n`).join(''));
    const { status, stdout, stderr } = spawnSync(process.execPath, [all], {
      cwd: folder,
      encoding: 'utf8',
      timeout: 30_000,
    });
    expect(status, stdout + stderr).to.equal(0);
    expect(Number(/^# pass (\d+)$/m.exec(stdout)?.[1])).to.be.at.least(worked.length);
  });
});
