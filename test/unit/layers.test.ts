import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';

const root = fileURLToPath(new URL('../../', import.meta.url));

interface Import {
  readonly from: string;
  /** A file of ours by its path from the root, or the name of a package. */
  readonly to: string;
  readonly typeOnly: boolean;
}

/** Folders that put parts together: they may import anything. */
const composition = ['src/process', 'src/cli', 'src/main.ts'];
const dataPlane = [
  'transport',
  'pipeline',
  'routing',
  'providers',
  'upstream',
  'directory',
  'limits',
  'endpoints',
];
const adminPlane = ['admin', 'store', 'schedule', 'shared', 'vectors'];

/** Packages with sharp edges, and the only places that may touch them. */
const fenced: Readonly<Record<string, readonly string[]>> = {
  'uWebSockets.js': ['src/transport/uws.ts'],
  // What the benches measure with is not for the product.
  undici: [],
  sqlite3: ['src/store/sql/sqlite.ts', 'src/ledger/sqlite.ts'],
  pg: ['src/store/sql/postgres.ts', 'src/store/sql/postgres-listener.ts', 'src/vectors/postgres.ts'],
  knex: ['src/store/sql/'],
  commander: ['src/cli/'],
  redis: ['src/shared/redis.ts'],
};

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

/** `src/store/sql/driver.ts` → `store`. */
const layerOf = (file: string): string | null => /^src\/([^/]+)\//.exec(file)?.[1] ?? null;

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
  if (from.startsWith('src/core/')) return to.startsWith('src/core/') ? null : 'core imports nothing of ours';
  const [place, name] = from.split('/');
  if (place === 'plugins') {
    const own = to.startsWith(`plugins/${name}/`);
    return own || to.startsWith('src/core/')
      ? null
      : 'plugins import core alone; what else they need comes with host';
  }
  if (place === 'workers') {
    const allowed = to.startsWith('workers/') || (to.startsWith('src/core/') && typeOnly);
    return allowed ? null : 'workers import the types of core alone';
  }
  if (to.startsWith('plugins/')) return 'only the composition roots know which plugins there are';
  const [a, b] = [layerOf(from), layerOf(to)];
  if (a === null || b === null || a === b || b === 'core') return null;
  if (a === 'client' || b === 'client') return 'the client is for the command line alone';
  if (dataPlane.includes(a) && adminPlane.includes(b))
    return 'the data plane does not import the admin plane';
  if (adminPlane.includes(a) && dataPlane.includes(b))
    return 'the admin plane does not import the data plane';
  // One exception: names of stages are both a setting's vocabulary and the pipeline's order, which has one home.
  if (a === 'config' && dataPlane.includes(b) && to !== 'src/pipeline/order.ts')
    return 'config is below the data plane';
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

  it('are walked', () => {
    expect(files).to.include('src/core/exchange.ts');
    const own = importsOf('src/core/plugin.ts', sources.get('src/core/plugin.ts') ?? '', true);
    expect(own.map(({ to }) => to)).to.include('src/core/exchange.ts');
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

  it('have no cycles at run time', () => {
    const graph = new Map<string, string[]>();
    for (const [file, source] of sources) {
      const imports = importsOf(file, source, false).filter(
        ({ typeOnly, to }) => !typeOnly && sources.has(to),
      );
      graph.set(file, [...new Set(imports.map(({ to }) => to))]);
    }
    expect(cyclesOf(graph).map((cycle) => cycle.join(' ↔ '))).to.deep.equal([]);
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
      if (file.startsWith('src/config/')) return false;
      return /\bprocess\.env\b/.test((sources.get(file) ?? '').replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, ''));
    });
    // Read by uWebSockets.js when it loads: set there, in the one file that loads it.
    expect(wrong.filter((file) => file !== 'src/transport/uws.ts')).to.deep.equal([]);
  });

  describe('the rules themselves', () => {
    const refused: readonly [string, string][] = [
      ['src/core/a.ts', 'src/routing/b.ts'],
      ['src/transport/a.ts', 'src/store/b.ts'],
      ['src/admin/a.ts', 'src/upstream/b.ts'],
      ['src/endpoints/a.ts', 'src/admin/b.ts'],
      ['src/ledger/a.ts', 'src/cli/b.ts'],
      ['src/admin/a.ts', 'src/client/b.ts'],
      ['src/config/a.ts', 'src/pipeline/handle.ts'],
      ['plugins/auth/index.ts', 'src/directory/b.ts'],
      ['plugins/auth/index.ts', 'plugins/cache/index.ts'],
      ['workers/count.ts', 'src/core/b.ts'],
      ['src/pipeline/a.ts', 'plugins/auth/index.ts'],
      ['src/pipeline/a.ts', 'uWebSockets.js'],
      ['src/admin/a.ts', 'sqlite3'],
      ['src/admin/a.ts', 'test/support/b.ts'],
    ];
    for (const [from, to] of refused) {
      it(`refuse ${to} in ${from}`, () => expect(objection({ from, to, typeOnly: false })).to.be.a('string'));
    }

    it('let pass what is meant to be', () => {
      for (const [from, to] of [
        ['src/process/a.ts', 'plugins/auth/index.ts'],
        ['src/cli/keys.ts', 'src/client/b.ts'],
        ['plugins/auth/index.ts', 'src/core/b.ts'],
        ['plugins/auth/index.ts', 'plugins/auth/key.ts'],
        ['src/pipeline/a.ts', 'src/ledger/b.ts'],
        ['src/transport/uws.ts', 'uWebSockets.js'],
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
      const seen = importsOf('src/core/x.ts', source, true).map(({ to, typeOnly }) => [to, typeOnly]);
      expect(seen).to.deep.equal([
        ['src/core/a.ts', false],
        ['src/core/b.ts', true],
        ['src/core/c.ts', true],
        ['src/core/d.ts', false],
        ['side-effect', false],
        ['@scope/name', false],
        ['src/core/e.ts', true],
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
