interface Strip {
  transformSync(code: string, options: object): { readonly code: string };
}

let strip: Strip | null = null;

/** Where the compiler found a fault. */
interface Fault {
  readonly message: string;
  readonly startLine?: number;
}

/** JavaScript at the same places of the same lines: types become white space. Throws `FileFault`s. */
export async function stripTypes(path: string, code: string): Promise<string> {
  // Most gateways have no plugin in TypeScript, and this is several megabytes.
  strip ??= ((await import('@swc/wasm-typescript')) as unknown as { default: Strip }).default;
  try {
    return strip.transformSync(code, { mode: 'strip-only', module: true, filename: path }).code;
  } catch (thrown) {
    const { message, startLine } = thrown as Fault;
    throw new FileFault(path, startLine ?? null, message);
  }
}

/** What is wrong with a file of a plugin, and in which line. */
export class FileFault extends Error {
  constructor(
    readonly path: string,
    readonly line: number | null,
    readonly reason: string,
  ) {
    super(`${reason} (${path}${line === null ? '' : `:${line}`})`);
  }
}
