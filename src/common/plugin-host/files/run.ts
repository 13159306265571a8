import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { pathToFileURL } from 'node:url';
import { constants, Script } from 'node:vm';
import type { Pack, PackedFile } from './pack.js';
import { FileFault } from './strip-types.js';

export type Namespace = Readonly<Record<string, unknown>>;

type Getters = Readonly<Record<string, () => unknown>>;
type Native = (from: string) => Promise<Namespace>;
type ModuleFunction = (
  load: Native,
  meta: object,
  begin: (exports: Getters, native: Native) => Promise<Namespace[]>,
) => Promise<void>;
type ScriptFunction = (
  exports: unknown,
  require: (from: string) => unknown,
  module: { exports: unknown },
  filename: string,
  dirname: string,
) => void;

/**
 * Runs the files of a plugin, and returns what its entry exports. They are compiled as functions and not imported: Node
 * keeps every module that was ever imported, so that reloads would cost memory forever. Packages are imported, once.
 * `api`: what `headgate/plugin` is.
 */
export function runPack(pack: Pack, api: Namespace): Promise<Namespace> {
  return new PackRun(pack, api).namespaceOf(pack.entry);
}

class PackRun {
  readonly #files: ReadonlyMap<string, PackedFile>;
  readonly #running = new Map<string, Promise<Namespace>>();
  readonly #scripts = new Map<string, { exports: unknown }>();

  constructor(
    pack: Pack,
    readonly api: Namespace,
  ) {
    this.#files = new Map(pack.files.map((file) => [file.path, file]));
  }

  namespaceOf(path: string): Promise<Namespace> {
    let running = this.#running.get(path);
    if (running === undefined) {
      running = this.#run(this.#files.get(path)!);
      this.#running.set(path, running);
    }
    return running;
  }

  #run(file: PackedFile): Promise<Namespace> {
    return file.kind === 'module' ? this.#module(file) : this.#common(file);
  }

  async #common(file: PackedFile): Promise<Namespace> {
    const made = this.#script(file);
    const names = typeof made === 'object' && made !== null ? made : {};
    return { ...names, default: made };
  }

  async #module(file: PackedFile): Promise<Namespace> {
    const namespace: Record<string, unknown> = Object.create(null);
    const meta = {
      url: pathToFileURL(file.path).href,
      filename: file.path,
      dirname: dirname(file.path),
    };
    let native: Native | null = null;
    const load = (from: string): Promise<Namespace> => this.#load(file, String(from), native!);
    const run = compiled(file) as ModuleFunction;
    await run(load, meta, async (exports, given) => {
      native = given;
      const imports: Namespace[] = [];
      for (const { from, names, line } of file.imports) {
        const found = await this.#load(file, from, given).catch((thrown: unknown) => {
          if (
            thrown instanceof FileFault ||
            (thrown as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND'
          )
            throw thrown;
          throw new FileFault(file.path, line, (thrown as Error).message);
        });
        for (const name of names)
          if (!(name in found)) throw new FileFault(file.path, line, `${from} has no export named '${name}'`);
        imports.push(found);
      }
      for (const i of file.stars) show(namespace, starred(imports[i]!));
      show(namespace, exports);
      return imports;
    });
    return namespace;
  }

  #load({ own }: PackedFile, from: string, native: Native): Promise<Namespace> {
    const path = Object.hasOwn(own, from) ? own[from]! : null;
    if (path !== null) return this.namespaceOf(path);
    // The running gateway's own, wherever the plugin lies.
    return from === 'headgate/plugin' ? Promise.resolve(this.api) : withoutWarning(() => native(from));
  }

  #script(file: PackedFile): unknown {
    if (file.kind === 'json') return parsed(file);
    const known = this.#scripts.get(file.path);
    if (known !== undefined) return known.exports;
    const module = { exports: {} as unknown };
    this.#scripts.set(file.path, module);
    const native = createRequire(file.path);
    const require = (from: string): unknown => {
      if (from === 'headgate/plugin') return this.api;
      if (!Object.hasOwn(file.own, from)) return native(from);
      const next = this.#files.get(file.own[from]!)!;
      if (next.kind !== 'module') return this.#script(next);
      throw new FileFault(file.path, null, `${from} is an ES module: import it.`);
    };
    const run = compiled(file) as ScriptFunction;
    run.call(module.exports, module.exports, require, module, file.path, dirname(file.path));
    return module.exports;
  }
}

function compiled({ path, code }: PackedFile): unknown {
  const importModuleDynamically = constants.USE_MAIN_CONTEXT_DEFAULT_LOADER;
  return new Script(code, { filename: path, importModuleDynamically }).runInThisContext();
}

/** Node calls the way in which packages are imported here experimental, which is of no use to those who run a gateway. */
function withoutWarning<T>(work: () => T): T {
  const { emitWarning } = process;
  process.emitWarning = () => {};
  try {
    return work();
  } finally {
    process.emitWarning = emitWarning;
  }
}

function parsed({ path, code }: PackedFile): unknown {
  try {
    return JSON.parse(code) as unknown;
  } catch (thrown) {
    throw new FileFault(path, null, (thrown as Error).message);
  }
}

function show(namespace: object, getters: Getters): void {
  for (const [name, get] of Object.entries(getters))
    Object.defineProperty(namespace, name, { get, enumerable: true, configurable: true });
}

function starred(from: Namespace): Getters {
  const names = Object.keys(from).filter((name) => name !== 'default');
  return Object.fromEntries(names.map((name) => [name, () => from[name]]));
}
