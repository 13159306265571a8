import type { SettingKind } from './settings-kinds.js';

/** One row of the table. Flag, variable and YAML key follow from its name. */
export interface Setting<T, D extends T | null> {
  readonly kind: SettingKind<T>;
  readonly fallback: D;
  /** The default as the reference shows it where the default is not a plain value. */
  readonly fallbackText: string;
  readonly doc: string;
  /** Variable of a name of its own, where the ecosystem has one. */
  readonly env: string | null;
}
