import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { expect } from 'chai';
import { folders } from '../support/folders.js';
import { root } from '../support/root.js';

interface Import {
  readonly from: string;
  /** A file of ours by its path from the root, or the name of a package. */
  readonly to: string;
  readonly typeOnly: boolean;
}

/** Folders that put parts together: they may import anything. */
const composition = ['src/process', 'src/cli', 'src/plugin-kit', 'src/main.ts'];
/** What plugins may use of what both planes have. */
const forPlugins = [
  'access',
  'bytes',
  'core',
  'guardrails',
  'http',
  'ipc',
  'json',
  'plugin-host',
  'text',
  'threads',
  'vocabulary',
].map((name) => `src/common/${name}`);
/** What every worker thread calls first. */
const threadPriority = 'src/common/threads/thread-priority.ts';
/** What a worker thread runs of the product's own code, by its entry. */
const threadParts: Readonly<Record<string, readonly string[]>> = {
  'workers/run-plugin-job.ts': ['src/common/plugin-host/'],
  'workers/read-large-body.ts': ['src/common/', 'src/data-plane/endpoints/read-body.ts'],
};
/** Where stages and their settings are listed. */
const stageLists = ['src/data-plane/pipeline/order.ts', 'src/data-plane/pipeline/plugins/stages.ts'];

/** Packages with sharp edges, and the only places that may touch them. */
const fenced: Readonly<Record<string, readonly string[]>> = {
  'uWebSockets.js': ['src/data-plane/transport/uws/uws.ts'],
  undici: ['src/data-plane/upstream/undici/'],
  sqlite3: ['src/control-plane/store/sql/connection/sqlite.ts', 'src/control-plane/database/sqlite.ts'],
  pg: [
    'src/control-plane/store/sql/connection/postgres.ts',
    'src/control-plane/store/sql/connection/postgres-listener.ts',
    'src/control-plane/vectors/postgres.ts',
    'src/control-plane/ledger/postgres/',
  ],
  knex: ['src/control-plane/store/sql/'],
  commander: ['src/cli/'],
  redis: ['src/control-plane/shared-state/redis-link.ts'],
};

/** Lines of a file that can still be understood as one thing. */
const maxLines = 400;
/** Files and folders that are rows and nothing else: these may be longer. */
const tables: readonly string[] = ['src/common/prices/lists/', 'src/common/settings/settings-table.ts'];

/** Folders whose entries are many of one kind. */
const lists: readonly string[] = [
  'plugins/guardrails/checks',
  'plugins/guardrails/checks/partners',
  'src/cli/commands',
  'src/common/prices/lists',
  'src/control-plane/store/migrations',
  'src/control-plane/store/records',
  'src/control-plane/store/sql/records',
  'src/data-plane/providers/client-formats',
  'src/data-plane/providers/formats',
  'src/process/parts',
];

function* walk(folder: string): Generator<string> {
  const absolute = join(root, folder);
  if (!existsSync(absolute)) return;
  for (const entry of readdirSync(absolute, { withFileTypes: true })) {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) yield* walk(path);
    else if (entry.name.endsWith('.ts')) yield path;
  }
}

const statement = /^\s*(?:import|export)\s+(type\s+)?(?:([^'";]*?)\s+from\s+)?'([^']+)'/gm;
const dynamic = /\bimport\(\s*'([^']+)'\s*\)/g;

/** `{ type A, type B }`: nothing of it is left at run time either. */
const namesOnlyTypes = (clause: string | undefined): boolean =>
  clause !== undefined &&
  /^\{[^}]*\}$/.test(clause.trim()) &&
  clause
    .replace(/[{}]/g, '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
    .every((name) => name.startsWith('type '));

/** The imports a source says, comments aside. `dynamic`: with those made while running. */
function importsOf(from: string, source: string, withDynamic: boolean): Import[] {
  const bare = source.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '');
  const found: Import[] = [];
  for (const [, type, clause, to] of bare.matchAll(statement)) {
    if (to !== undefined)
      found.push({ from, to: target(from, to), typeOnly: type !== undefined || namesOnlyTypes(clause) });
  }
  if (withDynamic) {
    for (const [text, to] of bare.matchAll(dynamic)) {
      // `typeof import('x')` and `import('x').Name` in a type are types; only an awaited or called one runs.
      const at = bare.indexOf(text);
      const typeOnly =
        /typeof\s+$/.test(bare.slice(Math.max(0, at - 10), at)) ||
        /^\.[A-Z]/.test(bare.slice(at + text.length));
      if (to !== undefined) found.push({ from, to: target(from, to), typeOnly });
    }
  }
  return found;
}

function target(from: string, to: string): string {
  if (!to.startsWith('.')) return to.startsWith('node:') ? to : packageOf(to);
  return relative(root, resolve(root, dirname(from), to)).replace(/\.js$/, '.ts');
}

function packageOf(specifier: string): string {
  const [scope = '', name = ''] = specifier.split('/');
  return scope.startsWith('@') ? `${scope}/${name}` : scope;
}

const under = (file: string, places: readonly string[]): boolean =>
  places.some((place) => file === place || file.startsWith(place.endsWith('/') ? place : `${place}/`));

/** Of the three wings the one that a file is in: `src/data-plane/transport/uws/uws.ts` → `data-plane`. */
const wingOf = (file: string): string | null =>
  /^src\/(common|data-plane|control-plane)\//.exec(file)?.[1] ?? null;

/** The folder of the table that a file is in. */
const folderOf = (file: string): string | null =>
  folders.find(({ path }) => under(file, [path]))?.path ?? null;

/** Why an import may not be, or null. */
function objection({ from, to, typeOnly }: Import): string | null {
  const fence = fenced[to];
  if (fence !== undefined && !typeOnly && !under(from, fence))
    return `only ${fence.join(', ')} may import ${to}`;
  if (under(from, composition)) return null;
  // The client's sessions fail like the commands they serve; that error class imports nothing.
  if (from.startsWith('src/client/') && to === 'src/cli/cli-error.ts') return null;
  if (under(to, composition)) return 'nothing imports the composition roots';
  if (/^(test|bench)\//.test(to)) return 'the product does not import its tests';
  const ours = /^(src|plugins|workers)\//.test(to);
  if (!ours) return null;
  const [place, name] = from.split('/');
  if (place === 'plugins') {
    const own = to.startsWith(`plugins/${name}/`);
    return own || under(to, forPlugins)
      ? null
      : 'plugins import what is common to both planes; what else they need comes with host';
  }
  if (place === 'workers') {
    const allowed =
      to.startsWith('workers/') ||
      (to.startsWith('src/common/') && typeOnly) ||
      to === threadPriority ||
      under(to, threadParts[from] ?? []);
    return allowed ? null : 'workers import common types alone, but for what their thread is there to run';
  }
  if (to.startsWith('plugins/')) return 'only the composition roots know which plugins there are';
  if (from.startsWith('src/client/'))
    return /^src\/(common|client)\//.test(to) ? null : 'the client is for the command line alone';
  if (to.startsWith('src/client/')) return 'the client is for the command line alone';
  const [a, b] = [wingOf(from), wingOf(to)];
  // One exception: stages bring settings, and their names are a setting's vocabulary; both are listed in one place.
  if (from.startsWith('src/common/settings/') && stageLists.includes(to)) return null;
  if (a === 'common' && b !== 'common') return 'what is common imports neither plane';
  if (a === 'data-plane' && b === 'control-plane') return 'the data plane does not import the control plane';
  if (a === 'control-plane' && b === 'data-plane') return 'the control plane does not import the data plane';
  return null;
}

/** Strongly connected files of a graph, those of one file left out (Tarjan). */
function cyclesOf(graph: ReadonlyMap<string, readonly string[]>): string[][] {
  const index = new Map<string, number>();
  const low = new Map<string, number>();
  const stack: string[] = [];
  const found: string[][] = [];
  const visit = (node: string): void => {
    index.set(node, index.size);
    low.set(node, index.size - 1);
    stack.push(node);
    for (const next of graph.get(node) ?? []) {
      if (!index.has(next)) visit(next);
      if (stack.includes(next)) low.set(node, Math.min(low.get(node) ?? 0, low.get(next) ?? 0));
    }
    if (low.get(node) !== index.get(node)) return;
    const cycle = stack.splice(stack.indexOf(node));
    if (cycle.length > 1 || graph.get(node)?.includes(node)) found.push(cycle);
  };
  for (const node of graph.keys()) if (!index.has(node)) visit(node);
  return found;
}

describe('layers', () => {
  const files = ['src', 'plugins', 'workers'].flatMap((folder) => [...walk(folder)]);
  const sources = new Map(files.map((file) => [file, readFileSync(join(root, file), 'utf8')]));

  const protoSources = [...walk('proto')].map(
    (file) => [file, readFileSync(join(root, file), 'utf8')] as const,
  );

  it('are walked', () => {
    expect(files).to.include('src/common/core/exchange.ts');
    const own = importsOf(
      'src/common/plugin-host/plugin.ts',
      sources.get('src/common/plugin-host/plugin.ts') ?? '',
      true,
    );
    expect(own.map(({ to }) => to)).to.include('src/common/core/exchange.ts');
  });

  it('import downwards only', () => {
    const wrong: string[] = [];
    for (const [file, source] of sources) {
      for (const found of importsOf(file, source, true)) {
        const why = objection(found);
        if (why !== null) wrong.push(`${file} imports ${found.to}: ${why}`);
      }
    }
    expect(wrong.join('\n')).to.equal('');
  });

  it('are as the table of folders lists them', () => {
    const found = new Map<string, Set<string>>();
    for (const [file, source] of [...sources, ...protoSources]) {
      if (file === 'src/main.ts') continue;
      const from = folderOf(file);
      expect(from, file).to.be.a('string');
      for (const { to } of importsOf(file, source, true)) {
        const folder = folderOf(to);
        if (folder === null || folder === from) continue;
        if (!found.has(from!)) found.set(from!, new Set());
        found.get(from!)!.add(folder);
      }
    }
    for (const { path, imports } of folders)
      expect([...(found.get(path) ?? [])].sort(), path).to.deep.equal([...imports].sort());
  });

  it('have no cycles, imports of types and imports made while running included', () => {
    const graph = new Map<string, string[]>();
    for (const [file, source] of sources) {
      const imports = importsOf(file, source, true).filter(({ to }) => sources.has(to));
      graph.set(file, [...new Set(imports.map(({ to }) => to))]);
    }
    expect(cyclesOf(graph).map((cycle) => cycle.join(' ↔ '))).to.deep.equal([]);
  });

  it('have at most 15 entries a folder, lists of like things aside', () => {
    const overfull: string[] = [];
    const visit = (folder: string): void => {
      const entries = readdirSync(join(root, folder), { withFileTypes: true });
      if (entries.length > 15 && !lists.includes(folder)) overfull.push(folder);
      for (const entry of entries) if (entry.isDirectory()) visit(`${folder}/${entry.name}`);
    };
    for (const folder of ['src', 'plugins', 'workers']) visit(folder);
    expect(overfull).to.deep.equal([]);
  });

  it('have no file above 400 lines but tables', () => {
    // `proto/messages.ts` is generated and outside of these folders.
    const long = [...sources]
      .filter(([file, source]) => !under(file, tables) && source.split('\n').length - 1 > maxLines)
      .map(([file]) => file);
    expect(long).to.deep.equal([]);
  });

  it('import only files that are there and packages that are dependencies', () => {
    const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
      dependencies: Record<string, string>;
    };
    const wrong: string[] = [];
    for (const [file, source] of sources) {
      for (const { to } of importsOf(file, source, true)) {
        if (to.endsWith('.ts') ? existsSync(join(root, to)) : to.startsWith('node:')) continue;
        if (to.endsWith('.ts') || !Object.hasOwn(manifest.dependencies, to))
          wrong.push(`${file} imports ${to}`);
      }
    }
    expect(wrong.join('\n')).to.equal('');
  });

  it('read the environment in config alone', () => {
    const wrong = files.filter((file) => {
      if (file.startsWith('src/common/settings/')) return false;
      return /\bprocess\.env\b/.test((sources.get(file) ?? '').replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, ''));
    });
    // Read by uWebSockets.js when it loads: set there, in the one file that loads it.
    expect(wrong.filter((file) => file !== 'src/data-plane/transport/uws/uws.ts')).to.deep.equal([]);
  });

  describe('the rules themselves', () => {
    const refused: readonly [string, string][] = [
      ['src/common/core/a.ts', 'src/data-plane/routing/b.ts'],
      ['src/data-plane/transport/a.ts', 'src/control-plane/store/b.ts'],
      ['src/control-plane/administration/a.ts', 'src/data-plane/upstream/b.ts'],
      ['src/data-plane/endpoints/a.ts', 'src/control-plane/administration/b.ts'],
      ['src/common/ledger/a.ts', 'src/cli/b.ts'],
      ['src/control-plane/administration/a.ts', 'src/client/b.ts'],
      ['src/common/settings/a.ts', 'src/data-plane/pipeline/handle.ts'],
      ['plugins/auth/index.ts', 'src/data-plane/directory/b.ts'],
      ['plugins/auth/index.ts', 'plugins/cache/index.ts'],
      ['workers/count.ts', 'src/common/core/b.ts'],
      ['workers/count.ts', 'src/data-plane/endpoints/read-body.ts'],
      ['workers/read-large-body.ts', 'src/data-plane/endpoints/body-reader.ts'],
      ['src/data-plane/pipeline/a.ts', 'plugins/auth/index.ts'],
      ['src/data-plane/pipeline/a.ts', 'uWebSockets.js'],
      ['src/control-plane/administration/a.ts', 'sqlite3'],
      ['src/control-plane/administration/a.ts', 'test/support/b.ts'],
    ];
    for (const [from, to] of refused) {
      it(`refuse ${to} in ${from}`, () => expect(objection({ from, to, typeOnly: false })).to.be.a('string'));
    }

    it('let pass what is meant to be', () => {
      for (const [from, to] of [
        ['src/process/a.ts', 'plugins/auth/index.ts'],
        ['src/cli/commands/keys.ts', 'src/client/b.ts'],
        ['plugins/auth/index.ts', 'src/common/core/b.ts'],
        ['plugins/auth/index.ts', 'plugins/auth/key.ts'],
        ['src/data-plane/pipeline/a.ts', 'src/common/ledger/b.ts'],
        ['src/data-plane/transport/uws/uws.ts', 'uWebSockets.js'],
        ['workers/read-large-body.ts', 'src/data-plane/endpoints/read-body.ts'],
      ] as const) {
        expect(objection({ from, to, typeOnly: false }), `${from} → ${to}`).to.equal(null);
      }
    });

    it('see imports in every way of writing them', () => {
      const source = [
        "import a from './a.js';",
        "import type { B } from './b.js';",
        "import {\n  type C,\n  type D,\n} from './c.js';",
        "export * from './d.js';",
        "import 'side-effect';",
        "// import './no.js';",
        "/* import './no.js' */",
        "const x = await import('@scope/name/deep');",
        "type T = typeof import('./e.js');",
      ].join('\n');
      const seen = importsOf('src/common/core/x.ts', source, true).map(({ to, typeOnly }) => [to, typeOnly]);
      expect(seen).to.deep.equal([
        ['src/common/core/a.ts', false],
        ['src/common/core/b.ts', true],
        ['src/common/core/c.ts', true],
        ['src/common/core/d.ts', false],
        ['side-effect', false],
        ['@scope/name', false],
        ['src/common/core/e.ts', true],
      ]);
    });

    it('see a cycle', () => {
      const graph = new Map([
        ['a', ['b']],
        ['b', ['c', 'd']],
        ['c', ['a']],
        ['d', []],
      ]);
      expect(cyclesOf(graph).map((cycle) => cycle.sort())).to.deep.equal([['a', 'b', 'c']]);
    });
  });
});
