import type { Pack } from './pack.js';

/**
 * The requests that a plugin runs for: all; those whose config names it under `plugins`; or those of any of these
 * organisations and workspaces, by id.
 */
export type InsertScope =
  | 'all'
  | 'config'
  | { readonly organisations?: readonly string[]; readonly workspaces?: readonly string[] };

/** A custom plugin and its place in the chain, as the settings have it. */
export interface InsertedPlugin {
  readonly name: string;
  readonly before?: string;
  readonly after?: string;
  readonly options?: unknown;
  readonly scope?: InsertScope;
  /** Are requests of its scope refused while it is switched off, and not let pass without it? */
  readonly required?: boolean;
  /** It is required, and switched off. */
  readonly off?: true;
  /** Its files, read by the control process. Absent: they are in the directory. */
  readonly pack?: Pack;
}

/** The custom plugins of a gateway. */
export interface InsertedPlugins {
  readonly directory: string | null;
  readonly insert: readonly InsertedPlugin[];
}
