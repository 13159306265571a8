/** What is wrong with a plugin, and where. */
export interface PluginFinding {
  readonly file: string;
  /** null: not known. */
  readonly line: number | null;
  /** As in `errors.quota.status`; empty: all of it. */
  readonly path: string;
  readonly message: string;
  /** Does the gateway refuse it? Otherwise it may only surprise. */
  readonly severity: 'error' | 'warning';
}

/** `index.ts:12  errors.quota.status: must be 400 to 599.` */
export function findingLine({ file, line, path, message, severity }: PluginFinding): string {
  const place = line === null ? file : `${file}:${line}`;
  const what = path === '' ? message : `${path}: ${message}`;
  return severity === 'error' ? `${place}  ${what}` : `${place}  warning: ${what}`;
}
