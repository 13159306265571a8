/** Given by `tools/bundle-loader.cjs` to scripts of the bundle; modules outside of it do not have it. */
declare const keepCompiled: (() => void) | undefined;

/**
 * Keeps the code that this process has compiled for later starts. Called once it has what a start needs, and before it
 * serves requests: it blocks for some 50 ms where nothing is kept yet.
 */
export function keepCompiledCode(): void {
  if (typeof keepCompiled === 'function') keepCompiled();
}
